"""Retention of the archive (spec 2.5): bodies of rows that finished long ago are emptied, the rows stay."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from portaria.errors import Refusal
from portaria.intake.accepted import TryOutcome
from portaria.intake.arrivals import ArrivalFilter, replayable
from portaria.intake.by_hand import replay_by_hand
from portaria.intake.retention import emptied_at, empty_arrivals
from portaria.jobs.rounds import Pace
from tests.intake.backroom import Backroom

SMALL = Pace(rows=3, pause=0.0)


async def tidy(room: Backroom, *, keep_days: int = 90, pace: Pace = SMALL) -> int:
    return await empty_arrivals(room.db, asyncio.Event(), keep_days=keep_days, pace=pace)


def finished(room: Backroom, interval: str, where: str = "processed_at IS NOT NULL") -> None:
    """Moves time by SQL: the rows finished `interval` ago."""
    room.owner.execute(
        f"UPDATE webhook_events_log SET processed_at = clock_timestamp() - %s::interval WHERE {where}",
        (interval,),
    )


def bodies(room: Backroom) -> dict[UUID, tuple[bool, bool]]:
    """Whether each row still has its body, and whether it says that it was emptied."""
    found = room.rows("SELECT id, raw_body <> '', body_emptied_at IS NOT NULL FROM webhook_events_log")
    return {row: (kept, said) for row, kept, said in found}


def with_status(room: Backroom, status: str) -> UUID:
    row = room.archived(room.message())
    room.owner.execute(
        'UPDATE webhook_events_log SET status = %s, headers = \'{"x-forwarded-for": "203.0.113.9"}\','
        " processed_at = CASE WHEN %s = 'received' THEN NULL ELSE clock_timestamp() END WHERE id = %s",
        (status, status, row),
    )
    return row


@pytest.mark.parametrize("status", ["processed", "error", "dead"])
async def test_what_finished_long_ago_loses_body_and_headers_and_stays_otherwise(
    room: Backroom, status: str
) -> None:
    row = with_status(room, status)
    finished(room, "90 days 1 minute")
    before = room.row(row)
    assert await tidy(room) == 1
    after = room.row(row)
    assert (bytes(after["raw_body"]), after["headers"]) == (b"", {})
    assert after["body_emptied_at"] is not None
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"raw_body", "headers", "body_emptied_at"}
    assert await tidy(room) == 0


async def test_the_age_counts_from_the_end_by_the_databases_clock(room: Backroom) -> None:
    young = await room.take_in(room.message(), age="200 days")  # arrived long ago, finished just now
    assert await tidy(room) == 0
    finished(room, "89 days 23 hours 59 minutes")
    assert await tidy(room) == 0
    assert bodies(room)[young] == (True, False)
    assert await tidy(room, keep_days=89) == 1


async def test_what_is_pending_is_never_touched_whoever_asks(room: Backroom) -> None:
    """A promise could not be kept without its body."""
    rows = [room.archived(room.message(), age="400 days", marked=marked) for marked in (True, None)]
    assert await tidy(room, keep_days=1) == 0
    for row in rows:
        with pytest.raises(psycopg.errors.CheckViolation):
            room.owner.execute(
                "UPDATE webhook_events_log SET raw_body = '', body_emptied_at = now() WHERE id = %s", (row,)
            )
        assert bodies(room)[row] == (True, False)


async def test_a_repetition_is_recognised_after_its_body_was_emptied(room: Backroom) -> None:
    """Case G6: what recognises it is the message, not the archive."""
    message = room.message()
    await room.take_in(message)
    facts = room.facts()
    finished(room, "100 days")
    assert await tidy(room) == 1
    again = room.archived(message)
    assert await room.first(again) is TryOutcome.DUPLICATE
    assert room.facts() == facts
    assert bodies(room)[again] == (True, False)


async def test_it_goes_by_batches_and_leaves_what_somebody_holds(room: Backroom) -> None:
    for _ in range(7):
        with_status(room, "processed")
    finished(room, "100 days")
    [held] = room.rows("SELECT id FROM webhook_events_log ORDER BY processed_at DESC LIMIT 1")[0]
    with room.holding(f"SELECT 1 FROM webhook_events_log WHERE id = '{held}' FOR UPDATE"):
        assert await tidy(room) == 6
    assert bodies(room)[held] == (True, False)
    assert await tidy(room) == 1
    assert room.audited("retention.arrivals_emptied") == [
        {"rows": 6, "keep_days": 90}, {"rows": 1, "keep_days": 90},
    ]  # fmt: skip


async def test_two_rounds_at_once_share_the_work(room: Backroom) -> None:
    for _ in range(20):
        with_status(room, "dead")
    finished(room, "100 days")
    counts = await asyncio.gather(*(tidy(room) for _ in range(4)))
    assert sum(counts) == 20
    assert set(bodies(room).values()) == {(False, True)}


async def test_a_stopped_worker_begins_no_batch(room: Backroom) -> None:
    with_status(room, "dead")
    finished(room, "100 days")
    stop = asyncio.Event()
    stop.set()
    assert await empty_arrivals(room.db, stop, keep_days=90) == 0


async def test_an_emptied_row_is_not_replayed_by_hand_and_says_why(room: Backroom) -> None:
    row = room.archived(room.message(), age="1 hour", attempts=20, tried="1 minute")
    await room.replay()
    assert room.standing(row)[0] == "dead"
    finished(room, "100 days")
    await tidy(room)
    before = room.row(row)
    with pytest.raises(Refusal) as refused:
        await replay_by_hand(room.db, row, actor="ana", organization_id=room.organization_id)
    assert (refused.value.status, refused.value.code) == (409, "body_emptied")
    assert room.row(row) == before
    assert room.audited("webhook.replayed") == []


async def test_by_filter_emptied_rows_are_not_counted_among_the_replayable(room: Backroom) -> None:
    emptied, kept = with_status(room, "dead"), with_status(room, "dead")
    finished(room, "100 days", f"id = '{emptied}'")
    await tidy(room)
    async with room.db.connection() as conn:
        found = await replayable(conn, room.organization_id, status="dead", filter=ArrivalFilter())
    assert found == [kept]


async def test_emptied_while_a_person_asks_for_its_replay(room: Backroom) -> None:
    """Between looking at the row and claiming it: the database lets no emptied row be pending."""
    row = with_status(room, "dead")
    # The claim passes over a row that is held, so a trigger empties it within the claim itself.
    room.sql(
        "CREATE FUNCTION fail_emptied() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " NEW.raw_body := ''; NEW.body_emptied_at := now(); RETURN NEW; END $$;"
        "CREATE TRIGGER fail_emptied BEFORE UPDATE ON webhook_events_log"
        " FOR EACH ROW WHEN (NEW.status = 'received') EXECUTE FUNCTION fail_emptied()"
    )
    with pytest.raises(Refusal) as refused:
        await replay_by_hand(room.db, row, actor="ana", organization_id=None)
    assert refused.value.code == "body_emptied"
    assert room.standing(row)[0] == "dead"


async def test_when_it_was_emptied_can_be_asked(room: Backroom) -> None:
    row = with_status(room, "processed")
    async with room.db.connection() as conn:
        assert await emptied_at(conn, row) is None
        assert await emptied_at(conn, uuid4()) is None
    finished(room, "100 days")
    await tidy(room)
    async with room.db.connection() as conn:
        assert await emptied_at(conn, row) == room.row(row)["body_emptied_at"]


def test_the_walk_uses_its_index(room: Backroom) -> None:
    """With a million finished rows a batch must not read the table."""
    room.owner.execute(
        "INSERT INTO webhook_events_log (id, provider, raw_body, status, processed_at)"
        " SELECT gen_random_uuid(), 'zernio', 'x', 'processed', now() - n * interval '1 minute'"
        " FROM generate_series(1, 20000) AS n"
    )
    room.owner.execute("ANALYZE webhook_events_log")
    plan: Any = room.one(
        "EXPLAIN (FORMAT JSON) SELECT id FROM webhook_events_log"
        " WHERE processed_at < now() - make_interval(days => 90) AND body_emptied_at IS NULL"
        " ORDER BY processed_at LIMIT 500 FOR UPDATE SKIP LOCKED"
    )
    assert "webhook_events_log_kept" in str(plan)
    assert "Sort" not in str(plan)
