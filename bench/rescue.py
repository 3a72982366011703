"""Rescue: how long a killed worker's job takes to come back.

Two worker processes; one takes a job that would run for a minute and is killed with SIGKILL; the time from
the kill until the other has begun the job. `python -m bench.rescue <url>` is such a worker: its one task
notes in a table that it began, and sleeps.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import psycopg

from bench.site import Site, make_site, running
from portaria.db.embedded import EmbeddedServer
from portaria.db.pool import Database
from portaria.jobs import Job, Queue, Runner

_TASK, _QUEUE = "bench.sleep", "bench"
_TABLE = """
CREATE TABLE bench_runs (pid integer NOT NULL, began_at timestamptz NOT NULL DEFAULT clock_timestamp());
GRANT SELECT, INSERT ON bench_runs TO service_role;
"""


@contextmanager
def killed(server: EmbeddedServer, name: str = "rescue") -> Iterator[Callable[[], float]]:
    """After the kill. What is yielded waits for the job's next beginning and returns the seconds from the
    kill to it; it raises RuntimeError when they are over a minute.
    """
    site = make_site(server, name)
    site.sql(_TABLE)
    argv = [sys.executable, "-m", "bench.rescue", site.app_url]
    with running(argv, os.environ), running(argv, os.environ):
        site.sql("SELECT fn_enqueue_job(%(task)s, %(queue)s, '{}'::jsonb, 0.0)", task=_TASK, queue=_QUEUE)
        ((first, _at),) = _runs(site, 1)
        os.kill(first, signal.SIGKILL)
        at = datetime.now(UTC)
        yield lambda: (_runs(site, 2)[1][1] - at).total_seconds()


def _runs(site: Site, wanted: int) -> list[tuple[int, datetime]]:
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        with psycopg.connect(site.owner_url, autocommit=True) as conn:
            found = conn.execute("SELECT pid, began_at FROM bench_runs ORDER BY began_at").fetchall()
        if len(found) >= wanted:
            return found
        time.sleep(0.05)
    raise RuntimeError("the job was not begun within a minute")


async def _work(url: str) -> None:
    db = Database(url, name="bench rescue", size=4)
    await db.open()
    queue, stop = Queue(db), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, os._exit, 0)

    async def body(job: Job, /) -> None:
        async with db.connection() as conn:
            await conn.execute("INSERT INTO bench_runs (pid) VALUES (%s)", (os.getpid(),))
        await asyncio.sleep(60)

    queue.register(_TASK, body, queue=_QUEUE)
    await Runner(queue).run(stop)


if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1]))
