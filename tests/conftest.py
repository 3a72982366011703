"""A real PostgreSQL for every test: one server per test process, one fresh database per test.

The tests run as the application's login, which is neither owner nor superuser: else row-level
security would never be in force (design 4).
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import psycopg
import pytest
import structlog
from psycopg.conninfo import make_conninfo

from portaria.db.embedded import EmbeddedServer
from portaria.db.migrate import migrate
from portaria.db.pool import Database
from tests.support.factory import Factory
from tests.support.postgres import start_test_server

APP_PASSWORD = "only-for-tests-9b1f"
_numbers = itertools.count(1)


_LONG = (
    "tests/crash/",
    "tests/bench/",
    "tests/backup/",
    "tests/faults/",
    "tests/security/",
    "tests/browser/",
)
"""Begun first (with `--no-loadscope-reorder`): whoever gets the longest last lets the others wait."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(_LONG))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The browser's driver leaves its event loop marked as running in this thread (it lives in a greenlet);
    an asynchronous test that comes next in the same process needs the mark gone. A command line that ran in
    this process has set up its logs.
    """
    structlog.reset_defaults()
    if "browser" not in item.keywords:
        asyncio._set_running_loop(None)


@dataclass(frozen=True)
class TestDatabase:
    """One test's own database. `owner_url` may do anything, `app_url` is what web and worker use."""

    __test__ = False
    name: str
    owner_url: str
    app_url: str


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    # These tests kill processes, not machines: in memory, without flushes, a database of one's own is cheap.
    # What promises durability runs on private servers that keep it: tests/crash, and tests/faults.
    started = start_test_server(
        tmp_path_factory.mktemp("postgres"), settings={"fsync": "off"}, in_memory=True
    )
    with psycopg.connect(started.url("postgres"), autocommit=True) as conn:
        conn.execute("CREATE DATABASE template_portaria")
    migrate(started.url("template_portaria"), app_password=APP_PASSWORD)  # roles too: they are cluster-wide
    yield started
    started.stop()


@pytest.fixture
def database(server: EmbeddedServer) -> Iterator[TestDatabase]:
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server.url("postgres"), autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} TEMPLATE template_portaria STRATEGY file_copy")
    owner_url = server.url(name)
    yield TestDatabase(name, owner_url, app_url(owner_url))
    with psycopg.connect(server.url("postgres"), autocommit=True) as conn:
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


def app_url(owner_url: str) -> str:
    """The application's own connection string for the owner's."""
    return make_conninfo(owner_url, user="portaria_app", password=APP_PASSWORD)


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Database]:
    """A pool as the application's login."""
    pool = Database(database.app_url, name="tests", size=16)
    await pool.open()
    yield pool
    await pool.close()


@pytest.fixture
def owner(database: TestDatabase) -> Iterator[psycopg.Connection]:
    """The owner's connection in autocommit, for setting things up and looking at them."""
    with psycopg.connect(database.owner_url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def make(owner: psycopg.Connection) -> Factory:
    """Makes organizations, users, channels and the like."""
    return Factory(owner)
