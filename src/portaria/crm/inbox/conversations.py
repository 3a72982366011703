"""The list of conversations, and reading one."""

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal

_Q = load_queries("portaria.crm.inbox")

# What `arrival` can be: PostgreSQL's bigint.
_LAST_ARRIVAL = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread with its contact and channel. Times are UTC, by the provider's clock."""

    id: UUID
    contact_id: UUID
    contact_name: str | None
    phone_number: str | None
    username: str | None
    is_blocked: bool
    blocked_reason: str | None
    channel_session_id: UUID
    channel_name: str
    provider: str
    provider_conversation_id: str
    last_message_at: datetime | None
    last_inbound_at: datetime | None
    last_outbound_at: datetime | None
    last_message_preview: str | None
    unread_count: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ConversationFilter:
    """Which conversations; the default is all."""

    unread: bool = False
    contact_id: UUID | None = None
    channel_session_id: UUID | None = None


async def list_conversations(
    conn: Connection,
    organization_id: UUID,
    *,
    limit: int,
    filter: ConversationFilter = ConversationFilter(),
    after: tuple[datetime | None, UUID] | None = None,
) -> list[Conversation]:
    """The conversations, the latest message first. `after`: `last_message_at` and id already seen."""
    after_at, after_id = after or (None, None)
    async with conn.cursor(row_factory=class_row(Conversation)) as cursor:
        await cursor.execute(
            _Q["list_conversations"],
            {
                **asdict(filter), "organization_id": organization_id, "limit": limit,
                "after_at": after_at, "after_id": after_id,
            },
        )  # fmt: skip
        return await cursor.fetchall()


async def find_conversation(conn: Connection, organization_id: UUID, conversation_id: UUID) -> Conversation:
    """Raises a 404 `Refusal`."""
    parameters = {"organization_id": organization_id, "id": conversation_id}
    async with conn.cursor(row_factory=class_row(Conversation)) as cursor:
        found = await (await cursor.execute(_Q["find_conversation"], parameters)).fetchone()
    if found is None:
        raise _no_conversation()
    return found


async def count_unread(conn: Connection, organization_id: UUID) -> int:
    """How many conversations hold something unread."""
    [(count,)] = await (
        await conn.execute(_Q["count_unread"], {"organization_id": organization_id})
    ).fetchall()
    return int(count)


async def mark_read(conn: Connection, organization_id: UUID, conversation_id: UUID, through: int) -> int:
    """Somebody has read up to the message with arrival number `through`; returns what is still unread.

    What arrives later stays unread, also when it commits meanwhile (B1). Raises a 404 `Refusal`.
    """
    parameters = {
        "organization_id": organization_id, "conversation_id": conversation_id,
        "through": max(0, min(through, _LAST_ARRIVAL)),
    }  # fmt: skip
    [(unread,)] = await (await conn.execute(_Q["mark_read"], parameters)).fetchall()
    if unread is None:
        raise _no_conversation()
    return int(unread)


def _no_conversation() -> Refusal:
    return Refusal(404, "conversation_not_found", "There is no such conversation.")
