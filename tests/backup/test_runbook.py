"""The runbook of backups, run as it stands: what is restored is what was there, and `doctor` passes on it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from portaria.db import lodging
from portaria.db.embedded import EmbeddedServer
from portaria.db.migrate import migrate
from portaria.identity.secret_box import SecretBox
from portaria.identity.tokens import Tokens
from portaria.ids import uuid7
from portaria.intake.providers import samples
from tests.api.world import World
from tests.conftest import APP_PASSWORD, app_url
from tests.security.processes import ROOT, environment, free_port, running, until
from tests.support.factory import Factory
from tests.support.http import SECRET_KEY
from tests.support.postgres import ThrowawayServer, start_test_server

RUNBOOK = (ROOT / "docs/runbooks/backup.md").read_text()
_BLOCK = re.compile(r"<!-- tested: ([\w-]+) -->\n```sh\n(.*?)```", re.DOTALL)
BLOCKS = dict(_BLOCK.findall(RUNBOOK))
# Written by the web and worker processes that look at the restored database.
_LIVING = ("procrastinate_workers", "cron_rounds", "lead_form_rates")


def follow(block: str, server: EmbeddedServer, **variables: str) -> str:
    """Runs one block of the runbook, in a shell that stops at the first failure."""
    path = [str(server.bin_dir), str(Path(sys.executable).parent), os.environ["PATH"]]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", BLOCKS[block]], capture_output=True, text=True, check=False,
        env=environment(
            PATH=os.pathsep.join(path), PORTARIA_SECRET_KEY=SECRET_KEY, PORTARIA_APP_PASSWORD=APP_PASSWORD,
            **variables,
        ),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_no_shell_block_of_the_runbook_is_untested() -> None:
    assert RUNBOOK.count("```sh\n") == len(BLOCKS) == 5


@pytest.fixture
def backup() -> Iterator[Path]:
    """A folder that the server's account may read and write too."""
    folder = Path(tempfile.mkdtemp(prefix="portaria-backup-"))
    folder.chmod(0o777)
    (folder / "wal").mkdir(mode=0o777)
    (folder / "wal").chmod(0o777)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def furnished(owner: psycopg.Connection) -> World:
    """A house with rows of every kind, a channel whose secret is encrypted, and a message yet to come in."""
    box = SecretBox(SECRET_KEY)
    world = World(owner, Factory(owner), Tokens(box, 600), None)  # type: ignore[arg-type]
    house = world.house(1)
    owner.execute("UPDATE channel_sessions SET secret_ciphertext = %s", (box.encrypt("segredo-0123456789"),))
    [(account,)] = owner.execute("SELECT account_id FROM channel_sessions").fetchall()
    message = samples.message_received(account, "pending", "+5511987650001", "Olá", datetime.now(UTC))
    owner.execute(
        "INSERT INTO webhook_events_log (id, organization_id, channel_session_id, provider, raw_body,"
        " valid_signature, received_at)"
        " VALUES (%s, %s, %s, 'zernio', %s, true, clock_timestamp() - interval '10 minutes')",
        (uuid7(), house.id, house.ids["channel_id"], samples.encode(message)),
    )
    return world


def contents(url: str) -> dict[str, str]:
    """A digest of each table."""
    with psycopg.connect(url, autocommit=True) as conn:
        tables = conn.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
        ).fetchall()
        digest = "SELECT md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) FROM {} t"
        return {
            name: conn.execute(digest.format(name)).fetchone()[0]  # type: ignore[index, arg-type]
            for (name,) in tables if name not in _LIVING
        }  # fmt: skip


@contextmanager
def in_use(target: str, folder: Path) -> Iterator[None]:
    """A worker on the restored database, seen by it."""
    given = {
        "DATABASE_URL": app_url(target), "PORTARIA_SECRET_KEY": SECRET_KEY, "PORTARIA_LOG_LEVEL": "error",
        "PORTARIA_REPLAY_EVERY": "600",
    }  # fmt: skip
    with running(folder, free_port(), given, ["worker"]), psycopg.connect(target, autocommit=True) as owner:
        seen = "SELECT 1 FROM procrastinate_workers WHERE last_heartbeat > now() - interval '9 seconds'"
        until(lambda: owner.execute(seen).fetchone())
        yield


def is_well(server: EmbeddedServer, target: str, folder: Path) -> None:
    """`doctor` passes, secrets can be read, and what was promised is kept."""
    migrate(target, app_password=APP_PASSWORD)
    with psycopg.connect(target, autocommit=True) as owner:
        owner.execute("INSERT INTO cron_rounds VALUES ('webhook-replay', now()) ON CONFLICT DO NOTHING")
        with in_use(target, folder):
            said = follow("check", server, TARGET_URL=target)
        assert "BAD" not in said
        assert owner.execute("SELECT count(*) FROM messages WHERE external_id = 'pending'").fetchone() == (1,)


def test_a_dump_restores_on_a_server_that_knows_nothing(
    server: EmbeddedServer, database: object, owner: psycopg.Connection, backup: Path, tmp_path: Path
) -> None:
    furnished(owner)
    source = owner.info.dsn + f" password={owner.info.password}"
    follow("dump", server, DATABASE_URL=source, BACKUP=str(backup))
    before = contents(source)
    elsewhere = start_test_server()
    try:
        elsewhere.create_database("restored")
        target = elsewhere.url("restored")
        follow("restore", server, TARGET_URL=target, BACKUP=str(backup))
        assert contents(target) == before
        is_well(server, target, tmp_path)
    finally:
        elsewhere.stop()


def test_a_mistake_is_undone_to_the_moment_before_it(backup: Path, tmp_path: Path) -> None:
    settings = {
        "archive_mode": "on", "archive_command": f"cp %p {backup}/wal/%f", "fsync": "off",
        "max_wal_senders": "4",
    }  # fmt: skip
    server = start_test_server(settings=settings)
    restored: EmbeddedServer | None = None
    try:
        url = server.url("postgres")
        migrate(url, app_password=APP_PASSWORD)
        follow("base", server, DATABASE_URL=url, BACKUP=str(backup))
        with psycopg.connect(url, autocommit=True) as owner:
            furnished(owner)
            before = contents(url)
            [(moment,)] = owner.execute("SELECT clock_timestamp()::text").fetchall()
            owner.execute("DELETE FROM crm_leads")
            owner.execute("SELECT pg_switch_wal()")
        EmbeddedServer.stop(server, 30.0)  # a fast shutdown archives what is left
        restored = ThrowawayServer(Path(f"{server.data_dir}-restored"))
        place = lodging.settle(restored.data_dir)
        follow("point-in-time", server, BACKUP=str(backup), PGDATA=str(place.cluster), UNTIL=moment)
        if place.uid is not None and place.gid is not None:
            for path in (place.cluster, *place.cluster.rglob("*")):
                os.chown(path, place.uid, place.gid)
        shutil.copy(server.data_dir / "postgres.password", restored.data_dir)
        restored.start()
        target = restored.url("postgres")
        wait_for_promotion(target)
        assert contents(target) == before
        is_well(restored, target, tmp_path)
    finally:
        server.stop()
        if restored is not None:
            restored.stop()


def wait_for_promotion(url: str) -> None:
    """Until the server takes writes."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SET statement_timeout = '30s'")
        while conn.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
            conn.execute("SELECT pg_sleep(0.02)")
