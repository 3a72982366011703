"""Retention of accounts events (spec 2.5): payloads of events that ended long ago are emptied."""

import asyncio

import psycopg
import pytest

from portaria.accounts.receive import Received, receive_event
from portaria.accounts.reprocess import FailedFilter, count_failed, reprocess
from portaria.accounts.retention import empty_events
from portaria.db.pool import Database
from portaria.errors import Refusal
from tests.accounts.workbench import Events


@pytest.fixture
def events(owner: psycopg.Connection) -> Events:
    return Events(owner)


async def tidy(db: Database, *, keep_days: int = 90) -> int:
    return await empty_events(db, asyncio.Event(), keep_days=keep_days)


def ended(events: Events, interval: str) -> None:
    """Moves time by SQL: whatever ended, ended `interval` ago."""
    events.owner.execute(
        "UPDATE incoming_events SET processed_at = clock_timestamp() - %s::interval"
        " WHERE processed_at IS NOT NULL",
        (interval,),
    )


async def test_ended_events_lose_their_payload_and_pending_ones_never(events: Events, db: Database) -> None:
    done, _ = events.event(status="processed")
    failed, _ = events.event(status="failed", attempts=3)
    pending, _ = events.event()
    events.owner.execute("UPDATE incoming_events SET received_at = now() - interval '400 days'")
    ended(events, "89 days 23 hours")
    assert await tidy(db) == 0
    ended(events, "90 days 1 minute")
    assert await tidy(db) == 2
    found = dict(
        events.owner.execute(
            "SELECT id, (payload <> '', body_emptied_at IS NOT NULL) FROM incoming_events"
        ).fetchall()
    )
    assert found == {done: ("f", "t"), failed: ("f", "t"), pending: ("t", "f")}
    with pytest.raises(psycopg.errors.CheckViolation):
        events.owner.execute(
            "UPDATE incoming_events SET payload = '', body_emptied_at = now() WHERE id = %s", (pending,)
        )
    [(audited,)] = events.owner.execute("SELECT metadata FROM api_audit_log").fetchall()
    assert audited == {"rows": 2, "keep_days": 90}


async def test_an_emptied_event_is_not_reprocessed_and_still_keeps_its_repetition_out(
    events: Events, db: Database
) -> None:
    """Case G6."""
    row, _ = events.event(status="failed", attempts=3)
    [(event_id, payload)] = events.owner.execute("SELECT event_id, payload FROM incoming_events").fetchall()
    ended(events, "91 days")
    await tidy(db)
    async with db.connection() as conn:
        assert await count_failed(conn, FailedFilter()) == 0
        with pytest.raises(Refusal) as refused:
            await reprocess(conn, row, actor="ana")
    assert (refused.value.status, refused.value.code) == (409, "payload_emptied")
    assert await receive_event(db, payload.encode()) is Received.known
    assert events.count("incoming_events") == 1
    assert event_id == "evt_0"
