"""The process tree of `portaria dev`: every child runs until the parent is told to stop (spec 7).

A child that dies is back within 2 s: at once the first time, later after a growing pause, so that one
that cannot live does not spin. SIGINT, SIGTERM and SIGHUP end everything in order: first the children,
then the foundations they stand on (PostgreSQL). A second signal ends it by force. When this process is
killed, the children die with it (`db.lifeline`).
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from portaria.db import lifeline

_POLL = 0.1
_LONGEST_PAUSE = 1.5
_SETTLED = 10.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Child(Protocol):
    """Something that runs. A foundation starts before the others and stops after them."""

    @property
    def name(self) -> str: ...
    @property
    def foundation(self) -> bool: ...
    @property
    def exit_code(self) -> int | None: ...
    def spawn(self) -> None: ...
    def alive(self) -> bool: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


@dataclass
class Process:
    """A child process; `env` None: this process's environment."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] | None = None
    foundation: bool = False
    _popen: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def pid(self) -> int | None:
        return self._popen.pid if self._popen else None

    @property
    def exit_code(self) -> int | None:
        return self._popen.returncode if self._popen else None

    def spawn(self) -> None:
        if self._popen:
            self.kill()  # what a dead child started may still hold its port
        self._popen = lifeline.spawn(self.argv, if_orphaned=signal.SIGKILL, env=self.env)

    def alive(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    def terminate(self) -> None:
        if self._popen and self.alive():
            self._popen.terminate()

    def kill(self) -> None:
        if self._popen:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.wait()
            lifeline.let_go(self._popen)


def supervise(
    children: Sequence[Child],
    *,
    on_ready: Callable[[], None] | None = None,
    ready: Callable[[], bool] = lambda: True,
    grace: float = 5.0,
) -> int:
    """Keeps `children` running until a signal says stop; returns 0.

    Children that already run are taken over. `ready` is asked between the rounds until it says yes;
    then `on_ready` is called once; both must be quick. Each wave of children has `grace` seconds to
    end (a foundation half of that) before it is killed. Raises what the first start of a child raises,
    after ending the others. From the main thread only.
    """
    announce = on_ready
    with _signals() as (stop, hurry):
        try:
            watched = [_Watched(child) for child in sorted(children, key=lambda c: not c.foundation)]
            while not stop.wait(_POLL):
                for one in watched:
                    one.keep()
                if announce and ready():
                    announce()
                    announce = None
        finally:
            _end([c for c in children if not c.foundation], grace, hurry)
            _end([c for c in children if c.foundation], grace / 2, hurry)
    return 0


class _Watched:
    """A child with its record of ends."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.ends = 0
        self.due: float | None = None
        if not child.alive():
            child.spawn()
        self.started = time.monotonic()

    def keep(self) -> None:
        now = time.monotonic()
        if self.due is None:
            if self.child.alive():
                return
            self.ends = self.ends + 1 if now - self.started < _SETTLED else 1
            self.due = now + min(0.25 * (self.ends - 1), _LONGEST_PAUSE)
            _say(f"{self.child.name} ended ({_how(self.child.exit_code)}); starting it again")
        if now >= self.due:
            self.due, self.started = None, now
            try:
                self.child.spawn()
            except Exception as error:  # whatever it is, the next round tries again
                _say(f"{self.child.name} could not be started: {error}")


def _end(children: Iterable[Child], grace: float, hurry: threading.Event) -> None:
    waiting = [child for child in children if child.alive()]
    for child in waiting:
        child.terminate()
    deadline = time.monotonic() + grace
    while waiting and time.monotonic() < deadline and not hurry.is_set():
        hurry.wait(0.02)
        waiting = [child for child in waiting if child.alive()]
    for child in waiting:
        _say(f"{child.name} did not end; killing it")
    for child in children:
        child.kill()


@contextmanager
def _signals() -> Iterator[tuple[threading.Event, threading.Event]]:
    """Two events: set by the first and by the second signal."""
    stop, hurry = threading.Event(), threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        (hurry if stop.is_set() else stop).set()

    # Under nohup, SIGHUP stays ignored.
    wanted = [s for s in _SIGNALS if s != signal.SIGHUP or signal.getsignal(s) != signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in wanted}
    try:
        yield stop, hurry
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _how(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"by {signal.Signals(-exit_code).name}"
    return f"exit code {exit_code}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
