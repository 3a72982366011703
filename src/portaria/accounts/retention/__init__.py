"""Retention of accounts events (spec 2.5): the bodies of events that ended long ago are emptied.

The row stays: its `event_id` keeps a repetition out for good. A pending event is never touched: the
database refuses it, whoever asks.
"""

import asyncio

import structlog

from portaria.audit import record
from portaria.db.pool import Database
from portaria.db.queries import load_queries
from portaria.jobs.rounds import STEADY, Pace, in_batches

_Q = load_queries("portaria.accounts.retention")
_log = structlog.get_logger()


async def empty_events(db: Database, stop: asyncio.Event, *, keep_days: int, pace: Pace = STEADY) -> int:
    """Empties the payloads of what ended more than `keep_days` days ago by the database's clock, the
    oldest first, in small batches; audited. Returns how many rows.
    """
    rows = await in_batches(db, _Q["empty_some"], {"days": keep_days}, stop=stop, pace=pace)
    if rows:
        async with db.connection() as conn:
            await record(
                conn, organization_id=None, action="retention.events_emptied", actor="retention",
                metadata={"rows": rows, "keep_days": keep_days},
            )  # fmt: skip
        _log.info("events_emptied", rows=rows)
    return rows
