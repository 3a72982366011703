"""A conversation's messages by the provider's time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.crm.inbox")


@dataclass(frozen=True, slots=True)
class Message:
    """A message. A deleted one keeps its text; `arrival` is the order in which it came in."""

    id: UUID
    direction: str
    external_id: str
    type: str
    body: str | None
    attachments: list[Any]
    metadata: dict[str, Any]
    status: str
    status_at: datetime | None
    error: dict[str, Any] | None
    sent_at: datetime
    edited_at: datetime | None
    deleted_at: datetime | None
    arrival: int


async def list_messages(
    conn: Connection,
    organization_id: UUID,
    conversation_id: UUID,
    *,
    limit: int,
    before: tuple[datetime, int] | None = None,
) -> list[Message]:
    """The messages sent last come first. `before`: `sent_at` and `arrival` of the oldest one already seen."""
    before_at, before_arrival = before or (None, None)
    parameters = {
        "organization_id": organization_id, "conversation_id": conversation_id, "limit": limit,
        "before_at": before_at, "before_arrival": before_arrival,
    }  # fmt: skip
    async with conn.cursor(row_factory=class_row(Message)) as cursor:
        return await (await cursor.execute(_Q["list_messages"], parameters)).fetchall()
