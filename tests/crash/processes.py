"""The processes under test: started, killed, frozen, and started again, with their output kept in files."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from portaria.db import lifeline

ROOT: Final = Path(__file__).parents[2]


class Managed:
    """One `portaria web` or `portaria worker`, started again whenever its time has come."""

    def __init__(self, name: str, environment: Mapping[str, str], log: Path) -> None:
        self.name, self.log = name, log
        self.environment = {**surroundings(), **environment}
        self.due: float | None = None
        self.thaws_at: float | None = None
        self.died_alone: list[int] = []
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def role(self) -> str:
        return self.name.partition("-")[0]

    def start(self) -> None:
        """From the main thread alone."""
        self.due = self.thaws_at = None
        with open(self.log, "ab") as output:
            self._popen = lifeline.spawn(
                [sys.executable, "-m", "portaria", self.role], if_orphaned=signal.SIGKILL,
                env=self.environment, cwd=ROOT, output=output,
            )  # fmt: skip

    def kill(self, down: float) -> None:
        """SIGKILL; started again in `down` seconds."""
        self.signal(signal.SIGKILL)
        if self._popen is not None:
            self._popen.wait()
            lifeline.let_go(self._popen)
        self.due = time.monotonic() + down

    def freeze(self, seconds: float) -> None:
        self.signal(signal.SIGSTOP)
        self.thaws_at = time.monotonic() + seconds

    def thaw(self) -> None:
        self.thaws_at = None
        self.signal(signal.SIGCONT)

    def look_after(self) -> None:
        """Starts it or lets it go on if that is due. One that died by itself is noted, and comes back."""
        now = time.monotonic()
        if self.due is None and self._popen is not None and (code := self._popen.poll()) is not None:
            self.died_alone.append(code)
            self.due = now
        if self.due is not None and now >= self.due:
            self.start()
        if self.thaws_at is not None and now >= self.thaws_at:
            self.thaw()

    def end(self, within: float) -> int | None:
        """SIGTERM; the exit code, None for one that had to be killed after `within` seconds."""
        if self._popen is None:
            return None
        self.thaw()
        self.signal(signal.SIGTERM)
        try:
            return self._popen.wait(within)
        except subprocess.TimeoutExpired:
            self.kill(0)
            return None

    def signal(self, number: signal.Signals) -> None:
        if self._popen is not None and self._popen.poll() is None:
            with suppress(ProcessLookupError):
                self._popen.send_signal(number)


def surroundings() -> dict[str, str]:
    """This process's environment without the settings of an installation that somebody has set here."""
    ours = ("PORTARIA_", "DATABASE_URL", "ACCOUNTS_WEBHOOK_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
