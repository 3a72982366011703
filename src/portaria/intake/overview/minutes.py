"""How the intake answers, counted per organization and minute: outcome, and how long the answer took.

Counted in memory, written every few seconds; a process that is killed loses the last few. These are
figures to look at: nothing is decided by them.
"""

import asyncio
import time
from bisect import bisect_left
from collections import Counter
from typing import Final, Literal
from uuid import UUID

import structlog

from portaria.asgi import Answer
from portaria.db.arrays import TextArray, UuidArray
from portaria.db.pool import Database
from portaria.db.queries import load_queries

_Q = load_queries("portaria.intake.overview")
log = structlog.get_logger()

Outcome = Literal["accepted", "processed", "ignored", "refused", "unavailable", "failed"]

SCALE: Final = (
    0.001, 0.0015, 0.002, 0.003, 0.004, 0.006, 0.008, 0.011, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.11,
    0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.1, 1.5, 2.0, 3.0, 4.0, 5.0,
)  # fmt: skip
"""The steps of answer times in seconds; a bucket holds what took up to its step, the last all above."""

_EVERY: Final = 3.0
_TIDY_EVERY: Final = 600.0
_IN_200: Final[dict[str, Outcome]] = {"accepted": "accepted", "ignored": "ignored", "processed": "processed"}

_Key = tuple[UUID | None, int, Outcome, int]


class Minutes:
    """Counts answers; `run` writes them. One for a web process."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._counted: Counter[_Key] = Counter()
        self._tidied_at = float("-inf")

    def note(self, organization_id: UUID | None, outcome: Outcome, seconds: float) -> None:
        """One answer, given now; returns at once."""
        self._counted[organization_id, int(time.time() // 60), outcome, bisect_left(SCALE, seconds)] += 1

    async def run(self) -> None:
        """Writes what was counted, every few seconds, until cancelled; then once more."""
        try:
            while True:
                await asyncio.sleep(_EVERY)
                await self.write()
        finally:
            await self.write()

    async def write(self) -> None:
        """Adds what was counted to the table. What cannot be written now is written later."""
        counted, self._counted = self._counted, Counter()
        try:
            await self._add(counted)
            if time.monotonic() - self._tidied_at > _TIDY_EVERY:
                self._tidied_at = time.monotonic()
                async with self._db.connection() as conn:
                    await conn.execute(_Q["drop_old_minutes"])
        except Exception as error:
            self._counted.update(counted)
            log.warning("minutes_not_written", error=type(error).__name__)

    async def _add(self, counted: Counter[_Key]) -> None:
        if not counted:
            return
        keys = list(counted)
        async with self._db.connection() as conn:
            await conn.execute(
                _Q["add_minutes"],
                {
                    "organizations": UuidArray.of(key[0] for key in keys),
                    "minutes": [key[1] * 60 for key in keys],
                    "outcomes": TextArray.of(key[2] for key in keys),
                    "buckets": [key[3] for key in keys],
                    "answers": [counted[key] for key in keys],
                },
            )  # fmt: skip


def outcome_of(answer: Answer) -> Outcome:
    """What an answer of the intake counts as."""
    if answer.status == 503:
        return "unavailable"
    if answer.status >= 500:
        return "failed"
    if answer.status >= 400:
        return "refused"
    return _IN_200.get(str(answer.document.get("status")), "processed")
