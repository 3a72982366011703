"""A database that answers, and refuses: read-only, no connection left. 503 until it takes writes again."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from portaria.db.embedded import EmbeddedServer
from tests.conftest import TestDatabase
from tests.faults.conftest import FrontDesk
from tests.support.waiting import until

END_THEIRS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND usename = 'portaria_app'"
)


@contextmanager
def read_only_server(server: EmbeddedServer, _name: str) -> Iterator[None]:
    """Set for the whole server, as hosts do when a disk fills up: it holds for sessions that are open."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as conn:
        for command in ("SET", "RESET"):
            value = " = on" if command == "SET" else ""
            conn.execute(f"ALTER SYSTEM {command} default_transaction_read_only{value}")
            conn.execute("SELECT pg_reload_conf()")
            if command == "SET":
                yield


@contextmanager
def read_only_sessions(server: EmbeddedServer, name: str) -> Iterator[None]:
    """Set for the database: it holds for the sessions that begin meanwhile, as long as they last."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        conn.execute(END_THEIRS, (name,))
        yield
        conn.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


@contextmanager
def no_connection_left(server: EmbeddedServer, name: str) -> Iterator[None]:
    """The limit is reached (53300), and the connections that there were are gone."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 0")
        conn.execute(END_THEIRS, (name,))
        yield
        conn.execute(f"ALTER DATABASE {name} CONNECTION LIMIT -1")


@pytest.mark.parametrize("fault", [read_only_server, read_only_sessions, no_connection_left])
async def test_refused_writes_are_503_and_all_comes_in_afterwards(
    desk: FrontDesk, server: EmbeddedServer, database: TestDatabase, fault: object
) -> None:
    await desk.send(15)
    with fault(server, database.name):  # type: ignore[operator]
        sending, tally = desk.begin(30)
        await until(lambda: sum(tally.answers.values()) >= 40)
        assert tally.answered == set()
        refused = {answer.split(" ", 1)[1] for answer in tally.answers}
        assert refused <= {"503 unavailable", "hung up", "TimeoutError"}
    await sending
    assert len(tally.answered) >= 20
    await desk.rest()
    assert desk.look() == {}
