"""The worker's loop: fetch and run jobs until told to stop, whatever happens to the database."""

import asyncio
from typing import Final

import structlog
from procrastinate.jobs import DeleteJobCondition
from procrastinate.worker import Worker

from portaria.jobs.pulse import Pulse
from portaria.jobs.queue import Queue

_log = structlog.get_logger()

_LONGEST_PAUSE: Final = 5.0
# The library prunes workers at its start; ours are only forgotten, their jobs were rescued long before.
_FORGOTTEN_AFTER: Final = 600.0


class Lane(Worker):
    """The fetch loop of one queue. Beating and listening are the pulse's work.

    The library's own heartbeat and listener end with the first lost connection, and nobody notices when
    no periodic task is registered.
    """

    async def fetch_and_run(self) -> None:
        """Until `end`, or until the database is lost; the running jobs end first in both cases."""
        await self.run()  # type: ignore[no-untyped-call]

    def wake(self) -> None:
        """Looks for jobs now, not at the next poll."""
        self._new_job_event.set()

    def end(self) -> None:
        self.stop()  # type: ignore[no-untyped-call]


class Runner:
    """Runs the jobs of `queue`: at most `concurrency` at once of each of its queues.

    Delayed jobs are looked for every `poll` seconds; the worker beats every `pulse`, and puts back the
    jobs of workers that have been silent for `stale` (all seconds).
    """

    def __init__(
        self,
        queue: Queue,
        *,
        concurrency: int = 4,
        poll: float = 0.5,
        pulse: float = 2.0,
        stale: float = 10.0,
    ) -> None:
        self._queue = queue
        self._concurrency = concurrency
        self._poll = poll
        self._pulse = Pulse(queue.db.url, pulse=pulse, stale=stale)

    async def run(self, stop: asyncio.Event) -> None:
        """Returns once `stop` is set and the running jobs have ended. Installs no signal handlers.

        A database that is away is waited for; cancelling stops as gracefully as `stop` does.
        """
        await self._queue.open()
        self._queue.endings.starting()
        beating = asyncio.create_task(self._pulse.run())
        try:
            await asyncio.gather(*(self._keep_running(name, stop) for name in sorted(self._queue.queues)))
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _keep_running(self, queue: str, stop: asyncio.Event) -> None:
        pause = 0.2
        while not stop.is_set():
            started = asyncio.get_running_loop().time()
            try:
                await self._run_lane(queue, stop)
            except Exception as error:
                _log.warning("job_lane_lost", queue=queue, error=repr(error))
            if asyncio.get_running_loop().time() - started > 30:
                pause = 0.2
            await _either(stop, pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _run_lane(self, queue: str, stop: asyncio.Event) -> None:
        """One registration with the database, until `stop` or until it is lost. Running jobs end first."""
        lane = Lane(
            self._queue.app,
            queues=[queue],
            concurrency=self._concurrency,
            fetch_job_polling_interval=self._poll,
            delete_jobs=DeleteJobCondition.SUCCESSFUL,
            listen_notify=False,
            install_signal_handlers=False,
            update_heartbeat_interval=1e9,
            stalled_worker_timeout=_FORGOTTEN_AFTER,
        )
        running = asyncio.create_task(lane.fetch_and_run())
        stopping = asyncio.create_task(stop.wait())
        with self._pulse.of(queue, lane):
            try:
                await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if stop.is_set():
                    self._queue.endings.stopping()
                lane.end()
                await asyncio.shield(running)
            finally:
                stopping.cancel()
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)


async def _either(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
