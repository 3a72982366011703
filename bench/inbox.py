"""Inbox: accounts events stored and drained per second, beside the bare queue's own rate.

Beside stands Procrastinate as it comes: jobs without an event, a task that does nothing, its own worker.
What an event costs more is its row, the note of its attempt and the transaction of its use case. Both in
one process, one after the other, on the same server: `python -m bench.inbox --events 10000`. Other queues
do the same in processes and environments of their own, with nothing but jobs: PgQueuer and pg-boss fetch and
finish them in batches.
"""

import argparse
import asyncio
import json
import logging
import os
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import structlog
from procrastinate import App, PsycopgConnector

from bench.beside import PEERS, NotInstalled, environment_of, node_environment
from bench.report import Table, Teller, show
from bench.site import Site, embedded_server, make_site
from portaria.accounts.process import Processor
from portaria.accounts.receive import receive_event
from portaria.accounts.use_cases import Success, UseCases
from portaria.db.embedded import EmbeddedServer
from portaria.db.pool import Connection, Database
from portaria.jobs import Queue, Runner

_SENDERS = 16
_CONCURRENCY = 4


@dataclass
class Inbox:
    """Events or jobs per second; `concurrency` jobs at once in one worker."""

    events: int
    stored: float
    drained: float
    bare_stored: float
    bare_drained: float
    queues: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name its two rates, or why there are none (`failed`)."""
    senders: int = _SENDERS
    concurrency: int = _CONCURRENCY

    def tables(self) -> list[Table]:
        table = Table(
            f"Inbox: {self.events:,} accounts events",
            ["per second", "Portaria", "bare Procrastinate", "ratio"],
        )
        table.add("stored", self.stored, self.bare_stored, self.stored / self.bare_stored)
        table.add("drained", self.drained, self.bare_drained, self.drained / self.bare_drained)
        beside = Table(
            "Beside it: other queues, jobs alone", ["per second", "stored", "drained", "Portaria drains"]
        )
        for name, found in self.queues.items():
            if "failed" in found:
                beside.add(name, "not measured", str(found["failed"]).strip()[-60:], "")
            else:
                beside.add(
                    name, found["stored"], found["drained"], f"{self.drained / found['drained']:.2f} ×"
                )
        return [table, beside]


def measure(server: EmbeddedServer, events: int, tell: Teller, *, install: bool = True) -> Inbox:
    """Two databases, ours and the bare queue's; the rates of `events` each. `install`: other queues too."""
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    bare_stored, bare_drained = asyncio.run(_bare(make_site(server, "inbox_bare"), events))
    tell(f"bare: {bare_stored:.0f} stored/s, {bare_drained:.0f} drained/s")
    stored, drained = asyncio.run(_ours(make_site(server, "inbox"), events))
    tell(f"inbox: {stored:.0f} stored/s, {drained:.0f} drained/s")
    queues = {}
    for name, command in _QUEUES.items():
        queues[name] = _beside(server, name, command, events, install)
        tell(f"{name}: {queues[name]}")
    return Inbox(events, stored, drained, bare_stored, bare_drained, queues)


def _beside(
    server: EmbeddedServer, name: str, command: Callable[[bool], list[str]], events: int, install: bool
) -> dict[str, Any]:
    """Whatever goes wrong with one of the others is written down, not fatal."""
    database = "inbox_" + name.lower().replace("-", "_")
    server.create_database(database)
    given = {
        "DATABASE_URL": server.url(database), "EVENTS": str(events), "SENDERS": str(_SENDERS),
        "CONCURRENCY": str(_CONCURRENCY),
    }  # fmt: skip
    try:
        done = subprocess.run(
            command(install),
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
    except (NotInstalled, subprocess.TimeoutExpired) as error:
        return {"failed": str(error)}
    except subprocess.CalledProcessError as error:
        return {"failed": error.stderr}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _pgqueuer(install: bool) -> list[str]:
    return [str(environment_of("pgqueuer", install=install)), str(PEERS / "pgqueuer_drain.py")]


def _node(name: str) -> Callable[[bool], list[str]]:
    return lambda install: ["node", str(node_environment(install=install) / "drain.mjs"), name]


_QUEUES: Final[Mapping[str, Callable[[bool], list[str]]]] = {
    "PgQueuer": _pgqueuer, "pg-boss": _node("pg-boss"), "graphile-worker": _node("graphile-worker"),
}  # fmt: skip


async def _ours(site: Site, events: int) -> tuple[float, float]:
    async def succeed(data: dict[str, Any], transaction: Connection, /) -> Success:
        return Success()

    db = Database(site.app_url, name="bench inbox", size=_SENDERS)
    await db.open()

    async def store(number: int) -> None:
        await receive_event(db, _body(number))

    stored = await _rate(store, events)
    queue = Queue(db)
    Processor(db, UseCases({"BENCH": succeed}, installed=False)).register(queue)
    stop = asyncio.Event()
    running = asyncio.create_task(Runner(queue, concurrency=_CONCURRENCY).run(stop))
    drained = await _drain(site, events)
    stop.set()
    await running
    await db.close()
    left = site.value("SELECT count(*) FROM incoming_events WHERE status <> 'processed'")
    if left:
        raise RuntimeError(f"{left} events were not processed")
    return stored, drained


async def _bare(site: Site, events: int) -> tuple[float, float]:
    app = App(connector=PsycopgConnector(conninfo=site.app_url, min_size=1, max_size=_SENDERS))

    @app.task(name="nothing", queue="bench")
    async def nothing(number: int) -> None:
        return None

    async with app.open_async():

        async def store(number: int) -> None:
            await nothing.defer_async(number=number)

        stored = await _rate(store, events)
        worker = app.run_worker_async(
            concurrency=_CONCURRENCY, delete_jobs="successful", install_signal_handlers=False
        )
        running = asyncio.create_task(worker)
        drained = await _drain(site, events)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return stored, drained


async def _rate(one: Callable[[int], Awaitable[None]], events: int) -> float:
    numbers = iter(range(events))

    async def sender() -> None:
        for number in numbers:
            await one(number)

    began = time.monotonic()
    await asyncio.gather(*(sender() for _ in range(_SENDERS)))
    return events / (time.monotonic() - began)


async def _drain(site: Site, events: int) -> float:
    """From the first fetch to an empty queue, looked at every twentieth of a second."""
    began = time.monotonic()
    waiting = "SELECT count(*) FROM procrastinate_jobs"
    while await asyncio.to_thread(site.value, waiting):  # noqa: ASYNC110 - the queue gives no sign
        await asyncio.sleep(0.05)
    return events / (time.monotonic() - began)


def _body(number: int) -> bytes:
    event = {
        "event_id": f"evt_{number}", "event_type": "BENCH", "occurred_at": "2026-10-27T10:00:00Z",
        "data": {"subscription_id": f"sub_{number}", "version": 1, "amount": "19.90", "note": "x" * 400},
    }  # fmt: skip
    return json.dumps(event).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--json", action="store_true", help="the figures as JSON on stdout")
    given = parser.parse_args()
    with embedded_server() as server:
        found = measure(server, given.events, lambda text: None if given.json else print(text, flush=True))
    if given.json:
        print(json.dumps(asdict(found)))
    else:
        show(found.tables())


if __name__ == "__main__":
    main()
