"""Processing an event: one attempt of its use case, and what is written of it (spec 3, R-010).

begin (committed) ─▶ use case + processed, one transaction ─▶ done
                └──▶ rolled back ─▶ attempts + 1 and the next job, or failed and the notice
"""

import asyncio
from enum import Enum
from typing import Any, Final
from uuid import UUID

import structlog
from psycopg import pq

from portaria.accounts.envelope import clean, parse
from portaria.accounts.use_cases import Failure, Success, UseCase, UseCases
from portaria.db.pool import Connection, Database
from portaria.db.queries import load_queries
from portaria.db.sqlstate import is_infrastructure
from portaria.errors import Refusal
from portaria.jobs import Job, Queue
from portaria.telemetry import INCOMING_EVENT_ATTEMPTS

_Q = load_queries("portaria.accounts")
_log = structlog.get_logger()

TASK: Final = "portaria.incoming_event"
QUEUE: Final = "incoming_events"
RETRY_DELAY: Final = 5.0
_MESSAGE_LIMIT: Final = 2_000
_CUT_OFF: Final = "the attempt was cut off: its worker was killed, or lost the database"


class Outcome(Enum):
    """What one run of a job did to its event."""

    processed = "processed"
    again = "pending"
    failed = "failed"
    nothing = "nothing"


class _Failed(Exception):
    """The use case did not succeed; the message is what people read."""


class _Superseded(Exception):
    """Somebody else has decided about this attempt: write nothing."""


class Processor:
    """Runs use cases. An attempt may take `use_case_within` seconds; the next one comes `retry_delay`
    seconds after its end. A failure that cannot be written is tried for `record_within` seconds."""

    def __init__(
        self,
        db: Database,
        use_cases: UseCases,
        *,
        retry_delay: float = RETRY_DELAY,
        use_case_within: float = 60.0,
        record_within: float = 30.0,
    ) -> None:
        self._db = db
        self._use_cases = use_cases
        self._retry_delay = retry_delay
        self._use_case_within = use_case_within
        self._record_within = record_within

    def register(self, queue: Queue) -> None:
        """Takes on the jobs of `fn_enqueue_incoming_event`."""
        queue.register(TASK, self._body, queue=QUEUE, again_in=lambda _: self._retry_delay)

    async def _body(self, job: Job, /, **arguments: Any) -> None:
        outcome = await self.process(UUID(arguments["incoming_event_id"]), arguments["attempts"], job.id)
        INCOMING_EVENT_ATTEMPTS.labels(outcome.value).inc()

    async def process(self, event: UUID, attempts: int, job: int) -> Outcome:
        """One attempt of the event's use case, if the row still stands at `attempts` spent ones.

        Raises only when nothing could be recorded; the queue then runs the job again.
        """
        key = {"id": event, "attempts": attempts}
        async with self._db.connection() as conn:
            [begun] = await (await conn.execute(_Q["begin"], {**key, "job": job})).fetchall()
        verdict, attempt_job, event_type, payload = begun
        if verdict == "nothing":
            return Outcome.nothing
        key["job"] = attempt_job
        if verdict == "cut_off":
            return await self._record_failure(key, _CUT_OFF)
        try:
            await self._attempt(key, event_type, payload)
        except _Superseded:
            _log.warning("incoming_event_superseded", row=str(event), attempts=attempts)
            return Outcome.nothing
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            return await self._record_failure(key, "the use case was cancelled from within")
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # a use case may raise SystemExit: the worker outlives it
            return await self._record_failure(key, _sentence(error))
        _log.info("incoming_event_processed", row=str(event), event_type=event_type)
        return Outcome.processed

    async def _attempt(self, key: dict[str, Any], event_type: str, payload: str) -> None:
        use_case = self._use_cases.resolve(event_type)
        if use_case is None:
            raise _Failed(f"no use case registered for event: {event_type}")
        try:
            data = clean(parse(payload.encode()).data)
        except Refusal as refusal:
            raise _Failed(f"the payload is no envelope: {refusal.detail}") from None
        limit = asyncio.timeout(self._use_case_within)
        try:
            async with limit, self._db.transaction() as conn:
                await _run(use_case, data, conn)
                [(closed,)] = await (await conn.execute(_Q["close"], key)).fetchall()
                if not closed:
                    raise _Superseded
        except TimeoutError:
            if limit.expired():
                raise _Failed(f"the use case took longer than {self._use_case_within:g} s") from None
            raise

    async def _record_failure(self, key: dict[str, Any], message: str) -> Outcome:
        """Spends the attempt, if it is still this run's. A database that is away is waited for."""
        parameters = {**key, "message": clean(message)[:_MESSAGE_LIMIT], "delay": self._retry_delay}
        give_up_at = asyncio.get_running_loop().time() + self._record_within
        while True:
            try:
                async with self._db.connection() as conn:
                    [(status,)] = await (await conn.execute(_Q["fail"], parameters)).fetchall()
                break
            except Exception as error:
                if not is_infrastructure(error) or asyncio.get_running_loop().time() > give_up_at:
                    raise
                _log.warning("incoming_event_not_recorded", row=str(key["id"]), error=repr(error))
            await asyncio.sleep(0.5)
        if status is None:
            return Outcome.nothing
        _log.warning(
            "incoming_event_attempt_failed", row=str(key["id"]), status=status,
            attempts=key["attempts"] + 1, error=parameters["message"],
        )  # fmt: skip
        return Outcome(status)


async def _run(use_case: UseCase, data: dict[str, Any], conn: Connection) -> None:
    outcome = await use_case(data, conn)
    match outcome:
        case Success():
            pass
        case Failure(message):
            raise _Failed(str(message))
        case _:
            raise _Failed(f"the use case returned {type(outcome).__name__}, not Success or Failure")
    if conn.info.transaction_status is not pq.TransactionStatus.INTRANS:
        raise _Failed("the use case ended the transaction that it was given, or left it broken")


def _sentence(error: BaseException) -> str:
    if isinstance(error, _Failed):
        return str(error)
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
