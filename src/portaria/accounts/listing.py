"""Reading what was received. Row-level security shows a tenant's connection nothing without the operator."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.accounts")

Status = Literal["pending", "processed", "failed"]


@dataclass(frozen=True, slots=True)
class IncomingEvent:
    """An event as it stands. Times are UTC. `payload` is the body as it came, empty since
    `body_emptied_at`; None in lists.
    """

    id: UUID
    event_id: str
    event_type: str
    occurred_at: datetime
    payload: str | None
    status: Status
    attempts: int
    error_message: str | None
    received_at: datetime
    processed_at: datetime | None
    body_emptied_at: datetime | None


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events; None is all. `since` is included, `until` is not; both are of the receipt."""

    status: Status | None = None
    event_type: str | None = None
    event_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


async def list_events(
    conn: Connection,
    *,
    limit: int,
    filter: EventFilter = EventFilter(),
    after: tuple[datetime, UUID] | None = None,
) -> list[IncomingEvent]:
    """The newest first, after the one with this `received_at` and id."""
    after_at, after_id = after or (None, None)
    return await _fetch(
        conn, "list", {**asdict(filter), "limit": limit, "after_at": after_at, "after_id": after_id}
    )


async def find_event(conn: Connection, event: UUID) -> IncomingEvent | None:
    """One event with its payload, byte for byte as it came."""
    found = await _fetch(conn, "find", {"id": event})
    return found[0] if found else None


async def find_by_event_id(conn: Connection, event_id: str) -> UUID | None:
    """The row of the sender's `event_id`."""
    found = await (await conn.execute(_Q["find_by_event_id"], {"event_id": event_id})).fetchone()
    return UUID(str(found[0])) if found else None


async def _fetch(conn: Connection, name: str, parameters: Mapping[str, Any]) -> list[IncomingEvent]:
    async with conn.cursor(row_factory=class_row(IncomingEvent)) as cursor:
        await cursor.execute(_Q[name], parameters)
        found = await cursor.fetchall()
    return [replace(event, occurred_at=event.occurred_at.replace(tzinfo=UTC)) for event in found]
