"""The release before this one on this one's schema (A21): web and worker are replaced one after the other,
the database first. Old and new work side by side, and what the old ones leave half done is finished.
"""

import subprocess
import tarfile
import warnings
from io import BytesIO
from pathlib import Path

import psycopg
import pytest

from tests.conftest import TestDatabase
from tests.crash.desk import furnish
from tests.crash.processes import ROOT
from tests.faults.conftest import FrontDesk
from tests.faults.previous_release import saved
from tests.faults.real_processes import real_processes
from tests.support.waiting import until

MIGRATIONS = "src/portaria/db/migrations"


@pytest.fixture
def older_source(tmp_path: Path) -> Path | None:
    """The code as it was before the newest migration; None where the history is not at hand."""
    newest = max(path.name for path in (ROOT / MIGRATIONS).glob("*.sql"))
    added = _git("log", "--diff-filter=A", "--format=%H", "--", f"{MIGRATIONS}/{newest}").decode().split()
    # A migration that is not committed yet: the last commit is the older code.
    archive = _git("archive", f"{added[-1]}^" if added else "HEAD", "src")
    if not archive:
        return None
    with tarfile.open(fileobj=BytesIO(archive)) as old:
        old.extractall(tmp_path / "older")
    return tmp_path / "older" / "src"


def _git(*arguments: str) -> bytes:
    """What git says; nothing where it cannot."""
    try:
        return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return b""


def test_every_statement_of_the_previous_release_is_understood(database: TestDatabase) -> None:
    """By the app's own login: no column, function or right that it needs is gone."""
    statements = saved()
    assert len(statements) > 80
    with psycopg.connect(database.app_url, autocommit=True) as conn:
        for name, statement in statements.items():
            try:
                conn.execute(f"EXPLAIN (GENERIC_PLAN) {statement}".encode())
            except psycopg.Error as error:
                pytest.fail(f"{name}: {error}")


async def test_older_processes_and_ours_work_side_by_side_and_ours_finish_what_they_leave(
    database: TestDatabase, tmp_path: Path, older_source: Path | None
) -> None:
    if older_source is None:
        warnings.warn("no history of the code: its statements alone are tried", stacklevel=1)
        return
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        desk = FrontDesk("", owner, furnish(owner))
        (tmp_path / "new").mkdir()
        with real_processes(database.app_url, tmp_path, source=older_source) as (desk.url, old):
            tally = await desk.send(15)
            assert len(tally.answered) > 10
            # Its first attempts stop half-way, in T1 or in T3, when it is killed.
            owner.execute(
                "SELECT pg_advisory_lock(20027, number) FROM crash.gates WHERE step IN ('T1', 'T3')"
            )
            owner.execute("UPDATE crash.gates SET shut = true WHERE step IN ('T1', 'T3')")
            sending, _ = desk.begin(15)
            await until(lambda: desk.rows("SELECT 1 FROM pg_locks WHERE classid = 20027 AND NOT granted"))
            old["web"].kill(0)
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE classid = 20027 AND NOT granted"
            )
            desk.ask("open")
            owner.execute("SELECT pg_advisory_unlock_all()")
            with real_processes(database.app_url, tmp_path / "new") as (desk.url, _new):
                desk.moves()
                await sending
                await desk.send(15)
                await desk.rest()
                assert desk.look() == {}
