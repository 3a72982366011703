"""The installation under test: a private PostgreSQL, its proxies, two web processes, two workers."""

import asyncio
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx
import psycopg
import uvloop
from psycopg.conninfo import make_conninfo

from portaria.accounts.http import PREFIX as EVENTS_PATH
from portaria.db.embedded import EmbeddedServer
from portaria.db.migrate import migrate
from portaria.db.queries import load_queries
from portaria.identity.secret_box import SecretBox
from portaria.ids import uuid7
from tests.crash.plan import PROCESSES, STEPS
from tests.crash.processes import ROOT, Managed, free_port
from tests.crash.world import DeskAddress, Doors
from tests.support.factory import Factory
from tests.support.postgres import start_test_server
from tests.support.rotation import Desk, rotation
from tests.support.tcp_proxy import TcpProxy

Q = load_queries("tests.crash")
_T = TypeVar("_T")
HERE: Final = Path(__file__).parent
SECRETS: Final = {
    "PORTARIA_SECRET_KEY": "chave-inventada-0123456789-0123456789",
    "PORTARIA_INSTALLATION_SECRET": "segredo-inventado-da-instalacao",
    "ACCOUNTS_WEBHOOK_TOKEN": "token-inventado-do-accounts",
}


class BackgroundLoop:
    """An event loop in a thread: proxies and senders live there, while the main thread kills."""

    def __init__(self) -> None:
        self.loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def call(self, function: Callable[..., _T], *arguments: object) -> _T:
        """The function's result, called in the loop's own thread."""

        async def called() -> _T:
            return function(*arguments)

        return self.run(called())

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Installation:
    """All of it. `owner` is a direct connection; a killed database takes it along, `owner` makes it anew."""

    def __init__(self, server: EmbeddedServer, background: BackgroundLoop, folder: Path) -> None:
        self.server, self.background = server, background
        self.keep = False
        password = "only-for-tests-7c2e"
        migrate(server.url("postgres"), app_password=password)
        self.owner_url = server.url("postgres")
        self.app_url = make_conninfo(self.owner_url, user="portaria_app", password=password)
        self._owner: psycopg.Connection | None = None
        self.doors = furnish(self.owner)
        self.proxies = {name: TcpProxy(self.app_url) for name in PROCESSES}
        self.processes: dict[str, Managed] = {}
        self.urls: list[str] = []
        for name, proxy in self.proxies.items():
            background.run(proxy.start())
            port = free_port()
            environment = {
                **SECRETS, "DATABASE_URL": proxy.url, "PORTARIA_PORT": str(port),
                "PORTARIA_FORM_RATE": "0", "PORTARIA_REPLAY_EVERY": "1", "PORTARIA_LOG_LEVEL": "info",
                "PYTHONPATH": f"{HERE / 'use_cases'}:{ROOT / 'src'}:{ROOT}",
            }  # fmt: skip
            self.processes[name] = Managed(name, environment, folder / f"{name}.log")
            if name.startswith("web"):
                self.urls.append(f"http://127.0.0.1:{port}")

    @property
    def owner(self) -> psycopg.Connection:
        """A live connection as the owner; a killed server is waited for."""
        deadline = time.monotonic() + 60
        while self._owner is None or self._owner.closed:
            try:
                self._owner = psycopg.connect(self.owner_url, autocommit=True)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        return self._owner

    def ask(self, name: str, **parameters: object) -> list[tuple[Any, ...]]:
        """The rows of a query of `queries.sql`; asked anew when the server was killed meanwhile."""
        for _try in range(5):
            conn = self.owner
            try:
                cursor = conn.execute(Q[name], parameters)
                return cursor.fetchall() if cursor.description else []
            except psycopg.OperationalError:
                if not conn.closed:
                    raise
        raise AssertionError("the database is killed faster than it can be asked")

    def start(self) -> None:
        for process in self.processes.values():
            process.start()
        self.wait_until(lambda: all(map(_is_ready, self.urls)), within=60)

    def look_after(self) -> None:
        for process in self.processes.values():
            process.look_after()

    def wait_until(self, condition: Callable[[], object], *, within: float) -> bool:
        """Looks after the processes meanwhile; False when it took longer."""
        deadline = time.monotonic() + within
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.look_after()
            time.sleep(0.005)
        return True

    def wait_until_gone(self, query: str) -> bool:
        """Whether the count that `query` asks for comes to 0 within 15 s."""
        deadline = time.monotonic() + 15
        while self.owner.execute(query).fetchone() != (0,):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def kill_database(self, down: float) -> None:
        """SIGKILL to the postmaster; back, with its crash recovery, in `down` seconds and a few more."""
        self.server.kill()
        time.sleep(down)
        self.server.start()

    def calm(self) -> None:
        """Everything runs, and nothing is frozen or silent any more."""
        for process in self.processes.values():
            process.thaw()
        for proxy in self.proxies.values():
            self.background.call(proxy.cut_after, None)
        assert self.wait_until(lambda: all(map(_is_ready, self.urls)), within=90), "not ready after the kills"


@contextmanager
def installation(*, keep: bool = False) -> Iterator[Installation]:
    """A new one; its processes end with the block. Its logs stay if `keep`, or if the block fails."""
    folder, background = Path(tempfile.mkdtemp(prefix="portaria-crash-")), BackgroundLoop()
    server = start_test_server(settings={"log_min_messages": "fatal"})
    made: Installation | None = None
    try:
        made = Installation(server, background, folder)
        made.keep = keep
        yield made
    except BaseException:
        keep = True
        raise
    finally:
        if made is not None:
            keep |= made.keep
            for process in made.processes.values():
                process.kill(0)
            for proxy in made.proxies.values():
                background.run(proxy.stop())
        background.stop()
        server.stop()
        if keep:
            print(f"the logs are in {folder}")
        else:
            shutil.rmtree(folder)


def furnish(owner: psycopg.Connection) -> Doors:
    """Two organizations with a channel, a form and a rotation each; the gates, and what the checks need."""
    box = SecretBox(SECRETS["PORTARIA_SECRET_KEY"])
    owner.execute((HERE / "steps.sql").read_bytes())
    for number, step in enumerate(STEPS):
        owner.execute("INSERT INTO crash.gates (step, number) VALUES (%s, %s)", (step, number))
    make, desks = Factory(owner), []
    for number, members in enumerate((3, 4), 1):
        desk = Desk(owner, make, make.organization(f"Loja {number}"))
        desk.rule(rotation(*desk.members(*(f"Agente {n}" for n in range(members)))))
        secret, form = f"segredo-inventado-{number}-0123456789", f"formulario-{number}"
        channel = make.channel(
            desk.org, phone_number=f"+55113000999{number}", secret_ciphertext=box.encrypt(secret)
        )
        owner.execute(
            "INSERT INTO lead_forms (organization_id, id, path_token, name) VALUES (%s, %s, %s, 'Site')",
            (desk.org, uuid7(), form),
        )
        desks.append(DeskAddress(
            desk.org, f"/api/v1/webhooks/channel/{channel.token}", channel.account_id, secret,
            f"/api/v1/lead-forms/{form}",
        ))  # fmt: skip
    return Doors(
        tuple(desks), "/api/v1/webhooks/canal-da-instalacao", SECRETS["PORTARIA_INSTALLATION_SECRET"],
        EVENTS_PATH, SECRETS["ACCOUNTS_WEBHOOK_TOKEN"],
    )  # fmt: skip


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=1.0).status_code == 200
    except httpx.HTTPError:
        return False
