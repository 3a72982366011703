"""The primary is lost for good and its synchronous standby takes over: nothing that was answered is lost.

What an installation needs for it: `synchronous_standby_names` on the primary, and a DATABASE_URL that names
both servers with `target_session_attrs=read-write`. Nothing of ours is told or restarted.
"""

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from portaria.db import lodging
from portaria.db.embedded import EmbeddedServer
from portaria.db.migrate import migrate
from tests.conftest import APP_PASSWORD
from tests.faults.conftest import OpenFrontDesk
from tests.support.postgres import ThrowawayServer, start_test_server
from tests.support.waiting import until


@pytest.fixture
def primary() -> Iterator[EmbeddedServer]:
    server = start_test_server()
    migrate(server.url("postgres"), app_password=APP_PASSWORD)
    yield server
    server.stop()


@pytest.fixture
def standby(primary: EmbeddedServer) -> Iterator[EmbeddedServer]:
    """A copy of the primary that follows it; the primary waits for it with every commit."""
    folder = Path(f"{primary.data_dir}-standby")
    place = lodging.settle(folder)
    subprocess.run(
        [
            primary.bin_dir / "pg_basebackup", "--write-recovery-conf", "--checkpoint=fast",
            f"--dbname={primary.url('postgres')}", f"--pgdata={place.cluster}",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    if place.uid is not None and place.gid is not None:
        for path in (place.cluster, *place.cluster.rglob("*")):
            os.chown(path, place.uid, place.gid)
    shutil.copy(primary.data_dir / "postgres.password", folder)
    server = ThrowawayServer(folder)
    follow(server)
    with psycopg.connect(primary.url("postgres"), autocommit=True) as conn:
        conn.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        conn.execute("SELECT pg_reload_conf()")
        while not conn.execute("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").fetchone():
            time.sleep(0.02)
    yield server
    server.stop()


def follow(server: EmbeddedServer) -> None:
    """Starts a standby; returns when it can be read."""
    server.spawn()
    deadline = time.monotonic() + 30
    while True:
        with suppress(psycopg.OperationalError):
            psycopg.connect(server.url("postgres")).close()
            return
        assert time.monotonic() < deadline
        time.sleep(0.02)


def either(*servers: EmbeddedServer) -> str:
    """The app's URL: whichever of them takes writes."""
    hosts = [psycopg.conninfo.conninfo_to_dict(server.url("postgres"))["host"] for server in servers]
    return make_conninfo(
        host=",".join(map(str, hosts)), port="5432,5432", dbname="postgres", user="portaria_app",
        password=APP_PASSWORD, sslmode="disable", target_session_attrs="read-write",
    )  # fmt: skip


async def test_nothing_is_promised_without_the_standby_and_nothing_lost_when_it_takes_over(
    open_front_desk: OpenFrontDesk, primary: EmbeddedServer, standby: EmbeddedServer
) -> None:
    """Committed here is not yet there: answered 503, and delivered again it is still one."""
    url = either(primary, standby)
    async with open_front_desk(primary.url("postgres"), url, answer_within=1.0) as desk:
        await desk.send(10)
        standby.terminate()
        await until(lambda: not standby.alive())
        sending, tally = desk.begin(20)
        # Also what is delivered again, and is there, but on the primary alone.
        await until(lambda: tally.answers["event 503 unavailable"] >= 12 and tally.answers.total() >= 40)
        assert tally.answered == set()
        follow(standby)
        await sending

        sending, tally = desk.begin(120)
        await until(lambda: len(tally.answered) > 30, within=30)
        primary.kill()
        with psycopg.connect(standby.url("postgres"), autocommit=True) as desk.owner:
            await asyncio.to_thread(desk.owner.execute, "SELECT pg_promote()")
            await sending
            assert len(tally.answered) > 100
            await desk.rest(within=60)
            assert desk.look() == {}
