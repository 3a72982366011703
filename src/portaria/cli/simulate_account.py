"""`portaria simulate account-event`: posts what the accounts service would (spec 3)."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from portaria.cli.output import fail
from portaria.cli.simulate import COUNT, DATA_DIR, JSON, RATE, dev_json, send

_ROUTE = "/api/v1/incoming_events"


@dataclass(frozen=True)
class AccountsRoute:
    """The route of the accounts service, and its Bearer token."""

    url: str
    token: str

    def headers(self, raw: bytes) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}", "content-type": "application/json"}


def account_event(
    event_type: str = typer.Option("INSTALLMENT_OVERDUE", "--type", help="The event's type."),
    data: str = typer.Option("{}", help="The event's data, a JSON object."),
    event_id: str = typer.Option("", help="The sender's id; by default a new one each; repeated: a resend."),
    count: int = COUNT, rate: float = RATE,
    url: str = typer.Option("", help="The installation's address; by default that of dev.json."),
    token: str = typer.Option("", help="The Bearer token; by default that of dev.json."),
    data_dir: Path = DATA_DIR, as_json: bool = JSON,
) -> None:  # fmt: skip
    """An event of the accounts service."""
    route, run, told = _route(data_dir, url, token), secrets.token_hex(6), _object(data)

    def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
        for number in range(count):
            id_ = event_id or f"evt_sim_{run}{number:06d}"
            yield id_, {
                "event_id": id_, "event_type": event_type, "data": told,
                "occurred_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            }  # fmt: skip

    send(route, bodies, count, rate, as_json)


def _object(data: str) -> dict[str, Any]:
    try:
        told = json.loads(data)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise typer.BadParameter("--data is not a JSON object")
    return told


def _route(data_dir: Path, url: str, token: str) -> AccountsRoute:
    known = {} if url and token else dev_json(data_dir)
    url, token = url or known.get("url", ""), token or known.get("accounts_token", "")
    if not url or not token:
        fail("Name --url and --token: this installation's dev.json does not hold them.")
    return AccountsRoute(url if _ROUTE in url else url.rstrip("/") + _ROUTE, token)
