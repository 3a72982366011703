"""First attempts of many rows in one transaction: each comes to what it would alone (spec 2.3)."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import psycopg

from portaria.db.pool import Database
from portaria.intake.accepted import TryOutcome
from portaria.intake.first_attempt import FirstAttempts, first_attempts
from portaria.intake.ingest import ingest_together
from tests.intake.backroom import WHOLE, Backroom, held_back, named, until
from tests.intake.reused import database
from tests.support.tcp_proxy import proxied

__all__ = ["database"]


async def together(room: Backroom, rows: Sequence[UUID], db: Database | None = None) -> list[UUID]:
    """One batch of these rows; those left to be tried alone."""
    loaded = [await room.load(row) for row in rows]
    return [row.id for row in await first_attempts(db or room.db, loaded)]


def of(room: Backroom, number: int, **more: object) -> UUID:
    """An archived message of person `number`, in a thread of theirs."""
    given = {"conversation_id": f"t{number}", "phone": f"+551198765{number:04d}"} | more
    return room.archived(room.message(**given))


async def test_each_row_comes_to_what_it_would_have_come_to_alone(room: Backroom) -> None:
    known, again = of(room, 1), {"external_id": "wamid.again"}
    await room.first(known)
    rows = {
        "known": of(room, 1),
        "new": of(room, 2, **again),
        "repeated": of(room, 2, **again),
        "ours": room.archived(room.echo(conversation_id="t2")),
        "leaves": of(room, 3, text="Parar"),
        "broken": room.archived(b'{"event": "message.received"}'),
        "not json": room.archived(b"{"),
        "nobody": room.archived(room.message(conversation_id="t4", phone=None)),
        "taken over": of(room, 5),
    }
    loaded = [await room.load(row) for row in rows.values()]
    room.sql(f"UPDATE webhook_events_log SET attempts = 1 WHERE id = '{rows['taken over']}'")
    done = await ingest_together(room.db, loaded)
    assert {name: done.get(row) for name, row in rows.items()} == {
        "known": TryOutcome.INGESTED, "new": TryOutcome.INGESTED, "repeated": TryOutcome.DUPLICATE,
        "ours": TryOutcome.INGESTED, "leaves": None, "broken": None, "not json": None, "nobody": None,
        "taken over": TryOutcome.SUPERSEDED,
    }  # fmt: skip
    assert room.facts() == {
        "contacts": 2, "conversations": 2, "messages": 4, "crm_leads": 2, "received": 3, "dispatch": 3,
        "unread": 2,
    }  # fmt: skip
    for name in ("known", "new", "repeated", "ours"):
        assert room.standing(rows[name]) == ("processed", 0, None)
    assert room.row(rows["ours"])["event_type"] == "message.sent"
    assert room.row(rows["repeated"])["external_id"] == "wamid.again"
    for name in ("leaves", "broken", "not json", "nobody"):
        assert room.standing(rows[name]) == ("received", 0, None)


async def test_what_cannot_be_ingested_together_is_tried_alone(room: Backroom) -> None:
    rows = [of(room, 1), of(room, 2, text="Parar"), room.archived(b"{"), of(room, 3)]
    firsts = FirstAttempts(room.db, at_once=2, waiting=100)
    for row in rows:
        firsts.schedule(await room.load(row))
    firsts.start()
    await firsts.stop(10.0)
    assert [room.standing(row)[0] for row in rows] == ["processed", "processed", "error", "processed"]
    assert room.count("contacts", "is_blocked") == 1
    assert room.count("crm_leads") == 2


async def test_one_bad_row_fails_alone(room: Backroom) -> None:
    rows = [of(room, n) for n in range(8)]
    bad = of(room, 8, external_id="wamid.bad")
    room.fail("messages", when="NEW.external_id = 'wamid.bad'")
    assert set(await together(room, [*rows, bad])) == {*rows, bad}
    assert not any(room.facts().values())
    firsts = FirstAttempts(room.db, at_once=3, waiting=100)
    for row in (*rows, bad):
        firsts.schedule(await room.load(row))
    firsts.start()
    await firsts.stop(10.0)
    assert [room.standing(row)[:2] for row in rows] == [("processed", 0)] * 8
    assert room.standing(bad)[:2] == ("received", 1)
    assert room.facts()["messages"] == room.facts()["dispatch"] == 8


async def test_a_locked_thread_holds_up_only_its_own_messages(room: Backroom) -> None:
    await room.first(of(room, 0))
    held = [of(room, 0) for _ in range(3)]
    with room.holding("SELECT FROM conversations FOR UPDATE"):
        firsts = FirstAttempts(room.db, at_once=4, waiting=100)
        firsts.start()
        for round_ in range(3):
            firsts.schedule(await room.load(held[round_]))
            others = [of(room, 10 * round_ + n) for n in range(1, 6)]
            for row in others:
                firsts.schedule(await room.load(row))
            await until(lambda o=others: all(room.standing(row)[0] == "processed" for row in o))  # type: ignore[misc]
        assert [room.standing(row) for row in held] == [("received", 0, None)] * 3
    await firsts.stop(10.0)
    assert [room.standing(row) for row in held] == [("processed", 0, None)] * 3
    assert room.count("messages") == 19


async def test_two_batches_at_once_leave_each_other_s_threads_alone(room: Backroom) -> None:
    shared, own = of(room, 1), of(room, 2)
    async with named(room, "held") as other:
        with held_back(room, "messages", "held"):
            loaded = [await room.load(of(room, 1))]
            first = asyncio.create_task(ingest_together(other, loaded, lock_wait=30))
            await room.blocked(on="%fn_ingest_together%")
            assert await together(room, [shared, own]) == [shared]  # and it did not wait
        assert list((await first).values()) == [TryOutcome.INGESTED]
    assert room.standing(own) == ("processed", 0, None)


async def test_the_same_rows_in_many_batches_at_once_have_effect_once(room: Backroom) -> None:
    """What a provider's redelivery and two web processes make of it: every message five times over."""
    people, copies = 20, 5
    rows = [
        of(room, n % people, external_id=f"wamid.m{n}") for n in range(3 * people) for _copy in range(copies)
    ]
    loaded = [await room.load(row) for row in rows]
    async with named(room, "one") as one, named(room, "two") as two:
        pools = [FirstAttempts(db, at_once=4, waiting=1000) for db in (one, two)]
        for number, row in enumerate(loaded):
            pools[number % 2].schedule(row)
        for pool in pools:
            pool.start()
        await asyncio.gather(*(pool.stop(60.0) for pool in pools))
    assert room.rows("SELECT status, attempts, count(*)::int FROM webhook_events_log GROUP BY 1, 2") == [
        ("processed", 0, len(rows))
    ]
    assert room.facts() == {
        "contacts": people, "conversations": people, "messages": 3 * people, "crm_leads": people,
        "received": 3 * people, "dispatch": 3 * people, "unread": 3 * people,
    }  # fmt: skip


