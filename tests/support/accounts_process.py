"""Accounts events in processes of their own, to be killed and frozen: `worker` and `web`.

The real runner, processor and route; only the use cases are the tests'.
"""

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from portaria.accounts.credentials import Signatures, Tokens
from portaria.accounts.http import PREFIX, IncomingEvents
from portaria.accounts.lost import LostDeliveries
from portaria.accounts.process import Processor
from portaria.accounts.use_cases import Failure, Success, UseCases
from portaria.asgi import Front, Receive, Scope, Send
from portaria.db.pool import Connection, Database
from portaria.jobs import Queue, Runner
from portaria.notices import open_notice
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]


async def held(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
    """Writes a notice of this process, says so in the file `say`, waits for the file `until`, if named."""
    title = f"{data['title']} por {os.getpid()}"
    await open_notice(
        transaction, organization_id=None, kind="test", severity="info", title=title, body=""
    )  # fmt: skip
    if "say" in data and say(Path(data["say"])):
        await until(Path(data["until"]).exists, within=60)
    return Success()


def say(path: Path) -> bool:
    """Leaves this process's number; False if another one has."""
    if path.exists():
        return False
    path.write_text(str(os.getpid()))
    return True


async def refuse(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
    return Failure("refused")


async def work(url: str, pace: dict[str, float], retry_delay: float) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    db = Database(url, name="test worker", size=8)
    await db.open()
    queue = Queue(db)
    known = {"HELD": held, "REFUSED": refuse}
    Processor(db, UseCases(known), retry_delay=retry_delay).register(queue)
    await Runner(queue, **pace).run(stop)
    await db.close()


async def serve(url: str, token: str, listener: socket.socket) -> None:
    db = Database(url, name="test web", size=8)
    lost = LostDeliveries(db)
    app = IncomingEvents(db, tokens=Tokens([token]), signatures=Signatures([]), lost=lost)

    @asynccontextmanager
    async def running():  # type: ignore[no-untyped-def]
        await db.open()
        yield
        await lost.stop()
        await db.close()

    async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError

    front = Front({PREFIX: app}, nothing, running, header_limit=32_768)
    config = uvicorn.Config(front, http="httptools", lifespan="on", log_config=None, access_log=False)
    await uvicorn.Server(config).serve(sockets=[listener])


@contextmanager
def worker(
    url: str, *, real_time: bool = False, site: Path | None = None, **pace: float
) -> Iterator[subprocess.Popen[bytes]]:
    """A worker, quick enough for tests unless `real_time`; killed at the end.

    `site`: a folder where further packages may be installed.
    """
    quick = {} if real_time else {"pulse": 0.1, "stale": 1.0, "poll": 0.05, "retry_delay": 0.1}
    options = [f"--{name}={value}" for name, value in {**quick, **pace}.items()]
    environment = {} if site is None else {"PYTHONPATH": str(site)}
    with _process(["worker", "--url", url, *options], environment) as process:
        yield process


@contextmanager
def web(url: str, token: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A web process and its base URL; killed at the end. The port listens from the start."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        fd = listener.fileno()
        arguments = ["web", "--url", url, "--token", token, "--fd", str(fd)]
        with _process(arguments, {}, fd) as process:
            listener.close()
            yield process, base


@contextmanager
def _process(
    arguments: list[str], environment: dict[str, str], *pass_fds: int
) -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-m", "tests.support.accounts_process", *arguments]
    process = subprocess.Popen(argv, cwd=ROOT, env={**os.environ, **environment}, pass_fds=pass_fds)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["worker", "web"])
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", default="")
    parser.add_argument("--fd", type=int, default=-1)
    parser.add_argument("--retry_delay", type=float, default=5.0)
    for name in ("pulse", "stale", "poll"):
        parser.add_argument(f"--{name}", type=float, default=argparse.SUPPRESS)
    given = vars(parser.parse_args())
    if given["role"] == "web":
        asyncio.run(serve(given["url"], given["token"], socket.socket(fileno=given["fd"])))
    else:
        pace = {name: given[name] for name in ("pulse", "stale", "poll") if name in given}
        asyncio.run(work(given["url"], pace, given["retry_delay"]))


if __name__ == "__main__":
    main()
