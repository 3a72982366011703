"""PostgreSQL 16 out of a wheel, for `portaria dev` and the tests: nothing to install or configure.

It listens on a socket only, asks for a password, and ends with the process that started it. What
was committed survives any kill: durability stays on.

Two locks, both freed by the kernel whatever happens. `<data-dir>/lock` is held by whoever started
the server: a second one is refused. `<data-dir>/postgres.lock` is inherited by the server and all
its processes: once it can be taken, nothing of an earlier server is alive, and a `postmaster.pid`
that a kill left behind means nothing, whoever has that number by now.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql

from portaria.db import cluster, lifeline, lodging

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "cluster_name": "portaria",
}
_LOG_BYTES = 16 * 1024 * 1024


class EmbeddedServerError(Exception):
    """The server could not be started; the message says in plain words why."""


class EmbeddedServer:
    """One PostgreSQL under `data_dir`; `settings` are added to its configuration."""

    name = "postgres"
    foundation = True

    def __init__(self, data_dir: Path, *, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        self.data_dir = data_dir.resolve()
        self.settings = {**_SETTINGS, **settings}
        self._process: subprocess.Popen[bytes] | None = None
        self._lodging: lodging.Lodging | None = None
        self._claim: int | None = None

    def start(self, *, within: float = 120.0) -> None:
        """Returns when the server accepts connections; recovery after a crash may take its time.

        Raises EmbeddedServerError: data directory in use or out of reach, not ready in `within` seconds.
        """
        self.spawn()
        deadline = time.monotonic() + within
        while not self.ready():
            late = time.monotonic() > deadline
            if late or not self.alive():
                self.stop()
                problem = f"was not ready in {within:.0f} s" if late else "did not start"
                raise EmbeddedServerError(f"PostgreSQL {problem}:\n{self._last_words()}")
            time.sleep(0.02)

    def spawn(self) -> None:
        """Starts the process without waiting for it to be ready; from the main thread only."""
        if self._process:
            lifeline.let_go(self._process)
        try:
            self._take_data_dir()
            leftovers = self._wait_for_leftovers()
            try:
                self._process = self._launch(leftovers)
            finally:
                os.close(leftovers)
        except (lodging.NoLodging, OSError) as error:
            raise EmbeddedServerError(str(error)) from error

    def ready(self) -> bool:
        """True once this very process accepts connections."""
        try:
            lines = (self._place.cluster / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def alive(self) -> bool:
        """True while the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How the last process ended; negative: by that signal."""
        return self._process.returncode if self._process else None

    @property
    def pid(self) -> int | None:
        """The running server's process id."""
        return self._process.pid if self._process and self.alive() else None

    @property
    def bin_dir(self) -> Path:
        """The folder of `psql`, `pg_dump` and the rest, for whoever runs this."""
        return lodging.programs()

    def url(self, dbname: str = "portaria") -> str:
        """The owner's URL, password included, for psycopg, libpq's programs and dbmate."""
        query = {"host": self._place.socket_dir, "port": 5432, "sslmode": "disable"}
        where = urlencode(query, safe="/", quote_via=quote)
        password = cluster.password(self.data_dir)
        return f"postgresql://{cluster.OWNER}:{password}@/{quote(dbname, safe='')}?{where}"

    def create_database(self, name: str = "portaria", *, template: str = "template1") -> None:
        """Creates a database unless it is there."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as conn:
            if conn.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
                return
            query = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            conn.execute(query.format(sql.Identifier(name), sql.Identifier(template)))

    def terminate(self) -> None:
        """Asks for a fast shutdown: open transactions are rolled back, connections ended."""
        if self._process and self.alive():
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Ends the server at once, as a crash would (SIGKILL); what was committed stays."""
        if self._process:
            self._process.kill()
            self._process.wait()
            lifeline.let_go(self._process)

    def stop(self, grace: float = 5.0) -> None:
        """Stops the server: fast, after `grace` seconds immediately, 2 s later by force."""
        for sig, patience in ((signal.SIGINT, grace), (signal.SIGQUIT, 2.0)):
            if self._process and self.alive():
                self._process.send_signal(sig)
                try:
                    self._process.wait(patience)
                except subprocess.TimeoutExpired:
                    continue
        self.kill()
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None

    def erase(self) -> None:
        """Deletes everything of a stopped server, the data directory included."""
        for folder in (self._place.socket_dir, self._place.home, self.data_dir):
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def _place(self) -> lodging.Lodging:
        if self._lodging is None:
            self._lodging = lodging.settle(self.data_dir)
        return self._lodging

    def _take_data_dir(self) -> None:
        if self._claim is None and self._place:
            claim = os.open(self.data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            if not _take(claim):
                holder = os.pread(claim, 20, 0).decode().strip()
                os.close(claim)
                raise EmbeddedServerError(f"{self.data_dir} is already in use, by process {holder}")
            os.ftruncate(claim, 0)
            os.pwrite(claim, f"{os.getpid()}\n".encode(), 0)
            self._claim = claim

    def _wait_for_leftovers(self, seconds: float = 15.0) -> int:
        """Takes the lock that an earlier server's processes hold until the last of them is gone."""
        lock = os.open(self.data_dir / "postgres.lock", os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + seconds
        while not _take(lock):
            if time.monotonic() > deadline:
                os.close(lock)
                raise EmbeddedServerError(f"an earlier server of {self.data_dir} is still running")
            time.sleep(0.02)
        return lock

    def _launch(self, leftovers: int) -> subprocess.Popen[bytes]:
        place = self._place
        cluster.make(self.data_dir, place)
        (place.cluster / "postmaster.pid").unlink(missing_ok=True)
        argv = [str(place.programs / "postgres"), "-D", str(place.cluster), "-k", str(place.socket_dir)]
        # What clients wrote may stand in the log.
        with open(self._log_file(), "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as log:
            return lifeline.spawn(
                [*argv, *(f"-c{key}={value}" for key, value in self.settings.items())],
                if_orphaned=signal.SIGINT,  # a fast shutdown
                env=cluster.ENV,
                cwd=Path("/"),
                output=log,
                user=place.uid,
                group=place.gid,
                pass_fds=[leftovers],
            )

    def _log_file(self) -> Path:
        path = self.data_dir / "postgres.log"
        if path.exists() and path.stat().st_size > _LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        return path

    def _last_words(self) -> str:
        return "\n".join(self._log_file().read_text(errors="replace").splitlines()[-5:])


def _take(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