async def test_a_commit_nobody_heard_of_is_met_by_the_tries_that_follow(room: Backroom) -> None:
    """The connection ends with the batch committed: each row, tried alone, finds itself closed."""
    rows = [of(room, n) for n in range(4)]
    async with proxied(room.database.app_url) as proxy:
        db = Database(proxy.url, name="cut", size=2)
        await db.open()
        firsts = FirstAttempts(db, at_once=2, waiting=100)
        for row in rows:
            firsts.schedule(await room.load(row))
        proxy.cut_after(b"fn_ingest_together")
        firsts.start()
        await firsts.stop(10.0)
        assert proxy.cut_done.is_set()
        await db.close()
    assert [room.standing(row) for row in rows] == [("processed", 0, None)] * 4
    assert room.facts() == dict.fromkeys(WHOLE, 4)


async def test_a_database_that_goes_down_spends_no_attempt(room: Backroom) -> None:
    rows = [of(room, n) for n in range(3)]
    room.fail("messages", "57P01")
    firsts = FirstAttempts(room.db, at_once=2, waiting=100)
    for row in rows:
        firsts.schedule(await room.load(row))
    firsts.start()
    await firsts.stop(10.0)
    standing = [room.standing(row) for row in rows]
    assert [(status, attempts) for status, attempts, _error in standing] == [("received", 0)] * 3
    assert all(error and "57P01" in error for _status, _attempts, error in standing)
    assert not any(room.facts().values())


async def test_a_batch_waits_for_nobody(room: Backroom) -> None:
    """Somebody's lock on a row: the batch gives way, nothing of it stays, no attempt is spent."""
    await room.first(of(room, 1))
    rows = [of(room, 2), of(room, 1)]
    with room.holding("SELECT FROM contacts FOR UPDATE"):
        assert set(await together(room, rows)) == set(rows)
        assert room.count("messages") == 1
        with psycopg.connect(room.database.owner_url) as looking:
            left = looking.execute("SELECT count(*) FROM webhook_events_log WHERE error_message IS NOT NULL")
            assert left.fetchall() == [(0,)]
