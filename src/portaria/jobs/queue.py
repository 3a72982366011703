"""The queue: which tasks there are, and how a job gets in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from procrastinate import App, PsycopgConnector
from procrastinate.job_context import JobContext
from procrastinate.jobs import Job as QueueJob
from procrastinate.retry import BaseRetryStrategy, RetryDecision
from psycopg.types.json import Jsonb

from portaria.db.pool import Connection, Database
from portaria.db.queries import load_queries
from portaria.jobs.endings import Endings

_Q = load_queries("portaria.jobs")


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a job. The id stays; `comebacks` counts how often it was put back before this run."""

    id: int
    comebacks: int


class Body(Protocol):
    """What a task does. It may run twice, at the same time too: it decides by its own row alone."""

    async def __call__(self, job: Job, /, **arguments: Any) -> None: ...


def back_off(comebacks: int) -> float:
    """Seconds until a job whose body raised runs again: 5, 10, 20 … up to 5 minutes."""
    return float(min(300.0, 5.0 * 2 ** min(comebacks, 6)))


class Queue:
    """The tasks of this process, on the pool of `db`, which needs a connection for each running job."""

    def __init__(self, db: Database) -> None:
        self.db = db
        connector = PsycopgConnector()
        self.app = App(connector=connector)
        self.endings = Endings(connector)
        self.app.job_manager = self.endings
        self.queues: set[str] = set()

    def register(
        self, task: str, body: Body, *, queue: str, again_in: Callable[[int], float] = back_off
    ) -> None:
        """`body` does the jobs named `task`, which are enqueued on `queue`.

        A body that raises runs again after `again_in(comebacks)` seconds, for ever: whoever wants an end
        to it counts in their own row. Call before a `Runner` starts.
        """

        async def run(context: JobContext, /, **arguments: Any) -> None:
            await body(Job(context.job.id or 0, context.job.attempts), **arguments)

        self.app.task(name=task, queue=queue, pass_context=True, retry=_ForEver(again_in))(run)
        self.queues.add(queue)

    async def open(self) -> None:
        """Lets the queue use the pool of `db`, which must be open."""
        await self.app.connector.open_async(pool=self.db.pool)


class _ForEver(BaseRetryStrategy):
    def __init__(self, again_in: Callable[[int], float]) -> None:
        self._again_in = again_in

    def get_retry_decision(self, *, exception: BaseException, job: QueueJob) -> RetryDecision:
        return RetryDecision(retry_in={"milliseconds": int(self._again_in(job.attempts) * 1000)})


async def enqueue(
    conn: Connection, task: str, queue: str, arguments: Mapping[str, object], *, delay: float = 0.0
) -> None:
    """A job in the caller's own transaction, due after `delay` seconds by the database's clock."""
    parameters = {"task": task, "queue": queue, "args": Jsonb(dict(arguments)), "delay": delay}
    await conn.execute(_Q["enqueue"], parameters)


async def alive(conn: Connection, within_seconds: float) -> int:
    """How many fetch loops of live workers beat in the last `within_seconds`; 0: nothing is being done."""
    [(count,)] = await (await conn.execute(_Q["alive"], {"within": within_seconds})).fetchall()
    return int(count)
