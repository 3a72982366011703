"""The figures of the overview: what waits, what was given up, how the intake answered."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.intake.overview.minutes import SCALE

_Q = load_queries("portaria.intake.overview")


@dataclass(frozen=True, slots=True)
class Figures:
    """What waits for ingestion, since when, and how many of it failed before; `dead` counts to 1,000."""

    pending: int
    oldest_pending_at: datetime | None
    tried_and_waiting: int
    dead: int


@dataclass(slots=True)
class MinuteFigures:
    """One minute, or a few together from that one on: answers by outcome, and the answer time that half
    and 99 of 100 stayed below, in seconds; None without an answer.
    """

    minute: datetime
    answers: Counter[str] = field(default_factory=Counter)
    buckets: Counter[int] = field(default_factory=Counter)

    @property
    def p50(self) -> float | None:
        return quantile(self.buckets, 0.50)

    @property
    def p99(self) -> float | None:
        return quantile(self.buckets, 0.99)


async def read_figures(conn: Connection, organization_id: UUID) -> Figures:
    """As they are now."""
    async with conn.cursor(row_factory=class_row(Figures)) as cursor:
        [figures] = await (
            await cursor.execute(_Q["figures"], {"organization_id": organization_id})
        ).fetchall()
    return figures


async def read_minutes(
    conn: Connection, organization_id: UUID, *, minutes: int, step: int = 1, operator: bool = False
) -> list[MinuteFigures]:
    """The last `minutes` in which anything was answered, `step` of them taken together, the oldest first;
    for an `operator` with what was answered to nobody's deliveries.
    """
    parameters = {
        "organization_id": organization_id, "minutes": minutes, "step": step, "operator": operator,
        "span": 5 if step % 5 == 0 else 1,
    }  # fmt: skip
    found: dict[datetime, MinuteFigures] = {}
    for minute, outcome, bucket, answers in await (
        await conn.execute(_Q["read_minutes"], parameters)
    ).fetchall():
        figures = found.setdefault(minute, MinuteFigures(minute))
        figures.answers[outcome] += int(answers)
        figures.buckets[bucket] += int(answers)
    return list(found.values())


def quantile(buckets: Counter[int], share: float) -> float | None:
    """The answer time that `share` of the answers stayed below, in seconds, read off the scale."""
    total = sum(buckets.values())
    if not total:
        return None
    wanted, passed = share * total, 0
    for bucket in sorted(buckets):
        if passed + buckets[bucket] >= wanted:
            low = SCALE[bucket - 1] if bucket else 0.0
            high = SCALE[min(bucket, len(SCALE) - 1)]
            return low + (high - low) * (wanted - passed) / buckets[bucket]
        passed += buckets[bucket]
    return SCALE[-1]
