"""A real `portaria web` in a process of its own: its memory, its end, its death."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.http import INSTALLATION_SECRET, SECRET_KEY
from tests.support.waiting import until


class WebProcess:
    """A running web process and where it listens."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.process, self.url, self._port = process, f"http://127.0.0.1:{port}", port

    @property
    def pid(self) -> int:
        return self.process.pid

    def listens(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self._port)) == 0

    async def terminate(self, within: float = 20.0) -> None:
        """SIGTERM; returns when the process is gone."""
        self.process.send_signal(signal.SIGTERM)
        await until(lambda: self.process.poll() is not None, within=within)


def _spawn(env: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "portaria", "web"], env=env)


@asynccontextmanager
async def web_process(app_url: str, **settings: object) -> AsyncIterator[WebProcess]:
    """Killed at the end, if it still runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    given = {
        "secret_key": SECRET_KEY, "installation_secret": INSTALLATION_SECRET, "port": port,
        "log_level": "error", **settings,
    }  # fmt: skip
    env = {
        **os.environ,
        "DATABASE_URL": app_url,
        **{f"PORTARIA_{name.upper()}": str(value) for name, value in given.items()},
    }
    process = _spawn(env)
    started = WebProcess(process, port)
    try:
        await until(lambda: process.poll() is not None or started.listens(), within=60)
        assert process.poll() is None, "the web process did not start"
        yield started
    finally:
        process.kill()
        process.wait()
