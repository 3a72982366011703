"""Writing a fact down, and reading facts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.ids import uuid7

_Q = load_queries("portaria.events")


@dataclass(frozen=True, slots=True)
class Event:
    """A fact. `metadata` says why: `caused_by_rule`, or the `actor`; times are UTC."""

    organization_id: UUID
    id: UUID
    seq: int
    event_type: str
    entity_kind: str
    entity_id: UUID
    payload: dict[str, Any]
    metadata: dict[str, Any]
    created_at: datetime

    @property
    def lead_id(self) -> UUID | None:
        """The lead it speaks of, if any."""
        named = self.payload.get("lead_id")
        if named is not None:
            return UUID(str(named))
        return self.entity_id if self.entity_kind == "lead" else None


async def emit(
    conn: Connection,
    *,
    organization_id: UUID,
    event_type: str,
    entity_kind: str,
    entity_id: UUID,
    payload: Mapping[str, object],
    metadata: Mapping[str, object] | None = None,
) -> UUID:
    """Writes a fact in the caller's transaction, and returns its id. Its consumers run after the commit.

    A lead's facts are the trigger's (spec 4): emit none for them.
    """
    event_id = uuid7()
    await conn.execute(
        _Q["emit"],
        {
            "organization_id": organization_id, "id": event_id, "event_type": event_type,
            "entity_kind": entity_kind, "entity_id": entity_id, "payload": Jsonb(dict(payload)),
            "metadata": Jsonb(dict(metadata or {})),
        },
    )  # fmt: skip
    return event_id


async def find_event(conn: Connection, organization_id: UUID, event_id: UUID) -> Event | None:
    async with conn.cursor(row_factory=class_row(Event)) as cursor:
        await cursor.execute(_Q["find_event"], {"organization_id": organization_id, "id": event_id})
        return await cursor.fetchone()


async def list_events(
    conn: Connection,
    organization_id: UUID,
    entity_kind: str,
    entity_id: UUID,
    *,
    limit: int,
    before: int | None = None,
) -> list[Event]:
    """What happened to one thing, the newest first; `before` is the `seq` of the last one already seen."""
    async with conn.cursor(row_factory=class_row(Event)) as cursor:
        await cursor.execute(
            _Q["list_events"],
            {
                "organization_id": organization_id, "entity_kind": entity_kind, "entity_id": entity_id,
                "limit": limit, "before": before,
            },
        )  # fmt: skip
        return await cursor.fetchall()
