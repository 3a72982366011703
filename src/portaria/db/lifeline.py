"""Processes that end with the one that started them, even when that one is killed with `kill -9`.

On Linux the kernel does it: a parent-death signal, which belongs to the *thread* that started the
child, so only the main thread may start one. Elsewhere a shell waits at a pipe whose other end this
process holds; when the pipe closes, it passes the signal on.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

_PR_SET_PDEATHSIG = 1
_LINUX = sys.platform.startswith("linux")
_libc = ctypes.CDLL(None, use_errno=True) if _LINUX else None
_WATCH = 'read -r _; kill -s "$1" "$2"'
_watchers: dict[int, subprocess.Popen[bytes]] = {}


def spawn(
    argv: Sequence[str],
    *,
    if_orphaned: signal.Signals,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    output: IO[bytes] | None = None,
    user: int | None = None,
    group: int | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Starts a process in a session of its own, which gets `if_orphaned` when this process dies.

    A session of its own: Ctrl-C reaches only the process that decides the order of stopping. With
    `user`, all of the caller's groups are dropped. Raises RuntimeError off the main thread, OSError
    when the program cannot be started. Whoever waits for the process calls `let_go` afterwards.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("a process tied to this one is started from the main thread")
    process = subprocess.Popen(
        argv,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        user=user,
        group=group,
        extra_groups=None if user is None else [],
        pass_fds=pass_fds,
        start_new_session=True,
        preexec_fn=_arm(if_orphaned) if _libc else None,
    )
    if not _libc:
        _watchers[process.pid] = subprocess.Popen(
            ["/bin/sh", "-c", _WATCH, "sh", if_orphaned.name.removeprefix("SIG"), str(process.pid)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
    return process


def let_go(process: subprocess.Popen[bytes]) -> None:
    """Forgets a process that has ended: its number may soon belong to another."""
    if watcher := _watchers.pop(process.pid, None):
        watcher.kill()
        watcher.wait()
        if watcher.stdin:
            watcher.stdin.close()


def _arm(sig: signal.Signals) -> Callable[[], None]:
    parent = os.getpid()

    def arm() -> None:
        # Runs in the child after the change of user, which would have cleared the setting.
        if _libc is None or _libc.prctl(_PR_SET_PDEATHSIG, sig.value, 0, 0, 0) != 0:
            os._exit(126)
        if os.getppid() != parent:  # died between fork and here: no signal will come
            os._exit(126)

    return arm
