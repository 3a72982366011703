"""Cares that come round: any number of workers, one round when it is due, by the database's clock.

Not a job of the queue: what tidies up must not wait behind work, nor stall with it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, LiteralString

import structlog

from portaria.db.pool import Database
from portaria.db.queries import load_queries

_Q = load_queries("portaria.jobs.rounds")
_LOOKS_EVERY: Final = 30.0
_log = structlog.get_logger()

Round = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Pace:
    """Rows in one batch, seconds between two batches, seconds after which a round begins no new one."""

    rows: int = 500
    pause: float = 0.05
    round_seconds: float = 60.0


STEADY: Final = Pace()


async def run_rounds(db: Database, stop: asyncio.Event, name: str, round_: Round, *, every: float) -> None:
    """Runs `round_` whenever `every` seconds have passed since the last one began in any worker, until
    `stop`. A round that raises is logged, and comes again when it is due.
    """
    while not stop.is_set():
        try:
            if await take_due(db, name, every=every):
                await round_()
        except Exception as error:
            _log.warning("round_failed", round=name, error=type(error).__name__)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), min(_LOOKS_EVERY, every))


async def take_due(db: Database, name: str, *, every: float) -> bool:
    """Whether the round `name` is due, and the caller's to run: of two that ask at once, one hears yes.

    A last round that lies in the future is a clock that was put back: due.
    """
    async with db.connection() as conn:
        return (await conn.execute(_Q["take_due"], {"name": name, "every": every})).rowcount == 1


async def in_batches(
    db: Database,
    statement: LiteralString,
    parameters: Mapping[str, object],
    *,
    stop: asyncio.Event,
    pace: Pace = STEADY,
) -> int:
    """Runs `statement`, which changes `%(rows)s` rows at most, until it finds fewer, the round's time is
    over, or `stop`. Each batch commits by itself. Returns how many rows it changed.
    """
    changed, ends = 0, time.monotonic() + pace.round_seconds
    while not stop.is_set() and time.monotonic() < ends:
        async with db.connection() as conn:
            batch = (await conn.execute(statement, {**parameters, "rows": pace.rows})).rowcount
        changed += batch
        if batch < pace.rows:
            break
        await asyncio.sleep(pace.pause)
    return changed
