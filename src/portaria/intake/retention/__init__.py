"""Retention of the archive (spec 2.5): body and headers of rows that finished long ago are emptied.

The row stays, with everything that says what arrived and what became of it; a repetition is still
recognised, because `messages` is unique and knows nothing of bodies. What is pending is never touched:
the database refuses it, whoever asks.
"""

import asyncio
from datetime import datetime
from uuid import UUID

import structlog

from portaria.audit import record
from portaria.db.pool import Connection, Database
from portaria.db.queries import load_queries
from portaria.jobs.rounds import STEADY, Pace, in_batches

_Q = load_queries("portaria.intake.retention")
_log = structlog.get_logger()


async def empty_arrivals(db: Database, stop: asyncio.Event, *, keep_days: int, pace: Pace = STEADY) -> int:
    """Empties what finished more than `keep_days` days ago by the database's clock, the oldest first, in
    small batches; audited. Returns how many rows. Two rounds at once share the work.
    """
    rows = await in_batches(db, _Q["empty_some"], {"days": keep_days}, stop=stop, pace=pace)
    if rows:
        async with db.connection() as conn:
            await record(
                conn, organization_id=None, action="retention.arrivals_emptied", actor="retention",
                metadata={"rows": rows, "keep_days": keep_days},
            )  # fmt: skip
        _log.info("arrivals_emptied", rows=rows)
    return rows


async def emptied_at(conn: Connection, row: UUID) -> datetime | None:
    """When the row's body was emptied; None for one that has its body, or does not exist."""
    found = await (await conn.execute(_Q["emptied_at"], {"row": row})).fetchone()
    return None if found is None else found[0]
