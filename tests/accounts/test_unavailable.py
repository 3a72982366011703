"""When the database is away, slow, or lost at the worst moment: 503 in time, and people are told."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from structlog.testing import capture_logs

from portaria.accounts.http import EventLimits
from portaria.db.pool import Database
from tests.accounts.conftest import Inbox, open_inbox
from tests.accounts.workbench import envelope
from tests.conftest import TestDatabase
from tests.support.tcp_proxy import proxied
from tests.support.waiting import until

FORMAT = ("delivery_refused", "Uma entrega foi recusada pelo tamanho ou formato", "open", 1)
AWAY = ("incoming_event_failed", "Um evento do accounts não foi processado", "open", 1)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """A small pool that does not wait long."""
    db = Database(url, name="tests", size=2, timeout=1.0)
    await db.open()
    try:
        yield db
    finally:
        await db.close()


async def told(inbox: Inbox) -> list[tuple[str, str, str, int]]:
    """The notices, once there is one."""
    await until(inbox.notices)
    return inbox.notices()


async def test_cut_after_commit_the_sender_tries_again_and_it_is_one_event(
    database: TestDatabase, owner: psycopg.Connection
) -> None:
    """E7: 5xx first, then 200; one event, one job."""
    async with proxied(database.app_url) as proxy, opened(proxy.url) as db, open_inbox(db, owner) as inbox:
        proxy.cut_after(b"fn_receive_incoming_event")
        first = await inbox.post(envelope())
        assert proxy.cut_done.is_set()
        again = await inbox.post(envelope())
        assert (first.status_code, again.status_code) == (503, 200)
        assert first.headers["retry-after"] == "2"
        assert (inbox.events(), len(inbox.jobs())) == ([("evt_1", "pending", 0)], 1)


async def test_a_server_that_does_not_answer_is_503_in_time_and_told_later(
    database: TestDatabase, owner: psycopg.Connection
) -> None:
    """Counted and logged at once; the notice comes as soon as the database answers."""
    async with proxied(database.app_url) as proxy, opened(proxy.url) as db:
        limits = EventLimits(answer_within=0.3)
        async with open_inbox(db, owner, limits=limits) as inbox:
            assert (await inbox.post(envelope("evt_0"))).status_code == 202
            proxy.hold()
            started = time.monotonic()
            with capture_logs() as logs:
                answer = await inbox.post(envelope("evt_1"))
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert time.monotonic() - started < 4.0
            assert "incoming_event_may_be_lost" in [line["event"] for line in logs]
            assert inbox.notices() == []
            proxy.hold(False)
            assert await told(inbox) == [AWAY]


async def test_a_locked_table_is_503_in_time(
    database: TestDatabase, db: Database, owner: psycopg.Connection
) -> None:
    async with open_inbox(db, owner, limits=EventLimits(answer_within=0.3)) as inbox:
        with owner.transaction():
            owner.execute("LOCK TABLE incoming_events")
            started = time.monotonic()
            assert (await inbox.post(envelope())).status_code == 503
            assert time.monotonic() - started < 4.0
        assert (await inbox.post(envelope())).status_code in (200, 202)


async def test_a_server_that_cannot_be_reached_is_503(owner: psycopg.Connection) -> None:
    async with opened("postgresql://x@127.0.0.1:9/x") as nowhere, open_inbox(nowhere, owner) as inbox:
        assert (await inbox.post(envelope())).status_code == 503


async def test_the_infrastructures_errors_are_503(db: Database, owner: psycopg.Connection) -> None:
    """A full disk or a read-only standby is nobody's bug: come again."""
    owner.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE 'no' USING ERRCODE = TG_ARGV[0]; END $$"
    )
    async with open_inbox(db, owner) as inbox:
        for sqlstate in ("53100", "25006", "57P01", "40001"):
            owner.execute(
                "CREATE OR REPLACE TRIGGER t BEFORE INSERT ON incoming_events"
                f" EXECUTE FUNCTION refuse('{sqlstate}')"
            )
            answer = await inbox.post(envelope())
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2"), sqlstate


async def test_too_large_is_told_once_a_minute_with_its_count(
    db: Database, owner: psycopg.Connection
) -> None:
    async with open_inbox(db, owner, limits=EventLimits(body=100)) as inbox:
        for _ in range(3):
            assert (await inbox.post(b"x" * 101)).status_code == 413
        assert await told(inbox) == [FORMAT]
    # The rest is written when the process ends in peace.
    [(occurrences, body)] = owner.execute("SELECT occurrences, body FROM notices").fetchall()
    assert occurrences == 2
    assert "Recusas desde o último aviso: 2." in body


async def test_after_the_pause_it_is_told_again(db: Database, owner: psycopg.Connection) -> None:
    async with open_inbox(db, owner, limits=EventLimits(body=100), every=0.05) as inbox:
        for times in (1, 2):
            await inbox.post(b"x" * 101)
            await until(lambda times=times: [row[3] for row in inbox.notices()] == [times])


async def test_more_bodies_than_may_be_held_are_503(db: Database, owner: psycopg.Connection) -> None:
    async with open_inbox(db, owner, limits=EventLimits(held=100)) as inbox:
        with owner.transaction():
            owner.execute("LOCK TABLE incoming_events")
            waiting = asyncio.create_task(inbox.post(envelope("evt_1")))
            await until(lambda: owner.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone())
            assert (await inbox.post(envelope("evt_2"))).status_code == 503
        assert (await waiting).status_code == 202
        assert (await inbox.post(envelope("evt_2"))).status_code == 202
