"""`portaria simulate …`: signs and posts what a provider would."""

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

import httpx
import typer

from portaria.cli.output import progress, say
from portaria.intake.providers import samples

app = typer.Typer(no_args_is_help=True, help="Sign and post what a provider would send.")

DATA_DIR = typer.Option(Path(".portaria"), help="Where `portaria dev` keeps its dev.json.")
_URL = typer.Option("", help="The channel's webhook URL; by default that of dev.json.")
_SECRET = typer.Option("", help="The channel's secret; by default that of dev.json.")
_ACCOUNT = typer.Option("", help="The provider's account id; by default that of dev.json.")
COUNT = typer.Option(1, min=1, help="How many to send.")
RATE = typer.Option(0.0, min=0.0, help="How many a second; 0: as fast as they are answered.")
JSON = typer.Option(False, "--json", help="One JSON document on stdout.")
_AT_ONCE = 16


class Receiver(Protocol):
    """Where to post, and what goes with a body."""

    @property
    def url(self) -> str: ...

    def headers(self, raw: bytes) -> dict[str, str]: ...


@dataclass(frozen=True)
class Target:
    """A channel's route, and what to sign with."""

    url: str
    secret: str
    account_id: str

    def headers(self, raw: bytes) -> dict[str, str]:
        return samples.sign(raw, self.secret)


@dataclass
class Tally:
    """What came back: answers by status, ids of the first 100 bodies, failures."""

    answers: Counter[str] = field(default_factory=Counter)
    ids: list[str] = field(default_factory=list)
    bodies: list[object] = field(default_factory=list)
    seconds: float = 0.0

    def document(self) -> dict[str, object]:
        return {
            "sent": sum(self.answers.values()), "answers": dict(self.answers), "external_ids": self.ids,
            "first_answers": self.bodies, "seconds": round(self.seconds, 3),
        }  # fmt: skip

    @property
    def all_taken(self) -> bool:
        return all(status.startswith("2") for status in self.answers)


@app.command()
def message(
    text: str = typer.Option("Olá, vocês têm horário amanhã à tarde?"),
    phone: str = typer.Option("", help="The sender, +55…; by default another one for each message."),
    name: str = typer.Option("Cliente de Teste"),
    external_id: str = typer.Option("", help="The provider's message id; repeated: a redelivery."),
    outbound: bool = typer.Option(False, "--outbound", help="A message we sent (message.sent)."),
    count: int = COUNT, rate: float = RATE, url: str = _URL, secret: str = _SECRET,
    account_id: str = _ACCOUNT, data_dir: Path = DATA_DIR, as_json: bool = JSON,
) -> None:  # fmt: skip
    """A new message, received or sent."""
    target = _target(data_dir, url, secret, account_id)
    run = secrets.token_hex(6)

    def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
        build = samples.message_sent if outbound else samples.message_received
        for number in range(count):
            sender = phone or f"+55119{int(run, 16) % 10_000:04d}{number % 10_000:04d}"
            id_ = external_id or f"wamid.SIM{run}{number:06d}"
            yield id_, build(
                target.account_id, id_, sender, text, datetime.now(UTC), name=name,
                conversation_id=f"sim-{sender.removeprefix('+')}",
            )  # fmt: skip

    send(target, bodies, count, rate, as_json)


@app.command()
def status(
    external_id: str = typer.Argument(help="The message's id at the provider."),
    outcome: Literal["delivered", "read", "failed"] = typer.Option("delivered"),
    phone: str = typer.Option("+5511987650001"), url: str = _URL, secret: str = _SECRET,
    account_id: str = _ACCOUNT, data_dir: Path = DATA_DIR, as_json: bool = JSON,
) -> None:  # fmt: skip
    """What became of a message we sent."""
    target = _target(data_dir, url, secret, account_id)
    error = {"code": 131047, "title": "Re-engagement message"} if outcome == "failed" else None
    body = samples.outcome(outcome, target.account_id, external_id, phone, datetime.now(UTC), error=error)
    send(target, lambda: iter([(external_id, body)]), 1, 0.0, as_json)


@app.command()
def edit(
    external_id: str = typer.Argument(help="The message's id at the provider."),
    text: str = typer.Option("texto corrigido"),
    phone: str = typer.Option("+5511987650001"), url: str = _URL, secret: str = _SECRET,
    account_id: str = _ACCOUNT, data_dir: Path = DATA_DIR, as_json: bool = JSON,
) -> None:  # fmt: skip
    """A message's text was changed."""
    target = _target(data_dir, url, secret, account_id)
    body = samples.edited(target.account_id, external_id, phone, text, datetime.now(UTC))
    send(target, lambda: iter([(external_id, body)]), 1, 0.0, as_json)


def dev_json(data_dir: Path) -> dict[str, Any]:
    """What a running `portaria dev` says of itself. Exits 1 when there is none."""
    try:
        found: dict[str, Any] = json.loads((data_dir / "dev.json").read_text())
    except FileNotFoundError:
        say(f"{data_dir / 'dev.json'} is not there: start `portaria dev`, or name --url and --secret.")
        raise typer.Exit(1) from None
    return found


def _target(data_dir: Path, url: str, secret: str, account_id: str) -> Target:
    if url and secret and account_id:
        return Target(url, secret, account_id)
    channel = dev_json(data_dir).get("channel")
    if channel is None:
        say("This installation has no demo channel: name --url, --secret and --account-id.")
        raise typer.Exit(1)
    return Target(url or channel["url"], secret or channel["secret"], account_id or channel["account_id"])


def send(
    target: Receiver,
    bodies: Callable[[], Iterator[tuple[str, dict[str, Any]]]],
    count: int,
    rate: float,
    as_json: bool,
) -> None:
    tally = asyncio.run(post_all(target, bodies(), count, rate))
    if as_json:
        typer.echo(json.dumps(tally.document(), ensure_ascii=False))
    else:
        for answer, times in sorted(tally.answers.items()):
            typer.echo(f"{times} × {answer}")
        if len(tally.ids) == 1:
            typer.echo(f"message id: {tally.ids[0]}")
    if not tally.all_taken:
        raise typer.Exit(1)


async def post_all(
    target: Receiver, bodies: Iterator[tuple[str, dict[str, Any]]], count: int, rate: float
) -> Tally:
    """Signs and posts every body, at most 16 at a time, with a progress bar after two seconds."""
    tally, started = Tally(), time.monotonic()
    gate = asyncio.Semaphore(_AT_ONCE)
    async with httpx.AsyncClient(timeout=10) as client, asyncio.TaskGroup() as posts:
        with progress("sending", count) as advance:

            async def post(id_: str, body: dict[str, Any]) -> None:
                try:
                    raw = samples.encode(body)
                    answer = await client.post(target.url, content=raw, headers=target.headers(raw))
                    tally.answers[str(answer.status_code)] += 1
                    if len(tally.bodies) < 10:
                        tally.bodies.append(answer.json())
                except httpx.HTTPError as error:
                    tally.answers[f"no answer ({type(error).__name__})"] += 1
                finally:
                    gate.release()
                    advance()

            waiting = []
            for number, (id_, body) in enumerate(bodies):
                if len(tally.ids) < 100:
                    tally.ids.append(id_)
                if rate:
                    await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
                await gate.acquire()
                waiting.append(posts.create_task(post(id_, body)))
            await asyncio.gather(*waiting)
    tally.seconds = time.monotonic() - started
    return tally
