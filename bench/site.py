"""An installation to measure: the embedded server, a database, real `portaria web` and `worker` processes."""

import asyncio
import fcntl
import http.client
import os
import secrets
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import Popen
from typing import Any

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from bench.load import Plan
from portaria.cli.demo import Demo, ensure_demo
from portaria.cli.dev import child_environment
from portaria.cli.dev_home import DevKeys
from portaria.db import lifeline
from portaria.db.embedded import EmbeddedServer
from portaria.db.migrate import migrate
from portaria.db.pool import Database
from portaria.identity.secret_box import SecretBox

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".bench"
# How a development installation differs from one in production is not measured.
_AS_IN_PRODUCTION = ("PORTARIA_LOG_FORMAT", "PORTARIA_LOG_LEVEL", "PORTARIA_FORM_RATE")
_fresh: dict[EmbeddedServer, "Site"] = {}


@contextmanager
def embedded_server(**settings: str) -> Iterator[EmbeddedServer]:
    """A server of its own on the disk of the repository, gone afterwards."""
    WORK.mkdir(exist_ok=True)
    folder = WORK / f"cluster-{secrets.token_hex(4)}"
    server = EmbeddedServer(folder, settings=settings)
    server.start()
    try:
        yield server
    finally:
        server.kill()
        server.erase()


@dataclass(frozen=True)
class Site:
    """One migrated database with the demo organization of `portaria dev`."""

    server: EmbeddedServer
    name: str
    keys: DevKeys
    demo: Demo

    @property
    def owner_url(self) -> str:
        return self.server.url(self.name)

    @property
    def app_url(self) -> str:
        return make_conninfo(self.owner_url, user="portaria_app", password=self.keys.app_password)

    @property
    def path(self) -> str:
        return f"/api/v1/webhooks/channel/{self.demo.channel_token}"

    def copy(self, name: str) -> "Site":
        """A database of its own with the same content."""
        self.server.create_database(name, template=self.name)
        return replace(self, name=name)

    def plan(self, port: int, **more: Any) -> Plan:
        """Signed messages for the demo channel; every plan has ids of its own."""
        made = {
            "port": port,
            "path": self.path,
            "account_id": self.demo.account_id,
            "secret": self.demo.channel_secret,
        }
        return Plan(**{"run": secrets.token_hex(6), **made, **more})

    @contextmanager
    def process(self, kind: str, *, port: int = 0, **settings: str) -> Iterator[Popen[bytes]]:
        """`portaria <kind>` with the settings an installation has by default."""
        environment = {**os.environ, **child_environment(self.keys, self.app_url, port or free_port())}
        for name in _AS_IN_PRODUCTION:
            environment.pop(name, None)
        argv = [sys.executable, "-m", "portaria", kind]
        with running(argv, {**environment, **settings}) as process:
            yield process

    @contextmanager
    def web(self, **settings: str) -> Iterator[tuple[int, Popen[bytes]]]:
        """The web process, once it answers: its port and the process."""
        port = free_port()
        with self.process("web", port=port, **settings) as process:
            wait_for_http(port, process)
            yield port, process

    def value(self, query: str, *parameters: Any) -> Any:
        """The only value of the only row, asked as the owner."""
        with psycopg.connect(self.owner_url, autocommit=True) as conn:
            row = conn.execute(query, parameters).fetchone()
        return None if row is None else row[0]

    def waiting(self) -> int:
        """Accepted rows that wait for their effects: by their own index, for it is asked while something is
        timed.
        """
        return int(
            self.value(
                "SELECT count(*) FROM webhook_events_log WHERE processed_at IS NULL AND valid_signature"
            )
        )

    def drained(self, within: float) -> float | None:
        """Seconds until no accepted row waits; None when some still do after `within` seconds."""
        began = time.monotonic()
        while time.monotonic() - began < within:
            if self.waiting() == 0:
                return time.monotonic() - began
            time.sleep(0.1)
        return None

    def sql(self, text: str, **parameters: object) -> None:
        """Statements run as the owner, by file or text, with no limits."""
        with psycopg.connect(self.owner_url, autocommit=True) as conn:
            conn.execute(text, parameters or None)


def make_site(server: EmbeddedServer, name: str) -> Site:
    """A fresh database, brought to this version, with its demo organization: a copy of the server's first."""
    if server not in _fresh:
        keys = DevKeys()
        server.create_database("fresh")
        migrate(server.url("fresh"), app_password=keys.app_password)
        app_url = make_conninfo(server.url("fresh"), user="portaria_app", password=keys.app_password)
        _fresh[server] = Site(server, "fresh", keys, asyncio.run(_demo(app_url, keys)))
    return _fresh[server].copy(name)


async def _demo(app_url: str, keys: DevKeys) -> Demo:
    db = Database(app_url, name="bench", size=2)
    await db.open()
    try:
        return await ensure_demo(db, SecretBox(keys.secret_key), keys)
    finally:
        await db.close()


@contextmanager
def running(
    argv: list[str], environment: Mapping[str, str], *, cwd: Path | None = None
) -> Iterator[Popen[bytes]]:
    """A process that ends with this one, killed with its children at the end: what it would still finish when
    asked to stop is no part of what was measured. Its output goes to `.bench/processes.log`.
    """
    WORK.mkdir(exist_ok=True)
    with open(WORK / "processes.log", "ab") as output:
        process = lifeline.spawn(
            argv, if_orphaned=signal.SIGKILL, env=environment, output=output, cwd=cwd or HERE.parent
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        lifeline.let_go(process)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_http(port: int, process: Popen[bytes], within: float = 60.0) -> float:
    """Seconds until something answers on the port. Raises RuntimeError when the process ends or is late."""
    began = time.monotonic()
    while time.monotonic() - began < within:
        if process.poll() is not None:
            raise RuntimeError(f"the process ended with {process.returncode}; see {WORK / 'processes.log'}")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            return time.monotonic() - began
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"nothing answered on port {port} in {within:.0f} s")


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its children so far, those that ended included."""
    process = psutil.Process(pid)
    mine = process.cpu_times()
    total = mine.user + mine.system + mine.children_user + mine.children_system
    for child in process.children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


def resident_mib(pid: int) -> float:
    return float(psutil.Process(pid).memory_info().rss) / 2**20


def database_bytes(site: Site) -> int:
    return int(site.value("SELECT pg_database_size(current_database())"))


def clear_leftovers() -> None:
    """Removes what killed runs left; a run that is under way holds its server's lock."""
    for folder in WORK.glob("cluster-*"):
        with suppress(OSError), open(folder / "lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
