"""First attempts: they run in the web process, after the answer, with a bound (spec 2.5, design 5).

They depend neither on the client staying connected nor on the answer's task. Rows that do not fit at
once wait here and are drained as room appears; what the process loses, the replay finds.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import structlog

from portaria.db.pool import Database
from portaria.intake.accepted import AcceptedRow, TryOutcome, describe, load_row, record_failure
from portaria.intake.ingest import ingest
from portaria.telemetry import FIRST_ATTEMPTS_WAITING, LEFT_TO_REPLAY, TRIES

_A_FEW: Final = 8
_LOOK_AGAIN: Final = 0.02
log = structlog.get_logger()


async def first_attempt(db: Database, row: AcceptedRow) -> TryOutcome:
    """One try; a failure is kept in the row: `attempts` 1, or 0 when the infrastructure failed."""
    try:
        outcome = await ingest(db, row, again=False)
    except Exception as error:
        outcome = TryOutcome.FAILED
        log.warning("first_attempt_failed", row=str(row.id), error=describe(error))
        try:
            async with db.connection() as conn:
                await record_failure(conn, row, error, spent=1, unspent=0)
        except Exception as unwritten:
            log.warning("failure_not_recorded", row=str(row.id), error=describe(unwritten))
    else:
        log.info("message_" + outcome, row=str(row.id), organization=str(row.organization_id))
    TRIES.labels("first", outcome).inc()
    return outcome


class FirstAttempts:
    """Runs first attempts, at most `at_once` at a time; at most `waiting` rows are kept waiting, and
    `kept_bytes` of their bodies.

    While more than a few deliveries are `under_way`, one at a time: an answer has five seconds, effects can
    wait, and both want the same processors.
    """

    def __init__(
        self,
        db: Database,
        *,
        at_once: int,
        waiting: int,
        kept_bytes: int = 64 * 1024 * 1024,
        under_way: Callable[[], int] = lambda: 0,
    ) -> None:
        self._db, self._at_once, self._under_way = db, at_once, under_way
        self._waiting, self._kept_bytes = waiting, kept_bytes
        self._rows: deque[AcceptedRow] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self._stopping = False
        self._runners: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._runners = [asyncio.create_task(self._run(number)) for number in range(self._at_once)]

    def schedule(self, row: AcceptedRow) -> None:
        """Takes an accepted row over; returns at once."""
        if len(self._rows) >= self._waiting:
            LEFT_TO_REPLAY.inc()
            return
        if self._bytes + len(row.raw_body) > self._kept_bytes:
            row = replace(row, raw_body=b"")  # read again from the archive when its turn comes
        self._bytes += len(row.raw_body)
        self._rows.append(row)
        FIRST_ATTEMPTS_WAITING.set(len(self._rows))
        self._wake.set()

    async def stop(self, grace: float) -> None:
        """Lets running tries finish and drains the rest for `grace` seconds; the replay has what is left."""
        self._stopping = True
        self._wake.set()
        _done, late = await asyncio.wait(self._runners, timeout=grace) if self._runners else (set(), set())
        for runner in late:
            runner.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        LEFT_TO_REPLAY.inc(len(self._rows))

    async def _run(self, number: int) -> None:
        while True:
            while not self._rows:
                if self._stopping:
                    return
                self._wake.clear()
                await self._wake.wait()
            if number and self._under_way() > _A_FEW and not self._stopping:
                await asyncio.sleep(_LOOK_AGAIN)
                continue
            row = self._rows.popleft()
            self._bytes -= len(row.raw_body)
            FIRST_ATTEMPTS_WAITING.set(len(self._rows))
            try:
                await self._try(row)
            except Exception:
                # The archive did not answer, or the log cannot be written: the runner outlives both.
                LEFT_TO_REPLAY.inc()

    async def _try(self, row: AcceptedRow) -> None:
        if not row.raw_body:
            async with self._db.connection() as conn:
                stored = await load_row(conn, row.id)
            if stored is None or stored.attempts > 0 or stored.tried_at is not None:
                return  # the replay has it
            row = stored
        await first_attempt(self._db, row)
