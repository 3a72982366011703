"""How a run ends in the queue's table: by updates that name the run, tried until they are taken."""

import asyncio
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import structlog
from procrastinate.connector import BaseAsyncConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job as QueueJob
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from procrastinate.utils import utcnow

from portaria.db.queries import load_queries

_Q = load_queries("portaria.jobs")
_log = structlog.get_logger()

# A job whose task this release does not know was enqueued by a newer one: somebody newer will come.
_UNKNOWN_AGAIN: Final = 30.0
_LAST_PATIENCE: Final = 5.0


class Endings(JobManager):
    """Procrastinate's job manager, except that an ending counts only for the run that it ends.

    The library's own names the job alone: the late finish of a frozen worker then closes the run of its
    successor, and one lost connection at the wrong moment leaves a job `doing` under a live worker.
    """

    def __init__(self, connector: BaseAsyncConnector) -> None:
        super().__init__(connector)
        self._given_up_at: float | None = None

    def starting(self) -> None:
        """From now on an ending is tried until the database takes it."""
        self._given_up_at = None

    def stopping(self) -> None:
        """From now on an ending is tried for 5 s more, not for ever: other workers put the job back."""
        self._given_up_at = time.monotonic() + _LAST_PATIENCE

    async def finish_job(self, job: QueueJob, status: Status, delete_job: bool) -> None:
        if status is Status.SUCCEEDED:
            await self._surely("end_run", job)
        else:
            _log.error("job_put_back", job=job.id, task=job.task_name, reason=status.value)
            await self._surely("put_back", job, delay=_UNKNOWN_AGAIN)

    async def retry_job(
        self,
        job: QueueJob,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        delay = 0.0 if retry_at is None else max(0.0, (retry_at - utcnow()).total_seconds())
        await self._surely("put_back", job, delay=delay)

    async def _surely(self, name: str, job: QueueJob, **more: float) -> None:
        parameters: Mapping[str, object] = {"id": job.id, "attempts": job.attempts, **more}
        pause = 0.1
        while True:
            try:
                await self.connector.execute_query_async(_Q[name], **parameters)
                return
            except ConnectorException as error:
                if self._given_up_at is not None and time.monotonic() > self._given_up_at:
                    raise
                _log.warning("job_ending_not_taken", job=job.id, task=job.task_name, error=str(error))
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)
