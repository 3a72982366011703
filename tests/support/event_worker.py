"""A worker process for facts alone, for tests that kill it: `python -m tests.support.event_worker URL`.

The same parts as the real worker: the queue, its rescue, rules and pushes; a push may go to loopback.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from portaria.automations.engine import run_rules
from portaria.db.pool import Database
from portaria.events import register
from portaria.jobs import Queue, Runner
from portaria.push import Courier, Reach, Vapid

VAPID_KEY = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE"


async def main(url: str, concurrency: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    db = Database(url, name="test worker", size=2 * concurrency + 2)
    await db.open()
    courier = Courier(Vapid(VAPID_KEY, "mailto:teste@exemplo.test"), reach=Reach(anything=True))
    queue = Queue(db)
    register(queue, on_fact=run_rules, on_assigned=courier.tell_owner)
    # Quicker than in production, so that a test sees a rescue within seconds.
    await Runner(queue, concurrency=concurrency, poll=0.2, pulse=0.5, stale=2.0).run(stop)
    await courier.close()
    await db.close()


@contextmanager
def workers(url: str, count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """`count` of them; killed at the end. The list may be changed: what is in it at the end is ended."""
    running = [start(url) for _ in range(count)]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.wait()


def start(url: str, concurrency: int = 4) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.event_worker", url, str(concurrency)], cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
