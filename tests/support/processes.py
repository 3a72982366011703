"""Looking at real processes from outside."""

import codecs
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import psutil


def until(condition: Callable[[], object], *, within: float = 10.0) -> float:
    """Waits for `condition`; returns the seconds it took, fails after `within`."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < within, f"not within {within} s: {condition}"
        time.sleep(0.01)
    return time.monotonic() - started


def running(pid: int) -> bool:
    """True while the process runs; one that ended and that nobody waited for does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def told(report: Path) -> bool:
    """Whether something stands in a fork's report: it is there before it is written."""
    return report.exists() and report.stat().st_size > 0


@contextmanager
def forked(body: Callable[[Path], None], report: Path, *, uid: int | None = None) -> Iterator[int]:
    """Runs `body(report)` in a fork, as user `uid` if given, and yields its pid; killed at the end.

    A fork, not a new interpreter: that one may lie where `uid` cannot go. What goes wrong in `body` is
    written to `report` and makes the fork's exit code 1.
    """
    codecs.lookup("ascii")  # loaded when first asked for, which another user may not be able to
    pid = os.fork()
    if pid == 0:
        _run(body, report, uid)
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _run(body: Callable[[Path], None], report: Path, uid: int | None) -> NoReturn:
    code = 1
    try:
        if uid is not None:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        body(report)
        code = 0
    except BaseException as error:
        report.write_text(f"{type(error).__name__}: {error}")
    finally:
        os._exit(code)
