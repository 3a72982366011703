"""The disk fills up under load, and is emptied again (E8): 503 meanwhile, nothing lost, no restart of ours.

On a small tmpfs of its own where one can be mounted (as root). Elsewhere the server's own error, 53100, is
raised by every table: see `test_failing_statements`; a warning says which of the two it was.
"""

import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from portaria.db.embedded import EmbeddedServer
from portaria.db.migrate import migrate
from tests.conftest import APP_PASSWORD, app_url
from tests.faults.conftest import OpenFrontDesk
from tests.faults.test_failing_statements import WRITTEN
from tests.support.waiting import until

SIZE = 160 * 1024 * 1024
LEFT = 192 * 1024
"""Bytes of the disk, and what is left of it when the fault begins: some tens of deliveries."""


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path | None]:
    """A small disk of our own; None where it cannot be had."""
    folder = Path("/tmp") / f"portaria-disk-{os.getpid()}"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0711", "portaria-test", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    if not mounted:
        warnings.warn("no tmpfs can be mounted: THE FULL DISK IS SIMULATED", stacklevel=1)
    yield folder if mounted else None
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()


@pytest.fixture
def small_server(disk: Path | None, tmp_path: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(
        (disk or tmp_path) / "data",
        settings={"max_wal_size": "48MB", "min_wal_size": "32MB", "shared_buffers": "16MB"},
    )
    server.start()
    migrate(server.url("postgres"), app_password=APP_PASSWORD)
    yield server
    server.stop()
    server.erase()


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """A file takes what is left, almost; deleted at the end."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - LEFT)
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def simulated(owner: psycopg.Connection) -> Iterator[None]:
    """Every table says that the disk is full."""
    owner.execute(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$"
    )
    for table in WRITTEN:
        owner.execute(
            f"CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON {table} EXECUTE FUNCTION full_disk()"
        )
    yield
    for table in WRITTEN:
        owner.execute(f"DROP TRIGGER full_disk ON {table}")


async def test_the_disk_fills_up_under_load_and_nothing_answered_is_lost(
    open_front_desk: OpenFrontDesk, small_server: EmbeddedServer, disk: Path | None
) -> None:
    url = small_server.url("postgres")
    async with open_front_desk(url, app_url(url)) as desk:
        await desk.send(15)
        desk.owner.execute("SELECT pg_switch_wal()")
        desk.owner.execute("CHECKPOINT")
        with filled(disk) if disk else simulated(desk.owner):
            sending, tally = desk.begin(150)
            await until(lambda: tally.answers["message 503 unavailable"] >= 20, within=30)
            assert not any(answer.endswith("without a code") for answer in tally.answers)
        await sending
        assert len(tally.answered) > 100
        await desk.rest()
        assert desk.look() == {}
