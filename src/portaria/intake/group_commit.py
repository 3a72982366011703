"""Group commit: while one batch commits, the next collects (design 5).

Rows of many requests share one statement and one flush. Queues are bounded, and a caller who would
wait longer than it may is told at once.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import structlog

from portaria.db.pool import Connection, in_time
from portaria.db.sqlstate import is_infrastructure, sqlstate
from portaria.errors import Operational
from portaria.intake.accepted import describe
from portaria.telemetry import BATCH_ROWS

Row = TypeVar("Row")
_QUERY_CANCELED: Final = "57014"
_SOON: Final = 0.003
"""Seconds after which a batch in flight is a slow one, and the next no longer waits for it."""
_READ_ONLY: Final = "25006"
log = structlog.get_logger()


class Unavailable(Operational):
    """The row was not (known to be) written in time: the database is away, or too much is asked."""


@dataclass(slots=True)
class _Waiting(Generic[Row]):
    row: Row
    size: int
    done: asyncio.Future[bool]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a group commit: rows per batch, rows and bytes that may wait, seconds to answer within."""

    batch_rows: int
    queue_rows: int
    queue_bytes: int
    within: float


class GroupCommit(Generic[Row]):
    """Writes rows by `write(connection, rows) -> [whether each was written]`, `depth` batches at a time.

    `write` must be one statement, safe to repeat after a lost COMMIT.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[Connection, Sequence[Row]], Awaitable[Sequence[bool]]],
        connect: Callable[[], Coroutine[Any, Any, Connection]],
        *,
        depth: int,
        bounds: Bounds,
    ) -> None:
        self._name, self._write, self._connect = name, write, connect
        self._depth, self._bounds = depth, bounds
        self._queue: deque[_Waiting[Row]] = deque()
        self._bytes = 0
        self._wake, self._finished = asyncio.Event(), asyncio.Event()
        self._running: dict[int, float] = {}
        self._batch_seconds = 0.0
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._loop(n)) for n in range(self._depth)]

    async def stop(self) -> None:
        """Ends the loops; whoever still waits is told that nothing was promised."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        _fail_all(self._queue, Unavailable("stopping"))
        self._queue.clear()

    async def submit(self, row: Row, *, size: int, within: float) -> bool:
        """Waits until the row is committed. Raises `Unavailable` after `within` seconds, or at once."""
        if len(self._queue) >= self._bounds.queue_rows or self._bytes + size > self._bounds.queue_bytes:
            raise Unavailable(f"{self._name}: too much is waiting")
        if within <= 0 or self._expected_wait() > within:
            raise Unavailable(f"{self._name}: the wait would be too long")
        loop = asyncio.get_running_loop()
        waiting = _Waiting(row, size, loop.create_future())
        self._queue.append(waiting)
        self._bytes += size
        self._wake.set()
        late = loop.call_later(within, self._give_up, waiting)
        try:
            return await waiting.done
        finally:
            late.cancel()

    def _give_up(self, waiting: _Waiting[Row]) -> None:
        _fail(waiting, Unavailable(f"{self._name}: not written in time"))

    def _expected_wait(self) -> float:
        """Seconds until a row that comes now is committed: the batches before it, at today's pace."""
        if len(self._running) < self._depth and not self._queue:
            return 0.0
        oldest = next(iter(self._running.values()), None)
        slowest = 0.0 if oldest is None else time.monotonic() - oldest
        batches = len(self._queue) // (self._bounds.batch_rows * self._depth) + 1
        return batches * max(self._batch_seconds, slowest)

    async def _loop(self, number: int) -> None:
        conn: Connection | None = None
        try:
            while True:
                batch = await self._collect()
                self._running[number] = time.monotonic()
                held, conn = conn, None
                try:
                    conn = await self._commit(held, batch)
                except Exception:
                    # A bug, or a log that cannot be written: this loop must outlive both.
                    _fail_all(batch, Unavailable(f"{self._name}: failed"))
                finally:
                    del self._running[number]
                    self._finished.set()
        finally:
            if conn is not None:
                await conn.close()

    async def _collect(self) -> list[_Waiting[Row]]:
        while True:
            while self._queue and (hold := self._hold()) > 0:
                self._finished.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(hold):
                        await self._finished.wait()
            batch: list[_Waiting[Row]] = []
            while self._queue and len(batch) < self._bounds.batch_rows:
                waiting = self._queue.popleft()
                self._bytes -= waiting.size
                if not waiting.done.done():
                    batch.append(waiting)
            if batch:
                return batch
            self._wake.clear()
            await self._wake.wait()

    def _hold(self) -> float:
        """Seconds to leave the rows to the successor of the batch in flight, which may be over any moment.

        On a fast disk a second batch at once would only make both small; a slow one is found out by waiting.
        """
        if not self._running or len(self._queue) >= self._bounds.batch_rows:
            return 0.0
        return next(iter(self._running.values())) + _SOON - time.monotonic()

    async def _commit(self, conn: Connection | None, batch: list[_Waiting[Row]]) -> Connection | None:
        """Writes a batch; after a lost connection once more on a fresh one. Returns the live connection.

        Of a batch that is late nobody waits any more, and its connection is not used again; nor is one whose
        session is read-only, which it stays though the database may not.
        """
        BATCH_ROWS.labels(self._name).observe(len(batch))
        while True:
            fresh = conn is None
            started = time.monotonic()
            try:
                if conn is None:
                    conn = await in_time(self._connect(), self._bounds.within)
                await in_time(self._write_all(conn, batch), self._bounds.within, afterwards=conn.close)
            except asyncio.CancelledError:
                _fail_all(batch, Unavailable("stopping"))
                raise
            except Exception as error:
                late = isinstance(error, TimeoutError)
                if conn is not None and sqlstate(error) == _READ_ONLY:
                    await conn.close()
                usable = not (late or conn is None or conn.closed)
                log.warning("commit_failed", queue=self._name, rows=len(batch), error=describe(error))
                if usable or late or fresh:
                    _fail_all(batch, Unavailable(f"{self._name}: {type(error).__name__}"))
                    return conn if usable else None
                conn = None
            else:
                self._batch_seconds += 0.3 * (time.monotonic() - started - self._batch_seconds)
                return conn

    async def _write_all(self, conn: Connection, batch: list[_Waiting[Row]]) -> None:
        """One statement; one bad row must not fail its neighbours, so on its error row by row."""
        try:
            written = await self._write(conn, [w.row for w in batch])
        except Exception as error:
            if len(batch) == 1 or not _is_of_a_row(error):
                raise
            for waiting in batch:
                await self._write_alone(conn, waiting)
        else:
            for waiting, ok in zip(batch, written, strict=True):
                _finish(waiting, ok)

    async def _write_alone(self, conn: Connection, waiting: _Waiting[Row]) -> None:
        try:
            (ok,) = await self._write(conn, [waiting.row])
        except Exception as error:
            if not _is_of_a_row(error):
                raise
            log.warning("row_not_written", queue=self._name, error=describe(error))
            _fail(waiting, Unavailable(f"{self._name}: {type(error).__name__}"))
        else:
            _finish(waiting, ok)


def _is_of_a_row(error: Exception) -> bool:
    """Whether a row may be at fault; a server in trouble is not asked again row by row."""
    return not is_infrastructure(error) and sqlstate(error) != _QUERY_CANCELED


def _finish(waiting: _Waiting[Row], ok: bool) -> None:
    if not waiting.done.done():
        waiting.done.set_result(ok)


def _fail(waiting: _Waiting[Row], error: Exception) -> None:
    if not waiting.done.done():
        waiting.done.set_exception(error)


def _fail_all(batch: Iterable[_Waiting[Row]], error: Exception) -> None:
    for waiting in batch:
        _fail(waiting, error)
