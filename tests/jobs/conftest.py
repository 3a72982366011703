"""A queue whose bodies the test writes, and the means to look at what is left of a job."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from portaria.db.pool import Database
from portaria.jobs import Queue, Runner


@pytest.fixture
def queue(db: Database) -> Queue:
    return Queue(db)


@asynccontextmanager
async def working(queue: Queue, **pace: Any) -> AsyncIterator[asyncio.Event]:
    """A runner in this process, quick enough for tests; ends gracefully with the block."""
    stop = asyncio.Event()
    runner = Runner(queue, **{"pulse": 0.1, "stale": 1.0, "poll": 0.05, **pace})
    running = asyncio.create_task(runner.run(stop))
    try:
        yield stop
    finally:
        stop.set()
        await running


def jobs(owner: psycopg.Connection) -> list[tuple[Any, ...]]:
    """(status, attempts, worker_id) of every job in the table, in their order."""
    return owner.execute("SELECT status, attempts, worker_id FROM procrastinate_jobs ORDER BY id").fetchall()
