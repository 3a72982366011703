"""An accepted row as ingestion sees it, and how a try of it ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import psycopg

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.db.sqlstate import is_infrastructure, sqlstate

_Q = load_queries("portaria.intake")

CEILING = 20
"""Attempts of a row (spec 2.4): a failure at this count ends it."""


@dataclass(frozen=True, slots=True)
class AcceptedRow:
    """A marked row and the try it is held for: `attempts` and `tried_at` name the try."""

    id: UUID
    organization_id: UUID
    session_id: UUID
    provider: str
    raw_body: bytes
    attempts: int = 0
    tried_at: datetime | None = None
    session_archived: bool = False
    past_window: bool = False

    @property
    def try_(self) -> dict[str, object]:
        """The parameters by which every finishing update names its try (spec 2.3)."""
        return {"row": self.id, "attempts": self.attempts, "tried_at": self.tried_at}


class TryOutcome(StrEnum):
    """How a try ended."""

    INGESTED = "ingested"
    DUPLICATE = "duplicate"
    CONTRACT = "contract"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    DEAD = "dead"
    LATE = "late"
    KEPT = "kept"


async def load_row(conn: Connection, row: UUID) -> AcceptedRow | None:
    """The row as it stands, if it is still accepted and pending."""
    return next(iter(await load_rows(conn, [row])), None)


async def load_rows(conn: Connection, rows: Sequence[UUID]) -> list[AcceptedRow]:
    """Those of the rows that are still accepted and pending, in no order."""
    found = await (await conn.execute(_Q["load_rows"], {"rows": list(rows)})).fetchall()
    return [AcceptedRow(*row) for row in found]


async def record_failure(
    conn: Connection, row: AcceptedRow, error: BaseException, *, spent: int, unspent: int
) -> None:
    """Keeps what went wrong. An infrastructure failure leaves `unspent` attempts, any other `spent`."""
    after = unspent if is_infrastructure(error) else spent
    parameters = {**row.try_, "after": after, "message": describe(error)}
    await conn.execute(_Q["record_failure"], parameters)


async def close(
    conn: Connection,
    row: AcceptedRow,
    status: str,
    note: str | None,
    *,
    event_type: str | None = None,
    external_id: str | None = None,
) -> bool:
    """A finishing update; false when the row is no longer this try's."""
    parameters = {
        **row.try_, "status": status, "note": note, "event_type": event_type, "external_id": external_id,
    }  # fmt: skip
    found = await (await conn.execute(_Q["close_row"], parameters)).fetchone()
    return found is not None and bool(found[0])


def describe(error: BaseException) -> str:
    """An error in a line for the row, without the values that a database's detail would quote."""
    if isinstance(error, TimeoutError):
        return "timeout: the try took too long"
    if isinstance(error, psycopg.Error):
        said = error.diag.message_primary or str(error).split("\n", 1)[0]
        return f"{type(error).__name__} {sqlstate(error) or ''}: {said}".replace("\x00", "\ufffd")[:500]
    return f"{type(error).__name__}: {error}".replace("\x00", "\ufffd")[:500]
