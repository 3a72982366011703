"""`database` for the modules that import it: one for all their tests, emptied before each, which costs a
tenth of a new one. Not for tests that change the schema, save by `Desk.failing`.
"""

import psycopg
import pytest

from tests.conftest import TestDatabase
from tests.intake.backroom import empty


@pytest.fixture
def database(desk_database: TestDatabase) -> TestDatabase:
    with psycopg.connect(desk_database.owner_url, autocommit=True) as owner:
        empty(owner)
    return desk_database
