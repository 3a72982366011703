"""Events put straight into the database, use cases for them, and a look at what became of them."""

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg

from portaria.accounts.process import Processor
from portaria.accounts.use_cases import Failure, Success, UseCase, UseCases
from portaria.db.pool import Connection, Database
from portaria.notices import open_notice

TYPE = "INSTALLMENT_OVERDUE"
TITLE = "Um evento do accounts não foi processado"
REFUSE = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$"


def envelope(event_id: str = "evt_1", **more: Any) -> dict[str, Any]:
    """A whole event; `more` replaces or adds fields."""
    return {
        "event_id": event_id, "event_type": "INSTALLMENT_OVERDUE", "occurred_at": "2026-10-27T10:00:00Z",
        "data": {"subscription_id": "sub_1", "version": 1},
    } | more  # fmt: skip


@dataclass
class Events:
    """Events put straight into the database, and a look at what became of them."""

    owner: psycopg.Connection

    def event(self, *, attempts: int = 0, status: str = "pending", **more: Any) -> tuple[UUID, int]:
        """A row that stands at `attempts`, and the number of its job."""
        body = envelope(f"evt_{self.count('incoming_events')}", **more)
        processed_at = None if status == "pending" else datetime.now(UTC)
        [(row,)] = self.owner.execute(
            "INSERT INTO incoming_events"
            " (event_id, event_type, occurred_at, payload, attempts, status, processed_at)"
            " VALUES (%s, %s, now(), %s, %s, %s, %s) RETURNING id",
            [body["event_id"], body["event_type"], json.dumps(body), attempts, status, processed_at],
        ).fetchall()
        return row, self.job(row, attempts)

    def job(self, row: UUID, attempts: int) -> int:
        query = "SELECT fn_enqueue_incoming_event(%s, %s, 0)"
        [(number,)] = self.owner.execute(query, [row, attempts]).fetchall()
        return int(number)

    def row(self, row: UUID) -> tuple[str, int, str, bool]:
        """(status, attempts, error_message or '', whether processed_at is set)."""
        query = (
            "SELECT status, attempts, coalesce(error_message, ''), processed_at IS NOT NULL"
            " FROM incoming_events WHERE id = %s"
        )
        [found] = self.owner.execute(query, [row]).fetchall()
        return found

    def next_jobs(self, after: int) -> list[tuple[int, float]]:
        """(attempts it starts from, seconds until it is due) of every job later than `after`."""
        query = (
            "SELECT (args ->> 'attempts')::int, extract(epoch FROM scheduled_at - clock_timestamp())::float8"
            " FROM procrastinate_jobs WHERE id > %s ORDER BY id"
        )
        return self.owner.execute(query, [after]).fetchall()

    def count(self, table: str) -> int:
        [(count,)] = self.owner.execute(f"SELECT count(*) FROM {table}").fetchall()
        return int(count)


@dataclass
class Bench(Events):
    """And a processor whose use case the test chooses."""

    db: Database

    def processor(self, use_case: UseCase | None = None, **more: Any) -> Processor:
        known = {} if use_case is None else {TYPE: use_case}
        return Processor(self.db, UseCases(known, installed=False), **more)


async def write(transaction: Connection, title: str = "escrito") -> None:
    """A write of a use case that a test can look for."""
    await open_notice(
        transaction, organization_id=None, kind="test", severity="info", title=title, body=""
    )  # fmt: skip


async def succeed(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
    await write(transaction)
    return Success()


async def give_up(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
    await write(transaction)
    return Failure("the installment is unknown")


async def explode(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
    await write(transaction)
    raise LookupError("the installment is unknown")


class Held:
    """A use case that writes, says so, and goes on when it is let."""

    def __init__(self) -> None:
        self.inside, self.release = asyncio.Event(), asyncio.Event()

    async def __call__(self, data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
        await write(transaction)
        self.inside.set()
        await self.release.wait()
        return Success()
