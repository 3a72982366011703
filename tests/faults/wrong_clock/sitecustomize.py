"""A process whose wall clock is wrong by CLOCK_WRONG_BY seconds, and steps to the other side on SIGUSR1.

On the path of the processes under test, so that it is in force before anything else is imported.
"""

import datetime
import os
import signal
import time

_wrong_by = [float(os.environ.get("CLOCK_WRONG_BY", "0"))]
_time, _time_ns, _datetime = time.time, time.time_ns, datetime.datetime


class _Kind(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _datetime)


class WrongDatetime(_datetime, metaclass=_Kind):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return _datetime.now(tz) + datetime.timedelta(seconds=_wrong_by[0])

    @classmethod
    def utcnow(cls) -> datetime.datetime:
        return cls.now(datetime.UTC).replace(tzinfo=None)


WrongDatetime.__name__ = WrongDatetime.__qualname__ = "datetime"
WrongDatetime.__module__ = "datetime"
datetime.datetime = WrongDatetime  # type: ignore[misc]
time.time = lambda: _time() + _wrong_by[0]
time.time_ns = lambda: _time_ns() + int(_wrong_by[0] * 1e9)
signal.signal(signal.SIGUSR1, lambda *_: _wrong_by.append(-_wrong_by.pop()))
