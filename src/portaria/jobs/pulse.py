"""A worker's pulse: it beats, hears of new jobs, and puts back the jobs of workers that fell silent.

One connection of its own, so that busy jobs cannot hold it up, and a loop, not a job, so that it cannot
stall itself (design 2).
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import psycopg
import structlog
from procrastinate import sql as queue_sql
from procrastinate.manager import get_channel_for_queues
from psycopg import sql

from portaria.db.pool import Connection, connect
from portaria.db.queries import load_queries

_Q = load_queries("portaria.jobs")
_log = structlog.get_logger()


class Beating(Protocol):
    """A fetch loop that is registered in the database as a worker."""

    worker_id: int | None

    def wake(self) -> None: ...
    def end(self) -> None: ...


class Pulse:
    """Beats every `pulse` seconds; a worker silent for `stale` seconds loses its jobs."""

    def __init__(self, url: str, *, pulse: float, stale: float) -> None:
        self._url = url
        self._pulse = pulse
        self._stale = stale
        self._lanes: dict[str, Beating] = {}
        self._listening: set[str] = set()

    @contextmanager
    def of(self, queue: str, lane: Beating) -> Iterator[None]:
        """Beats for `lane`, and wakes it when a job comes into `queue`."""
        self._lanes[queue] = lane
        try:
            yield
        finally:
            if self._lanes.get(queue) is lane:
                del self._lanes[queue]

    async def run(self) -> None:
        """For ever; a lost connection is made anew."""
        while True:
            try:
                await self._while_connected()
            except (psycopg.Error, OSError) as error:
                _log.warning("job_pulse_lost", error=repr(error))
            except Exception:
                _log.exception("job_pulse_broken")
            await asyncio.sleep(min(self._pulse, 1.0))

    async def _while_connected(self) -> None:
        async with await connect(self._url, "portaria pulse", statement_timeout=5.0) as conn:
            self._listening = set()
            # After an outage every worker is silent: let the living beat before anybody is rescued.
            rescue_from = time.monotonic() + 2 * self._pulse
            while True:
                await self._listen(conn)
                await self._beat(conn)
                if time.monotonic() >= rescue_from:
                    await self._rescue(conn)
                async for heard in conn.notifies(timeout=self._pulse):
                    self._wake(heard.channel)

    async def _listen(self, conn: Connection) -> None:
        for channel in get_channel_for_queues(self._lanes.keys() - self._listening):
            query = sql.SQL(queue_sql.queries["listen_queue"])
            await conn.execute(query.format(channel_name=sql.Identifier(channel)))
        self._listening |= self._lanes.keys()

    async def _beat(self, conn: Connection) -> None:
        """A lane whose row somebody pruned can fetch no more: it registers anew."""
        lanes = {lane.worker_id: lane for lane in self._lanes.values() if lane.worker_id is not None}
        if not lanes:
            return
        beaten = await (await conn.execute(_Q["beat"], {"workers": list(lanes)})).fetchall()
        for worker_id in lanes.keys() - {row[0] for row in beaten}:
            if lanes[worker_id].worker_id == worker_id:
                _log.warning("job_lane_pruned", worker=worker_id)
                lanes[worker_id].end()

    async def _rescue(self, conn: Connection) -> None:
        for job, task in await (await conn.execute(_Q["rescue"], {"stale": self._stale})).fetchall():
            _log.warning("job_rescued", job=job, task=task)

    def _wake(self, channel: str) -> None:
        for queue, lane in self._lanes.items():
            if channel in get_channel_for_queues([queue]):
                lane.wake()
