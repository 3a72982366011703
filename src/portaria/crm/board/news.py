"""What is new in an organization's conversations and leads, told by one cheap read: a page compares."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.crm.board")


@dataclass(frozen=True, slots=True)
class News:
    """The conversation written to last, when, and how much of it and of all is unread; the number of the
    organization's newest fact."""

    id: UUID | None
    last_message_at: datetime | None
    unread_count: int
    unread_conversations: int
    newest_fact: int


async def read_news(conn: Connection, organization_id: UUID) -> News:
    """As it is now. Two equal answers: nothing came meanwhile, as far as a list shows it."""
    async with conn.cursor(row_factory=class_row(News)) as cursor:
        await cursor.execute(_Q["news"], {"organization_id": organization_id})
        [news] = await cursor.fetchall()
    return news
