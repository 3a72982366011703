"""Back-pressure (spec 2.5): a 503 rather than a promise that the window would break.

Counted are the accepted rows that still wait for their first attempt; rows that were tried and failed
never count, so one poisoned row does not close the door.
"""

import asyncio

import structlog

from portaria.db.pool import Database, in_time
from portaria.db.queries import load_queries
from portaria.intake.accepted import describe

_Q = load_queries("portaria.intake")
_LOOK_EVERY = 5.0
_LOOK_WITHIN = 2.0
log = structlog.get_logger()


class Backlog:
    """Looks at the backlog every few seconds; `full` says whether new messages are to be refused."""

    def __init__(self, db: Database, *, rows: int, age: float, every: float = _LOOK_EVERY) -> None:
        self._db, self._rows, self._age, self._every = db, rows, age, every
        self._watching: asyncio.Task[None] | None = None
        self.full = False

    def start(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def look(self) -> None:
        """One look. Raises what the database raises, and TimeoutError after 2 s."""
        rows, age = await in_time(self._count(), _LOOK_WITHIN)
        full = rows > self._rows or age > self._age
        if full != self.full:
            log.warning("backlog_full" if full else "backlog_open", rows=rows, oldest_seconds=round(age))
        self.full = full

    async def _count(self) -> tuple[int, float]:
        async with self._db.connection() as conn:
            cursor = await conn.execute(_Q["backlog"], {"bound": self._rows + 1})
            ((rows, oldest),) = await cursor.fetchall()
        return rows, float(oldest or 0.0)

    async def _watch(self) -> None:
        while True:
            try:
                await self.look()
            except Exception as error:
                log.warning("backlog_unknown", error=describe(error))
            await asyncio.sleep(self._every)
