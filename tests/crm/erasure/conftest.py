"""A whole front desk with houses in it, and the intake's back room."""

from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from portaria.db.embedded import EmbeddedServer
from portaria.db.pool import Database
from tests.conftest import TestDatabase
from tests.console.workbench import front_desk
from tests.crm.erasure.desk import House
from tests.intake.backroom import Backroom, empty, one_database
from tests.support.factory import Factory


@pytest.fixture
def house(database: TestDatabase, owner: psycopg.Connection, make: Factory) -> Iterator[House]:
    with front_desk(database.app_url) as desk:
        yield House(desk, owner, make)


@pytest.fixture(scope="module")
def erasure_database(server: EmbeddedServer) -> Iterator[TestDatabase]:
    with one_database(server, "erasure") as made:
        yield made


@pytest.fixture
async def room(erasure_database: TestDatabase) -> AsyncIterator[Backroom]:
    with psycopg.connect(erasure_database.owner_url, autocommit=True) as owner:
        empty(owner)
        db = Database(erasure_database.app_url, name="tests", size=16)
        await db.open()
        yield Backroom(owner, db, erasure_database)
        await db.close()
