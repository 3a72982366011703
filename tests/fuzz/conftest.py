"""Real processes to throw things at, and what must hold afterwards whatever was thrown.

`FUZZ` is how many inputs a run makes, spread over its tests: 300 in the suite, where they are the same
every time; 20000 by `make fuzz`, other ones every time.
"""

import os
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from portaria.db.embedded import EmbeddedServer
from portaria.identity.secret_box import SecretBox
from tests.conftest import TestDatabase, app_url
from tests.fuzz.target import Target
from tests.support.factory import Factory
from tests.support.http import SECRET_KEY

settings.register_profile(
    "fuzz", deadline=None, database=None, derandomize="FUZZ" not in os.environ, print_blob=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@pytest.fixture(autouse=True)
def profile() -> Iterator[None]:
    before = settings.get_current_profile_name()
    settings.load_profile("fuzz")
    yield
    settings.load_profile(before)


@pytest.fixture(scope="session")
def target(server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """One web and one worker process in front of a database of their own."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as conn:
        conn.execute("CREATE DATABASE fuzz TEMPLATE template_portaria")
    database = TestDatabase("fuzz", server.url("fuzz"), app_url(server.url("fuzz")))
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        made = Target(database, Factory(owner), SecretBox(SECRET_KEY), tmp_path_factory.mktemp("fuzz"))
        with made.running():
            yield made


@pytest.fixture(autouse=True)
def unharmed(target: Target) -> Iterator[None]:
    """After each test: both processes live, neither told of a fault, and an honest delivery is taken in."""
    yield
    target.check()
