"""How much one process can still answer in time (spec 2.2: 503 when the expected wait is too long).

The queues of the group commit know what waits for the database. They do not see what waits for this
process itself: deliveries whose next step is one of thousands in the event loop. Under a load beyond its
means those are nearly all, and each would be answered, late.

Two signs tell it. By Little's law a delivery that comes now waits for as many as are under way, at the
pace at which they are finished. And a timer that goes off late shows how long one turn of the loop takes:
a delivery needs several. Refusing must be much cheaper than answering, or refusals alone fill the
process: `refuse_unread` finds a whole delivery in what a connection received, before anything parses it.
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from portaria.asgi import refuse, unavailable, whole_answer
from portaria.telemetry import ANSWERS

_WINDOW: Final = 0.25
_WINDOWS: Final = 4
_BUSY: Final = 32
"""With fewer under way at any time in a window, it tells how few came, not how many could be answered."""
_TURNS: Final = 6
"""Turns of the event loop from a delivery's first byte to its answer, about."""
_TICK: Final = 0.05
_PLANNED: Final = 0.25
"""Of the time to answer: what waits to be accepted and read is not known yet."""
_POST: Final = b"POST /api/v1/webhooks/"
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d{1,7})\r\n", re.IGNORECASE)
# Whatever asks for more than an answer is left to the server.
_SPECIAL: Final = re.compile(rb"\r\n(?:transfer-encoding|expect|upgrade|connection: *close)", re.IGNORECASE)
TOO_MUCH: Final = unavailable("Too many deliveries are being answered just now.")
_TOO_MUCH: Final = whole_answer(refuse(TOO_MUCH))


class Pressure:
    """Counts deliveries from their body's last byte to their answer; `within` in seconds.

    The pace of the last second is no promise about the next ones: a quarter of `within` is planned with.
    """

    def __init__(self, *, within: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._within, self._clock = within * _PLANNED, clock
        self.under_way = 0
        self._finished = 0
        self._fewest = 0
        self._began = clock()
        self._past: deque[tuple[float, int]] = deque(maxlen=_WINDOWS)
        self._most: float | None = None
        self._turn = 0.0
        self._watching: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    def admits(self) -> bool:
        """Whether a delivery that comes now can expect its answer in time."""
        if self._turn * _TURNS > self._within:
            return False
        self._look_back()
        return self._most is None or self.under_way < self._most

    def refuse_unread(self, data: bytes) -> bytes | None:
        """The whole 503 to `data`, if it is exactly one delivery and none is admitted; else None."""
        if self.admits() or not data.startswith(_POST):
            return None
        head = data.find(b"\r\n\r\n")
        length = _LENGTH.search(data, 0, head + 2) if head > 0 else None
        if length is None or len(data) != head + 4 + int(length[1]) or _SPECIAL.search(data, 0, head):
            return None
        _refused.inc()
        return _TOO_MUCH

    def begin(self) -> None:
        self.under_way += 1

    def end(self, *, answered: bool) -> None:
        """`answered`: its work was done; one that was turned away says nothing about the pace."""
        self.under_way -= 1
        self._finished += answered
        self._fewest = min(self._fewest, self.under_way)
        self._look_back()

    def _look_back(self) -> None:
        now = self._clock()
        if now - self._began < _WINDOW:
            return
        if self._fewest < _BUSY:
            self._past.clear()
        else:
            self._past.append((now - self._began, self._finished))
        self._finished, self._fewest, self._began = 0, self.under_way, now
        seconds = sum(took for took, _ in self._past)
        finished = sum(many for _, many in self._past)
        if not seconds or (not finished and seconds < _WINDOW * _WINDOWS):
            self._most = None
        else:
            self._most = max(_BUSY, finished / seconds * self._within)

    async def _watch(self) -> None:
        """How late a timer is: what one turn of the event loop takes. Once late is no sign: the machine may
        have been at something else; the shorter of two in a row counts.
        """
        before = 0.0
        while True:
            due = self._clock() + _TICK
            await asyncio.sleep(_TICK)
            late = self._clock() - due
            self._turn, before = min(late, before), late


_refused: Final = ANSWERS.labels("channel", TOO_MUCH.code)
