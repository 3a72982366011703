"""What an open page may not know yet, read once for all pages of an organization in this process.

Messages are too many for a signal each (NOTIFY serializes commits): one cheap read in a while tells all
open pages whether there is anything to read anew. The same read stands in every page as its `mark`, so
that what happens between a page and its first listening is not missed.
"""

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Final
from uuid import UUID
from zlib import crc32

from portaria.crm.board import read_news
from portaria.db.pool import Connection, Database
from portaria.notices import count_live

_KINDS: Final = ("message", "lead", "notice")
_FRESH: Final = 1.0
"""Seconds for which what was read is good enough for other pages."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How things stood: equal marks, nothing new. A number for each kind of thing that pages show;
    `notice` and `unread` are what the badges say.
    """

    message: int
    lead: int
    notice: int
    unread: int = 0

    def changed_since(self, before: "Mark") -> set[str]:
        """The kinds of things that are not as they were."""
        return {kind for kind in _KINDS if getattr(self, kind) != getattr(before, kind)}

    def __str__(self) -> str:
        return f"{self.message}.{self.lead}.{self.notice}"


def read_mark(text: str) -> Mark | None:
    """A page's mark; None for what is none."""
    parts = text.split(".")
    if len(parts) != 3 or not all(part.isdecimal() and len(part) < 20 for part in parts):
        return None
    return Mark(*map(int, parts))


async def take_mark(conn: Connection, organization_id: UUID, *, operator: bool) -> Mark:
    """How things stand now."""
    news = await read_news(conn, organization_id)
    conversations = (news.id, news.last_message_at, news.unread_count, news.unread_conversations)
    notices = await count_live(conn, organization_id, operator=operator)
    return Mark(crc32(repr(conversations).encode()), news.newest_fact, notices, news.unread_conversations)


class Newsstand:
    """The latest mark by organization, for operators apart."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._read: dict[tuple[UUID, bool], tuple[float, Mark]] = {}
        self._reading: dict[tuple[UUID, bool], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def latest(self, organization_id: UUID, *, operator: bool) -> Mark:
        """At most `_FRESH` seconds old."""
        key = organization_id, operator
        async with self._reading[key]:
            kept = self._read.get(key)
            if kept is not None and time.monotonic() - kept[0] < _FRESH:
                return kept[1]
            async with self._db.tenant(organization_id, operator=operator) as conn:
                mark = await take_mark(conn, organization_id, operator=operator)
            self._read[key] = (time.monotonic(), mark)
            return mark
