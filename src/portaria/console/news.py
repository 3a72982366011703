"""News of conversations, read once for all open pages of an organization in this process.

Messages are too many for a signal each (NOTIFY serializes commits): one cheap read in a while tells all
pages that are open whether there is anything to read anew.
"""

import asyncio
import time
from collections import defaultdict
from typing import Final
from uuid import UUID

from portaria.crm.board import News, read_news
from portaria.db.pool import Database

_FRESH: Final = 1.0
"""Seconds for which what was read is good enough for other pages."""


class Newsstand:
    """The latest news by organization."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._read: dict[UUID, tuple[float, News]] = {}
        self._reading: dict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def latest(self, organization_id: UUID) -> News:
        """At most `_FRESH` seconds old."""
        async with self._reading[organization_id]:
            kept = self._read.get(organization_id)
            if kept is not None and time.monotonic() - kept[0] < _FRESH:
                return kept[1]
            async with self._db.tenant(organization_id) as conn:
                news = await read_news(conn, organization_id)
            self._read[organization_id] = (time.monotonic(), news)
            return news
