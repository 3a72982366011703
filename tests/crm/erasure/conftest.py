"""A whole front desk with houses in it, and the intake's back room."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import TestDatabase
from tests.console.workbench import front_desk
from tests.crm.erasure.desk import House
from tests.intake.conftest import room, shared_database
from tests.support.factory import Factory

__all__ = ["house", "room", "shared_database"]


@pytest.fixture
def house(database: TestDatabase, owner: psycopg.Connection, make: Factory) -> Iterator[House]:
    with front_desk(database.app_url) as desk:
        yield House(desk, owner, make)
