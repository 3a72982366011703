"""First attempts: they run in the web process, after the answer, with a bound (spec 2.5, design 5).

They depend neither on the client staying connected nor on the answer's task. Rows that do not fit at
once wait here and are drained as room appears; what the process loses, the replay finds.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import structlog

from portaria.db.pool import Database
from portaria.intake.accepted import AcceptedRow, TryOutcome, describe, load_rows, record_failure
from portaria.intake.ingest import ingest, ingest_together
from portaria.telemetry import FIRST_ATTEMPTS_WAITING, LEFT_TO_REPLAY, TRIES

_TOGETHER: Final = 32
"""Rows of a batch: most of what a batch saves is saved by then, and its locks are held a shorter time."""
_APART: Final = 0.1
"""Seconds from the beginning of a batch to the next, unless that is a full one: a message after a pause is
ingested at once, many are collected, as few rows cost about as much as many."""
_BATCHES: Final = 2
_MANY: Final = 32
_LOOK_AGAIN: Final = 0.02
_REST: Final = 2.0
"""Times what a batch took, while answers wait: batches get a third of the time."""
_LONGEST_REST: Final = 0.25
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
        _tell(row, outcome)
    TRIES.labels("first", outcome).inc()
    return outcome


async def first_attempts(db: Database, rows: Sequence[AcceptedRow]) -> list[AcceptedRow]:
    """The same for many rows at once. Returns those that are to be tried alone."""
    try:
        done = await ingest_together(db, rows)
    except Exception as error:
        log.info("not_ingested_together", rows=len(rows), error=describe(error))
        return list(rows)
    for row in rows:
        if row.id in done:
            _tell(row, done[row.id])
            TRIES.labels("first", done[row.id]).inc()
    return [row for row in rows if row.id not in done]


def _tell(row: AcceptedRow, outcome: TryOutcome) -> None:
    log.info("message_" + outcome, row=str(row.id), organization=str(row.organization_id))


class FirstAttempts:
    """Runs first attempts over at most `at_once` connections; at most `waiting` rows are kept waiting, and
    `kept_bytes` of their bodies.

    What waits is ingested together: while one batch is in the database, the next collects. Rows that cannot
    be, or whose batch failed, are tried alone, so that a locked thread holds up nobody else's messages.
    While many deliveries are `under_way`, one batch at a time, with a rest after each, and one row
    alone: an answer has five seconds, effects can wait, and both want the same processors.
    """

    def __init__(
        self,
        db: Database,
        *,
        at_once: int,
        waiting: int,
        kept_bytes: int = 4 * 1024 * 1024,
        under_way: Callable[[], int] = lambda: 0,
    ) -> None:
        self._db, self._at_once, self._under_way = db, at_once, under_way
        self._waiting, self._kept_bytes = waiting, kept_bytes
        self._rows: deque[AcceptedRow] = deque()
        self._alone: deque[AcceptedRow] = deque()
        self._bytes = 0
        self._batches = 0
        self._began = -_APART
        self._wake, self._full = asyncio.Event(), asyncio.Event()
        self._stopping = False
        self._runners: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._runners = [asyncio.create_task(self._run(number)) for number in range(self._at_once)]

    @property
    def waiting(self) -> int:
        """Rows whose first attempt has not begun."""
        return len(self._rows) + len(self._alone)

    def schedule(self, row: AcceptedRow) -> None:
        """Takes an accepted row over; returns at once."""
        if self.waiting >= self._waiting:
            LEFT_TO_REPLAY.inc()
            return
        if self._bytes + len(row.raw_body) > self._kept_bytes:
            row = replace(row, raw_body=b"")  # read again from the archive when its turn comes
        self._put(self._rows, row)

    async def stop(self, grace: float) -> None:
        """Lets running tries finish and drains the rest for `grace` seconds; the replay has what is left."""
        self._stopping = True
        self._wake.set()
        self._full.set()
        _done, late = await asyncio.wait(self._runners, timeout=grace) if self._runners else (set(), set())
        for runner in late:
            runner.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        LEFT_TO_REPLAY.inc(self.waiting)

    def _put(self, queue: deque[AcceptedRow], row: AcceptedRow) -> None:
        queue.append(row)
        self._bytes += len(row.raw_body)
        FIRST_ATTEMPTS_WAITING.set(self.waiting)
        self._wake.set()
        if len(self._rows) >= _TOGETHER:
            self._full.set()

    def _take(self, queue: deque[AcceptedRow], most: int) -> list[AcceptedRow]:
        taken = [queue.popleft() for _ in range(min(most, len(queue)))]
        self._bytes -= sum(len(row.raw_body) for row in taken)
        FIRST_ATTEMPTS_WAITING.set(self.waiting)
        return taken

    async def _run(self, number: int) -> None:
        """Runner 0 keeps to batches, so that rows which wait for a lock, alone, never take all of them."""
        while True:
            busy = self._under_way() > _MANY and not self._stopping
            for_alone = number > 0 or (self._at_once == 1 and not self._rows)
            try:
                if self._alone and for_alone and (number <= 1 or not busy):
                    await self._try_alone()
                elif self._is_a_batch() and (number == 0 or not busy):
                    began = time.monotonic()
                    await self._try_together()
                    if busy:
                        await asyncio.sleep(min(_REST * (time.monotonic() - began), _LONGEST_REST))
                elif self._stopping and not self.waiting and not self._batches:
                    return
                elif busy and self.waiting:
                    await asyncio.sleep(_LOOK_AGAIN)
                else:
                    self._wake.clear()
                    await self._wake.wait()
            except Exception:
                # The archive did not answer, or the log cannot be written: the runner outlives both.
                LEFT_TO_REPLAY.inc()

    def _is_a_batch(self) -> bool:
        """Of two at a time the second is a full one."""
        return len(self._rows) >= (_TOGETHER if self._batches else 1) and self._batches < _BATCHES

    async def _try_together(self) -> None:
        self._batches += 1
        try:
            await self._collect()
            rows = await self._with_bodies(self._take(self._rows, _TOGETHER))
            for row in await first_attempts(self._db, rows):
                self._put(self._alone, row)
        finally:
            self._batches -= 1
            self._wake.set()

    async def _collect(self) -> None:
        """Until a batch is full, or its time has come."""
        pause = self._began + _APART - time.monotonic()
        if pause > 0 and len(self._rows) < _TOGETHER and not self._stopping:
            self._full.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._full.wait()
        self._began = time.monotonic()

    async def _with_bodies(self, rows: list[AcceptedRow]) -> list[AcceptedRow]:
        """Without those that the replay has meanwhile; with none whose body cannot be read just now."""
        without = [row.id for row in rows if not row.raw_body]
        if not without:
            return rows
        try:
            async with self._db.connection() as conn:
                stored = {row.id: row for row in await load_rows(conn, without)}
        except Exception as error:
            log.warning("bodies_not_read", rows=len(without), error=describe(error))
            LEFT_TO_REPLAY.inc(len(without))
            return [row for row in rows if row.raw_body]
        found = [row if row.raw_body else stored.get(row.id) for row in rows]
        return [row for row in found if row and row.attempts == 0 and row.tried_at is None]

    async def _try_alone(self) -> None:
        [row] = self._take(self._alone, 1)
        try:
            await first_attempt(self._db, row)
        finally:
            self._wake.set()
