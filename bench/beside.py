"""What stands beside: the bare server, the naive way, and peers, each in an environment of its own.

An environment is made on demand under `.bench/venvs` from pinned versions with hashes
(`bench/peers/<name>.txt`). A peer that cannot be installed or started is reported, not fatal.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.load import Plan
from bench.site import HERE, WORK, free_port, running, wait_for_http
from portaria.db.embedded import EmbeddedServer

PEERS = HERE / "peers"
_LEFT_OUT = "not installed yet; a full run installs it"
_SECRET = "segredo-do-banco-de-provas-0123456789"


class NotInstalled(Exception):
    """A peer's environment could not be made; the message says what pip said."""


@dataclass(frozen=True)
class Beside:
    """Something that answers webhooks. `pins`: the file with its versions, None for our own environment."""

    name: str
    label: str
    command: Callable[[Path, int], list[str]]
    pins: str | None = None
    path: str = "/webhook"
    body: str = "zernio"
    before: Callable[[Path, dict[str, str], Path], None] | None = None


def _uvicorn(app: str) -> Callable[[Path, int], list[str]]:
    def command(python: Path, port: int) -> list[str]:
        return [
            str(python), "-m", "uvicorn", f"{app}:app", "--app-dir", str(PEERS), "--port", str(port),
            "--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning",
            "--backlog", "4096",
        ]  # fmt: skip

    return command


def _gunicorn(python: Path, port: int) -> list[str]:
    return [
        str(python), "-m", "gunicorn", "--chdir", str(PEERS), "-b", f"127.0.0.1:{port}", "-w", "2",
        "--worker-class", "gthread", "--threads", "8", "--log-level", "warning", "--keep-alive", "75",
        "django_gunicorn:application",
    ]  # fmt: skip


def _make_django_table(python: Path, environment: dict[str, str], _home: Path) -> None:
    subprocess.run([str(python), str(PEERS / "django_gunicorn.py")], env=environment, check=True)


def _hookspool(python: Path, _port: int) -> list[str]:
    return [str(python), "-m", "hookspool", "intake"]


def _configure_hookspool(python: Path, environment: dict[str, str], home: Path) -> None:
    secret = home / "secret"
    secret.write_text(_SECRET)
    secret.chmod(0o600)
    (home / "config.toml").write_text(
        f"""[intake]
listen = "127.0.0.1:{environment["PORT"]}"
threads = 64

[bobbins.zernio]
bobbin = "hookspool.webhook"
secrets.secret = {{ file = "{secret}" }}
outputs = {{ "*" = "http:sink" }}

[bobbins.zernio.settings]
scheme = "hmac-sha256-hex"
header = "X-Zernio-Signature"
key = ["conversation.id"]
sender_retries = true

[destinations."http:sink"]
url = "http://127.0.0.1:9/"
""",
        encoding="utf-8",
    )
    subprocess.run(
        [str(python), "-m", "hookspool", "migrate"], env=environment, check=True, capture_output=True
    )


BARE = Beside("bare", "the same web server, no database", _uvicorn("bare"), body="plain")
NAIVE = Beside("naive", "one INSERT, one commit per request", _uvicorn("naive"))
ALL_PEERS = (
    Beside("hookrelay", "hookrelay", _uvicorn("hookrelay_app"), "hookrelay"),
    Beside(
        "hookspool", "hookspool", _hookspool, "hookspool", path="/hooks/zernio", before=_configure_hookspool
    ),
    Beside(
        "fastapi_procrastinate", "FastAPI + Procrastinate", _uvicorn("fastapi_procrastinate"),
        "fastapi_procrastinate",
    ),
    Beside(
        "django_gunicorn", "Django under gunicorn", _gunicorn, "django_gunicorn", before=_make_django_table
    ),
)  # fmt: skip


@contextmanager
def serving(beside: Beside, server: EmbeddedServer, *, install: bool = True) -> Iterator[Plan]:
    """Runs it on a database of its own. Raises NotInstalled, RuntimeError, CalledProcessError."""
    python = environment_of(beside.pins, install=install) if beside.pins else Path(sys.executable)
    database, port = f"beside_{beside.name}", free_port()
    server.create_database(database)
    home = WORK / f"home-{beside.name}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    environment = {
        **os.environ, "DATABASE_URL": server.url(database), "SECRET": _SECRET, "PORT": str(port),
        "HOOKSPOOL_HOME": str(home),
    }  # fmt: skip
    if beside.before is not None:
        beside.before(python, environment, home)
    with running(beside.command(python, port), environment, cwd=home) as process:
        wait_for_http(port, process)
        yield Plan(port=port, path=beside.path, body=beside.body, account_id="a" * 24, secret=_SECRET)
    shutil.rmtree(home, ignore_errors=True)


def environment_of(pins: str, *, install: bool = True) -> Path:
    """The interpreter of the environment with these pins; made when they changed. Raises NotInstalled."""
    file = PEERS / f"{pins}.txt"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    folder = WORK / "venvs" / pins
    stamp, python = folder / "pins.sha256", folder / "bin" / "python"
    if stamp.exists() and stamp.read_text() == digest:
        return python
    if not install:
        raise NotInstalled(_LEFT_OUT)
    folder.parent.mkdir(parents=True, exist_ok=True)
    install = ["-m", "pip", "install", "-qq", "--disable-pip-version-check", "--root-user-action=ignore"]
    steps = (
        [str(HERE.parent / "scripts" / "make-venv"), str(folder)],
        [str(python), *install, "--require-hashes", "-r", str(file)],
    )
    for argv in steps:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotInstalled(done.stderr.strip()[-500:])
    stamp.write_text(digest)
    return python


def node_environment(*, install: bool = True) -> Path:
    """A copy of `bench/peers/node` with the packages that its lock file names. Raises NotInstalled."""
    digest = hashlib.sha256((PEERS / "node" / "package-lock.json").read_bytes()).hexdigest()
    folder = WORK / "node"
    stamp = folder / "lock.sha256"
    made = stamp.exists() and stamp.read_text() == digest
    if shutil.which("npm") is None:
        raise NotInstalled("there is no Node.js with npm on this machine")
    if not (made or install):
        raise NotInstalled(_LEFT_OUT)
    shutil.copytree(PEERS / "node", folder, dirs_exist_ok=True)
    if not made:
        argv = ["npm", "ci", "--no-audit", "--no-fund", "--silent"]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotInstalled(done.stderr.strip()[-500:] or "npm ci failed")
        stamp.write_text(digest)
    return folder


def versions_of(pins: str) -> dict[str, str]:
    """Direct requirements with the versions their file pins."""
    wanted = [
        line.split("[")[0].strip() for line in (PEERS / f"{pins}.in").read_text().splitlines() if line.strip()
    ]
    pinned = dict(
        line.split(" ")[0].split("==")
        for line in (PEERS / f"{pins}.txt").read_text().splitlines()
        if "==" in line and not line.startswith(" ")
    )
    return {name: pinned[name] for name in wanted if name in pinned}
