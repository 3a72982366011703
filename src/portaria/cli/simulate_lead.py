"""`portaria simulate lead`: posts what a lead form would (spec 7). Registered in the app of `simulate`."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from portaria.cli.output import fail
from portaria.cli.simulate import COUNT, DATA_DIR, JSON, RATE, dev_json, send

_ROUTE = "/api/v1/lead-forms/"


@dataclass(frozen=True)
class FormRoute:
    """A form's route; its token is all the proof it asks for."""

    url: str

    def headers(self, raw: bytes) -> dict[str, str]:
        return {"content-type": "application/json"}


def lead(
    name: str = typer.Option("Cliente de Teste"),
    phone: str = typer.Option("", help="Such as (11) 98765-4321; by default another one for each lead."),
    email: str = typer.Option(""),
    key: str = typer.Option("", help="The idempotency key; by default a new one each; repeated: one lead."),
    count: int = COUNT, rate: float = RATE,
    url: str = typer.Option("", help="The form's address or page; by default that of dev.json."),
    data_dir: Path = DATA_DIR, as_json: bool = JSON,
) -> None:  # fmt: skip
    """A lead from a form."""
    route, run = _route(data_dir, url), secrets.token_hex(6)

    def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
        for number in range(count):
            made = f"+55119{int(run, 16) % 10_000:04d}{number % 10_000:04d}"
            id_ = key or f"sim-{run}-{number:06d}"
            body = {"name": name, "phone": phone or ("" if email else made), "email": email}
            yield id_, {**{k: v for k, v in body.items() if v}, "idempotency_key": id_}

    send(route, bodies, count, rate, as_json)


def _route(data_dir: Path, url: str) -> FormRoute:
    """The form's POST address, also when its hosted page is named."""
    if not url:
        form = dev_json(data_dir).get("form") or fail("This installation has no demo form: name --url.")
        return FormRoute(form["url"])
    base, page, token = url.rstrip("/").partition("/f/")
    return FormRoute(base + _ROUTE + token if page else url)
