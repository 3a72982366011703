"""Real `portaria` processes, and everything they say."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(**settings: str) -> dict[str, str]:
    """The surroundings of a process: none of ours but these."""
    ours = ("PORTARIA_", "DATABASE_URL", "ACCOUNTS_WEBHOOK")
    return {k: v for k, v in os.environ.items() if not k.startswith(ours)} | settings


def run(*words: str, within: float = 60.0, **settings: str) -> "subprocess.CompletedProcess[str]":
    """A command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "portaria", *words], env=environment(**settings), capture_output=True,
        text=True, timeout=within, cwd=ROOT, check=False,
    )  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    folder: Path, port: int, settings: Mapping[str, str], names: Sequence[str] = ("web", "worker")
) -> Iterator[Callable[[], str]]:
    """A web process, listening, and a worker, or one of them; yields what they have said so far."""
    logs, processes = [], []
    for name in names:
        log = folder / f"{name}.log"
        logs.append(log)
        with log.open("wb") as out:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "portaria", name], stdout=out, stderr=out, cwd=ROOT,
                    env=environment(PORTARIA_PORT=str(port), **settings),
                )
            )  # fmt: skip

    def said() -> str:
        return "\n".join(log.read_text(errors="replace") for log in logs)

    def listens() -> bool:
        assert all(process.poll() is None for process in processes), said()
        if "web" not in names:
            return True
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        until(listens)
        yield said
    finally:
        for process in processes:
            process.kill()
            process.wait()


def until(condition: Callable[[], object], within: float = 60.0) -> None:
    ends = time.monotonic() + within
    while not condition():
        assert time.monotonic() < ends, f"not within {within} s"
        time.sleep(0.02)
