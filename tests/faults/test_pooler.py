"""PgBouncer in transaction mode between us and the database (E10, E11): the same promises.

What an installation sets for it: `ignore_startup_parameters = options`, and our limits on the login instead:

    ALTER ROLE portaria_app SET idle_in_transaction_session_timeout = '10s';
    ALTER ROLE portaria_app SET statement_timeout = '60s';

Nothing is heard through it: a changed channel is seen within its cache's time to live, new jobs and new facts
by looking for them.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.conftest import APP_PASSWORD, TestDatabase
from tests.crash.processes import free_port
from tests.faults.conftest import OURS, OpenFrontDesk
from tests.support.processes import until as until_now
from tests.support.waiting import until

_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
PGBOUNCER = shutil.which(os.environ.get("PGBOUNCER", "pgbouncer"), path=_PATH)
pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is missing: scripts/ensure-pgbouncer")

POOL = 4
"""Connections to the server, for some thirty of ours."""


@pytest.fixture
def pooled_url(database: TestDatabase) -> Iterator[str]:
    """The app's URL by way of a pooler of our own."""
    server, port = conninfo_to_dict(database.app_url), free_port()
    folder = Path("/tmp") / f"portaria-pooler-{os.getpid()}"
    folder.mkdir(mode=0o755)
    login = f"user=portaria_app password={APP_PASSWORD}"
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n{database.name} = host={server['host']} port={server['port']} {login}\n"
        "[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
        f"pool_mode = transaction\ndefault_pool_size = {POOL}\nmax_client_conn = 200\n"
        "ignore_startup_parameters = options\nlogfile = \npidfile =\n"
    )
    # Not as root: as whoever runs the server, who alone may enter its socket's folder.
    owner = Path(str(server["host"])).stat()
    as_whom = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    with subprocess.Popen(
        [str(PGBOUNCER), "-q", str(folder / "pgbouncer.ini")], cwd="/", stderr=subprocess.DEVNULL, **as_whom
    ) as process:  # type: ignore[call-overload]
        until_now(lambda: _listens(port))
        yield make_conninfo(database.app_url, host="127.0.0.1", port=port)
        process.kill()
    shutil.rmtree(folder)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def limits(database: TestDatabase) -> Iterator[None]:
    with psycopg.connect(database.owner_url, autocommit=True) as conn:
        for setting, value in (("idle_in_transaction_session_timeout", "10s"), ("statement_timeout", "60s")):
            conn.execute(f"ALTER ROLE portaria_app IN DATABASE {database.name} SET {setting} = '{value}'")
        yield


async def test_behind_a_transaction_pooler_nothing_is_lost_or_doubled(
    open_front_desk: OpenFrontDesk, database: TestDatabase, pooled_url: str, limits: None
) -> None:
    """Also when its connections to the server are ended under load."""
    async with open_front_desk(database.owner_url, pooled_url, session_cache_ttl=0.5) as desk:
        tally = await desk.send(40)
        assert len(tally.answered) > 30
        assert desk.rows(f"SELECT count(*) {OURS}")[0][0] <= POOL
        sending, tally = desk.begin(30)
        await until(lambda: len(tally.answered) > 5)
        desk.rows(f"SELECT pg_terminate_backend(pid) {OURS}")
        await sending
        assert len(tally.answered) > 20
        await desk.rest()
        assert desk.look() == {}
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        assert owner.execute("SELECT * FROM pg_locks WHERE locktype = 'advisory'").fetchall() == []
