"""First attempts: after the answer, with a bound, drained continuously, finished at a SIGTERM (spec 2.5)."""

import asyncio
from typing import Any

import pytest

from portaria.db.pool import Database
from portaria.intake.accepted import AcceptedRow
from portaria.intake.first_attempt import FirstAttempts
from portaria.intake.providers import samples
from tests.intake.backroom import Backroom
from tests.intake.conftest import Desk, OpenDesk, until
from tests.intake.reused import database
from tests.support.raw_http import deliver
from tests.support.web_process import web_process

__all__ = ["database"]


def trying(desk: Desk) -> int:
    """First attempts that wait for a lock in the database."""
    return desk.count("pg_stat_activity", "wait_event_type = 'Lock' AND query LIKE '%%fn_ingest_%%'")


async def accepted(desk: Desk, times: int, url: str | None = None) -> None:
    requests = [desk.request(samples.encode(desk.message(conversation_id=f"c{n}"))) for n in range(times)]
    answers = await deliver(url or desk.url, requests)
    assert [a.json()["status"] for a in answers] == ["accepted"] * times


async def test_they_are_bounded_and_the_rest_waits_and_is_drained(open_desk: OpenDesk) -> None:
    async with open_desk(first_attempts=3) as desk:
        with desk.held("messages"):
            await accepted(desk, 30)
            # Two alone, and nothing left to try together: no batch gets past the lock.
            await until(lambda: desk.intake.first_attempts.waiting == 28 and trying(desk) == 2)
        await desk.settled()
        assert desk.count("messages") == 30
        assert desk.count("webhook_events_log", "status = 'processed' AND attempts = 0") == 30


async def test_what_does_not_fit_is_left_to_the_replay(open_desk: OpenDesk) -> None:
    async with open_desk(first_attempts=1, first_attempts_waiting=4) as desk:
        with desk.held("messages"):
            await accepted(desk, 1)
            await until(lambda: trying(desk) == 1)
            await accepted(desk, 7)
        await until(lambda: desk.count("webhook_events_log", "status = 'processed'") == 5)
        left = desk.rows("SELECT valid_signature, attempts FROM webhook_events_log WHERE status = 'received'")
        assert left == [(True, 0)] * 3


async def test_a_message_after_a_pause_is_ingested_at_once_and_what_follows_together(
    room: Backroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portaria.intake.first_attempt._APART", 600.0)
    firsts = FirstAttempts(room.db, at_once=2, waiting=100)
    firsts.start()
    for expected in (1, 33):  # the first alone, then as many as make a batch full
        for number in range(room.count("messages"), expected):
            firsts.schedule(await room.load(room.archived(room.message(conversation_id=f"t{number}"))))
        await until(lambda expected=expected: room.count("messages") == expected)  # type: ignore[misc]
    firsts.schedule(await room.load(room.archived(room.message())))
    await firsts.stop(10.0)  # whatever collects is ingested before the end
    batches = "SELECT count(*) FROM event_log WHERE event_type = 'message.received' GROUP BY created_at"
    assert sorted(n for (n,) in room.rows(batches)) == [1, 1, 32]


async def test_bodies_that_were_not_kept_are_read_again(room: Backroom) -> None:
    rows = [room.archived(room.message()) for _ in range(4)]
    firsts = FirstAttempts(room.db, at_once=1, waiting=100, kept_bytes=1)
    for row in rows:
        loaded = await room.load(row)
        firsts.schedule(loaded)
    assert [held.raw_body for held in firsts._rows] == [b""] * 4
    room.sql(f"UPDATE webhook_events_log SET attempts = 1 WHERE id = '{rows[3]}'")
    firsts.start()
    await firsts.stop(10.0)
    assert [room.standing(row)[:2] for row in rows] == [("processed", 0)] * 3 + [("received", 1)]
    assert room.count("messages") == 3


async def test_a_runner_outlives_what_goes_wrong(room: Backroom, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is gone, a body that cannot be read, a log that cannot be written."""
    gone = Database("host=/nowhere", name="gone", size=1, timeout=0.05)
    firsts = FirstAttempts(room.db, at_once=1, waiting=100)
    good = await room.load(room.archived(room.message()))
    broken: Any = AcceptedRow(good.id, good.organization_id, good.session_id, "nobody", b"{}")
    firsts._db = gone
    firsts.schedule(good)
    firsts.start()
    await until(lambda: not firsts.waiting)
    await asyncio.sleep(0.2)
    firsts._db = room.db
    firsts.schedule(broken)
    again = room.archived(room.message())
    firsts.schedule(await room.load(again))
    await firsts.stop(10.0)
    assert room.standing(again)[0] == "processed"


async def test_sigterm_lets_running_ones_finish(desk: Desk) -> None:
    """Case D12, in a real web process: everything accepted is in when it is gone."""
    async with web_process(desk.database.app_url, first_attempts=3, stop_grace=20) as web:
        with desk.held("messages"):
            await accepted(desk, 10, web.url)
            await until(lambda: trying(desk) == 2)
            ending = asyncio.create_task(web.terminate())
            await until(lambda: not web.listens())
        await ending
    assert desk.count("messages") == 10
    assert desk.count("webhook_events_log", "status = 'processed' AND attempts = 0") == 10


async def test_sigterm_does_not_wait_for_ever_and_leaves_the_rest_to_the_replay(desk: Desk) -> None:
    async with web_process(desk.database.app_url, first_attempts=3, stop_grace=1) as web:
        with desk.held("messages"):
            await accepted(desk, 4, web.url)
            await until(lambda: trying(desk) == 2)
            await web.terminate()
    rows = desk.rows("SELECT status, valid_signature, attempts, error_message FROM webhook_events_log")
    assert rows == [("received", True, 0, None)] * 4
    assert desk.count("messages") == 0


async def test_while_many_wait_for_their_answer_there_is_one_batch_at_a_time(room: Backroom) -> None:
    under_way = 100
    firsts = FirstAttempts(room.db, at_once=4, waiting=100, under_way=lambda: under_way)
    for number in range(40):
        firsts.schedule(await room.load(room.archived(room.message(conversation_id=f"t{number}"))))
    room.sql(
        "CREATE FUNCTION fail_slowly() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_advisory_xact_lock_shared(79); RETURN NEW; END $$;"
        "CREATE TRIGGER fail_slowly BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION fail_slowly()"
    )
    waiting = "wait_event_type = 'Lock' AND query LIKE '%%fn_ingest_together%%'"
    most = 0
    with room.holding("SELECT pg_advisory_xact_lock(79)"):
        firsts.start()
        while firsts._rows:
            most = max(most, room.count("pg_stat_activity", waiting))
            await asyncio.sleep(0.01)
        assert most == 1
        # What was left to be tried alone: one at a time, as long as so many wait.
        await until(lambda: room.count("pg_stat_activity", "wait_event_type = 'Lock'") == 1)
        under_way = 0
        await until(lambda: room.count("pg_stat_activity", "wait_event_type = 'Lock'") == 3)
    await firsts.stop(10.0)
    assert room.count("messages") == 40
