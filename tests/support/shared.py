"""One database for all tests of a module: each has an organization of its own, which is all it looks at.

A module asks for it where no test needs what only a database of its own can give.
"""

import itertools
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from portaria.db.embedded import EmbeddedServer
from portaria.db.pool import Database
from tests.conftest import TestDatabase, app_url
from tests.support.factory import Factory
from tests.support.rotation import Desk

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def shared(server: EmbeddedServer) -> Iterator[TestDatabase]:
    name = f"shared_{next(_numbers)}"
    with psycopg.connect(server.url("postgres"), autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} TEMPLATE template_portaria")
        yield TestDatabase(name, server.url(name), app_url(server.url(name)))
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def shared_owner(shared: TestDatabase) -> Iterator[psycopg.Connection]:
    with psycopg.connect(shared.owner_url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def desk(shared_owner: psycopg.Connection) -> Desk:
    """An organization with nothing in it."""
    return Desk.open(shared_owner, Factory(shared_owner))


@pytest.fixture
async def pool(shared: TestDatabase) -> AsyncIterator[Database]:
    """The shared database as the application's login."""
    pool = Database(shared.app_url, name="tests", size=8)
    await pool.open()
    yield pool
    await pool.close()
