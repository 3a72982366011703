"""The cron `webhook-replay` (spec 2.4): which rows, in which order, one round at a time."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from portaria.db.pool import Database
from portaria.intake.accepted import TryOutcome
from portaria.intake.first_attempt import first_attempt
from portaria.intake.providers import samples
from portaria.intake.replay import Pace, replay_round, run_replay
from tests.intake.backroom import NOON, QUICK, WHOLE, Backroom, held_back, named, until

ONE_BY_ONE = Pace(round_seconds=10.0, row_seconds=5.0, at_once=1)
THE_LOCK = "SELECT pg_advisory_xact_lock(fn_lock_key('replay', ''))"


# Which rows


@pytest.mark.parametrize(
    ("age", "status", "attempts"),
    [
        ("1 second", "received", 0),
        ("4 minutes 57 seconds", "received", 0),
        ("5 minutes 1 second", "processed", 1),
        ("3 hours", "processed", 1),
        ("5 hours 59 minutes 57 seconds", "processed", 1),
        ("6 hours 1 second", "dead", 0),
        ("3 days", "dead", 0),
    ],
)
async def test_rows_between_five_minutes_and_six_hours_are_ingested(
    room: Backroom, age: str, status: str, attempts: int
) -> None:
    row = room.archived(room.message(), age=age)
    await room.replay()
    assert room.standing(row)[:2] == (status, attempts)
    assert room.facts()["dispatch"] == (status == "processed")


@pytest.mark.parametrize("marked", [None, False])
async def test_what_was_not_accepted_is_not_taken(room: Backroom, marked: bool | None) -> None:
    row = room.archived(room.message(), age="1 hour", marked=marked)
    await room.replay()
    assert room.standing(row) == ("received", 0, None)


async def test_what_is_finished_is_not_taken(room: Backroom) -> None:
    rows = {}
    for status in ("processed", "error", "dead"):
        rows[status] = room.archived(room.message(), age="1 hour")
        room.owner.execute(
            "UPDATE webhook_events_log SET status = %s, processed_at = now() WHERE id = %s",
            (status, rows[status]),
        )
    await room.replay()
    assert {status: room.standing(row)[:2] for status, row in rows.items()} == {s: (s, 0) for s in rows}


async def test_never_tried_first_then_least_recently_tried_then_oldest(room: Backroom) -> None:
    expected = ["never, older", "never", "tried long ago", "tried of late, older", "tried of late"]
    for text, age, tried in (
        ("tried of late", "30 minutes", "1 minute"),
        ("never", "10 minutes", None),
        ("tried of late, older", "5 hours", "1 minute"),
        ("tried long ago", "20 minutes", "15 minutes"),
        ("never, older", "20 minutes", None),
    ):
        room.archived(room.message(text), age=age, tried=tried, attempts=0 if tried is None else 2)
    room.sql(
        "UPDATE webhook_events_log SET last_attempt_at = now() - interval '1 minute'"
        " WHERE last_attempt_at > now() - interval '2 minutes'"
    )
    await room.replay(ONE_BY_ONE)
    assert [text for (text,) in room.rows("SELECT body FROM messages ORDER BY arrival")] == expected


async def test_failing_rows_of_one_organization_delay_no_others(room: Backroom) -> None:
    """Two hundred of them, older and never tried; the others are taken in turn, in each round."""
    others = [
        room.make.channel(room.make.organization(f"Loja {n}"), phone_number=f"+55113000888{n}") for n in "12"
    ]
    room.fail("messages", when=f"NEW.organization_id = '{room.organization_id}'")
    for _ in range(200):
        room.archived(room.message(), age="2 hours")
    for expected_attempts in (1, 2):
        for channel in others:
            for _ in range(3):
                room.archived(room.message(channel=channel), age="6 minutes", channel=channel)
        await room.replay(ONE_BY_ONE)
        order = [
            org == room.organization_id
            for (org,) in room.rows(
                "SELECT organization_id FROM webhook_events_log"
                " WHERE last_attempt_at > now() - interval '1 minute'"
                " AND (status = 'received' OR processed_at > now() - interval '1 minute')"
                " ORDER BY last_attempt_at"
            )
        ]
        assert (
            room.count("webhook_events_log", f"status = 'received' AND attempts = {expected_attempts}") == 200
        )
        assert order.count(False) == 6
        assert order.index(True) <= 2
        assert [i for i, failing in enumerate(order) if not failing][-1] <= 8
        room.sql("DELETE FROM webhook_events_log WHERE status = 'processed'")


async def test_a_round_takes_no_new_row_after_its_time_and_gives_each_row_its_own(room: Backroom) -> None:
    for _ in range(5):
        room.archived(room.message(), age="1 hour")
    with room.holding("LOCK TABLE messages"):
        started = time.monotonic()
        await room.replay(Pace(round_seconds=0.3, row_seconds=0.2, at_once=1))
        assert time.monotonic() - started < 2
    assert room.count("webhook_events_log", "attempts = 1 AND error_message LIKE 'timeout%'") == 2
    assert room.count("webhook_events_log", "attempts = 0 AND last_attempt_at IS NULL") == 3


async def test_a_worker_told_to_stop_finishes_its_row_and_takes_no_other(room: Backroom) -> None:
    for _ in range(3):
        room.archived(room.message(), age="1 hour")
    stop = asyncio.Event()
    with room.holding("LOCK TABLE messages"):
        running = asyncio.create_task(replay_round(room.db, pace=ONE_BY_ONE, stop=stop))
        await room.blocked(on="%fn_ingest_message%")
        stop.set()
    done = await running
    assert done is not None
    assert done.summary["processed"] == 1
    assert room.audited("webhook.replay_run") == [{"processed": 1}]


# Attempts


async def test_attempts_at_every_step(room: Backroom) -> None:
    row = room.archived(room.message())
    room.fail("conversations", event="UPDATE")
    await room.first(row)
    assert room.standing(row)[:2] == ("received", 1)
    room.age(row, "6 minutes")
    for attempts in (2, 3):
        await room.replay()
        status, now, error = room.standing(row)
        assert (status, now) == ("received", attempts)
        assert error is not None
        assert "made to fail" in error
    room.work("conversations")
    with room.holding("LOCK TABLE messages"):
        running = asyncio.create_task(room.replay())
        await room.blocked(on="%fn_ingest_message%")
        assert room.standing(row)[:2] == ("received", 4)  # committed before any work
        assert room.one("SELECT now() - last_attempt_at < '5 s' FROM webhook_events_log")
    await running
    assert room.standing(row) == ("processed", 4, None)
    assert room.facts() == WHOLE


async def test_a_row_is_claimed_as_it_was_selected_or_not_at_all(room: Backroom) -> None:
    """Somebody else tries it between selection and claim."""
    rows = [room.archived(room.message(), age=age) for age in ("2 hours", "1 hour")]
    with room.holding("LOCK TABLE messages"):
        running = asyncio.create_task(room.replay(ONE_BY_ONE))
        await room.blocked(on="%fn_ingest_message%")
        room.owner.execute("UPDATE webhook_events_log SET last_attempt_at = now() WHERE id = %s", (rows[1],))
    await running
    assert room.standing(rows[0]) == ("processed", 1, None)
    assert room.standing(rows[1]) == ("received", 0, None)


# Duplicates


async def test_an_ingestion_that_stopped_half_way_is_taken_up_again(room: Backroom) -> None:
    """T1 is in: no second stamp, then T2 and T3."""
    room.fail("event_log")
    row = await room.take_in(room.message("Parar"))
    room.work("event_log")
    room.age(row, "6 minutes")
    done = await room.replay()
    assert done.outcomes == {(room.organization_id, TryOutcome.INGESTED): 1}
    assert room.standing(row) == ("processed", 2, None)
    assert room.facts() == WHOLE | {"crm_leads": 0}


@pytest.mark.parametrize(
    ("stamped", "expected"),
    [
        ("last_message_at = NULL, last_inbound_at = NULL", ("Olá", 1, 0, 0)),
        ("last_message_at = last_message_at - interval '1 minute', last_inbound_at = NULL", ("Olá", 1, 0, 0)),
        ("last_message_at = last_message_at + interval '1 minute', last_inbound_at = NULL", ("", 0, 1, 0)),
    ],
)
async def test_a_message_that_was_never_stamped_is_and_counts_if_the_conversation_is_behind_it(
    room: Backroom, stamped: str, expected: tuple[Any, ...]
) -> None:
    room.fail("event_log")
    row = await room.take_in(room.message("Olá", sent_at=NOON))
    room.work("event_log")
    room.sql(f"UPDATE conversations SET {stamped}, unread_count = 0, last_message_preview = ''")
    room.age(row, "6 minutes")
    await room.replay()
    found = room.rows(
        "SELECT last_message_preview, unread_count, extract(epoch FROM last_message_at - %s)::int / 60,"
        " extract(epoch FROM last_inbound_at - %s)::int / 60 FROM conversations",
        NOON, NOON,
    )  # fmt: skip
    assert found == [expected]
    assert room.facts()["dispatch"] == 1


async def test_an_inbound_message_with_its_dispatch_is_closed_and_nothing_repeated(room: Backroom) -> None:
    raw = samples.encode(room.message())
    await room.take_in(raw)
    room.sql("UPDATE crm_leads SET status = 'lost'; UPDATE conversations SET unread_count = 0")
    row = room.archived(raw, age="1 hour", attempts=3, tried="1 minute")
    done = await room.replay()
    assert done.outcomes == {(room.organization_id, TryOutcome.DUPLICATE): 1}
    assert room.standing(row) == ("processed", 4, None)
    assert room.facts() == WHOLE | {"unread": 0}


@pytest.mark.parametrize(
    ("age", "attempts"), [("6 minutes", 0), ("1 hour", 19), ("1 hour", 20), ("7 hours", 0), ("7 hours", 20)]
)
async def test_a_message_of_ours_that_is_in_is_closed_at_any_age_and_attempt(
    room: Backroom, age: str, attempts: int
) -> None:
    """It cannot be told from the echo of our own send: no effects, no stamp, no notice."""
    await room.take_in(room.message(sent_at=NOON))
    raw = samples.encode(room.echo(sent_at=NOON))
    await room.take_in(raw)
    room.sql("UPDATE conversations SET unread_count = 7, last_outbound_at = NULL")
    facts = room.facts()
    row = room.archived(raw, age=age, attempts=attempts, tried="1 minute" if attempts else None)
    await room.replay()
    status, _attempts, error = room.standing(row)
    assert (status, error) == ("processed", None)
    assert room.facts() == facts
    assert room.one("SELECT last_outbound_at FROM conversations") is None
    assert room.notices() == {}


# A slow attempt and its successor (case F3)


@pytest.fixture
async def slow_db(room: Backroom) -> AsyncIterator[Database]:
    async with named(room, "slow") as db:
        yield db


async def test_a_slow_attempt_that_comes_last_decides_nothing(room: Backroom, slow_db: Database) -> None:
    row = room.archived(room.message("Parar"))
    with held_back(room, "contact_opt_outs", "slow"):
        trying = asyncio.create_task(first_attempt(slow_db, await room.load(row)))
        await room.blocked(on="%fn_record_opt_out%")
        room.age(row, "6 minutes")
        await room.replay()
        assert room.standing(row) == ("processed", 1, None)
        facts, closed = room.facts(), room.row(row)
    assert await trying is TryOutcome.SUPERSEDED
    assert (room.facts(), room.row(row)) == (facts, closed)
    assert facts == WHOLE | {"crm_leads": 0}


async def test_a_slow_attempt_that_comes_first_leaves_the_closing_to_its_successor(
    room: Backroom, slow_db: Database
) -> None:
    """Both are past T1; the row is the successor's."""
    row = room.archived(room.message("Parar"))
    async with named(room, "next") as next_db:
        with held_back(room, "contact_opt_outs", "next"):
            with held_back(room, "contact_opt_outs", "slow"):
                slow = asyncio.create_task(first_attempt(slow_db, await room.load(row)))
                await room.blocked(on="%fn_record_opt_out%")
                room.age(row, "6 minutes")
                successor = asyncio.create_task(replay_round(next_db, pace=QUICK))
                await room.blocked(2, on="%fn_record_opt_out%")
            assert await slow is TryOutcome.SUPERSEDED
            assert room.standing(row) == ("received", 1, None)
            assert room.facts()["dispatch"] == 0
        await successor
    assert room.standing(row) == ("processed", 1, None)
    assert room.facts() == WHOLE | {"crm_leads": 0}


async def test_a_slow_attempt_in_its_last_step_is_not_overtaken(room: Backroom, slow_db: Database) -> None:
    row = room.archived(room.message(), age="6 minutes")
    with held_back(room, "crm_leads", "slow"):
        trying = asyncio.create_task(first_attempt(slow_db, await room.load(row)))
        await room.blocked(on="%fn_message_effects%")
        await room.replay()
        assert room.standing(row) == ("received", 0, None)
    assert await trying is TryOutcome.INGESTED
    assert room.standing(row) == ("processed", 0, None)
    assert room.facts() == WHOLE


async def test_the_failure_of_a_slow_attempt_undoes_nothing_of_its_successor(
    room: Backroom, slow_db: Database
) -> None:
    row = room.archived(room.message("Parar"))
    with held_back(room, "contact_opt_outs", "slow"):
        trying = asyncio.create_task(first_attempt(slow_db, await room.load(row)))
        await room.blocked(on="%fn_record_opt_out%")
        room.age(row, "6 minutes")
        await room.replay()
        room.fail("webhook_events_log", event="UPDATE", when="NEW.status = 'received'")
        room.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'slow' AND wait_event_type = 'Lock'"
        )
        assert await trying is TryOutcome.FAILED
    assert room.standing(row) == ("processed", 1, None)
    assert room.notices() == {}


# One round at a time


async def test_rounds_do_not_overlap(room: Backroom) -> None:
    room.archived(room.message(), age="1 hour")
    with room.holding("LOCK TABLE messages"):
        running = asyncio.create_task(replay_round(room.db, pace=QUICK))
        await room.blocked(on="%fn_ingest_message%")
        assert await replay_round(room.db, pace=QUICK) is None
    assert (await running) is not None
    assert room.standing(room.one("SELECT id FROM webhook_events_log")) == ("processed", 1, None)


async def test_a_round_that_is_held_off_is_skipped_with_a_log_line_and_resumes(room: Backroom) -> None:
    """Case F6: the lock held in a session of somebody's psql."""
    room.archived(room.message(), age="1 hour")
    with room.holding(THE_LOCK), capture_logs() as logs:
        assert await replay_round(room.db, every=60) is None
        assert await replay_round(room.db, wait=0.05) is None
    assert [line["event"] for line in logs] == ["replay_round_skipped"] * 2
    assert room.facts()["messages"] == 0
    await room.replay()
    assert room.facts() == WHOLE


async def test_a_round_asked_for_waits_for_the_one_in_progress(room: Backroom) -> None:
    """Also longer than any statement may otherwise take."""
    room.archived(room.message(), age="1 hour")
    impatient = Database(room.database.app_url, name="cli", size=4, statement_timeout=0.1)
    await impatient.open()
    with room.holding(THE_LOCK):
        asked = asyncio.create_task(replay_round(impatient, wait=30))
        await until(
            lambda: room.count(
                "pg_stat_activity", "wait_event = 'advisory' AND now() - query_start > interval '0.3 s'"
            ) == 1
        )  # fmt: skip
    assert (await asked) is not None
    await impatient.close()
    assert room.facts() == WHOLE


async def test_the_round_ends_with_its_transaction_whatever_becomes_of_it(room: Backroom) -> None:
    """Case F2: the session that holds the round's lock is cut; nothing says `already running` for ever."""
    room.archived(room.message(), age="1 hour")
    with room.holding("LOCK TABLE messages"):
        running = asyncio.create_task(replay_round(room.db, pace=QUICK))
        await room.blocked(on="%fn_ingest_message%")
        holder = room.one(
            "SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid)"
            " WHERE locktype = 'advisory' AND granted AND state = 'idle in transaction'"
            " AND datname = current_database()"
        )
        room.sql(f"SELECT pg_terminate_backend({holder})")
        await until(lambda: not room.count("pg_stat_activity", f"pid = {holder}"))
        assert (await replay_round(room.db, pace=Pace(round_seconds=0))) is not None
    assert (await running) is not None  # it finished its row without its lock: claims are conditional
    assert room.facts() == WHOLE


async def test_a_round_is_due_by_the_databases_clock_alone(room: Backroom) -> None:
    """Case F7: of any number of workers one runs it; a clock put back delays none."""
    both = await asyncio.gather(*(replay_round(room.db, every=60, pace=QUICK) for _ in range(2)))
    assert sorted(done is None for done in both) == [False, True]
    with capture_logs() as logs:
        assert await replay_round(room.db, every=60) is None
    assert logs == []  # not due: nothing to tell
    for moved, due in (("- 59", False), ("- 61", True), ("+ 90", True)):
        room.sql(f"UPDATE cron_rounds SET last_round_at = clock_timestamp() + interval '1 s' * ({moved})")
        assert (await replay_round(room.db, every=60) is not None) is due, moved
    assert await replay_round(room.db) is not None  # asked for by hand: always due


async def test_the_loop_outlives_a_round_that_fails(room: Backroom) -> None:
    room.archived(room.message(), age="1 hour")
    room.fail("cron_rounds", event="INSERT", times=2)
    stop = asyncio.Event()
    with capture_logs() as logs:
        looping = asyncio.create_task(run_replay(room.db, stop, every=0.02, pace=QUICK))
        await until(lambda: room.facts() == WHOLE)
        stop.set()
        await asyncio.wait_for(looping, 5)
    assert [line["event"] for line in logs].count("replay_round_failed") == 2


# Audit


async def test_a_round_that_processed_or_gave_up_something_is_audited_per_organization(
    room: Backroom,
) -> None:
    other = room.make.channel(room.make.organization("Alheia"), phone_number="+551130008888")
    for _ in range(2):
        room.archived(room.message(), age="1 hour")
    room.archived(room.message(), age="7 hours")
    room.archived(room.message(channel=other), age="7 hours", channel=other)
    await room.replay()
    entries = room.rows("SELECT organization_id, action, actor, metadata FROM api_audit_log")
    assert sorted(entries, key=str) == sorted(
        [
            (room.organization_id, "webhook.replay_run", "webhook-replay", {"processed": 2, "gave_up": 1}),
            (other.organization_id, "webhook.replay_run", "webhook-replay", {"gave_up": 1}),
        ],
        key=str,
    )


async def test_an_empty_round_and_a_round_of_failures_leave_no_audit(room: Backroom) -> None:
    await room.replay()
    room.archived(room.message(), age="8 hours", marked=None)  # never accepted: nothing was promised
    room.fail("messages")
    rows = [room.archived(room.message(), age="1 hour") for _ in range(3)]
    await room.replay()
    assert {room.standing(row)[:2] for row in rows} == {("received", 1)}
    assert room.audited("webhook.replay_run") == []


async def test_a_round_that_breaks_off_is_audited_for_what_it_did(room: Backroom) -> None:
    row = room.archived(room.message(), age="1 hour")
    room.archived(room.message(), age="7 hours", marked=None)
    room.fail("webhook_events_log", event="UPDATE", when="NEW.error_message = 'not_accepted'")
    with pytest.raises(psycopg.errors.RaiseException):
        await replay_round(room.db, pace=QUICK)
    assert room.standing(row) == ("processed", 1, None)
    assert room.audited("webhook.replay_run") == [{"processed": 1}]


# Bad days


async def test_a_database_that_refuses_writes_for_long_costs_no_message(room: Backroom) -> None:
    """Case A19: forty messages, twenty-five rounds."""
    held = [await room.load(room.archived(room.message(conversation_id=f"t{n}"))) for n in range(40)]
    database, role = room.database.name, f"portaria_app IN DATABASE {room.database.name}"
    sessions = (
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        f" WHERE datname = '{database}' AND usename = 'portaria_app'"
    )
    room.sql(f"ALTER ROLE {role} SET default_transaction_read_only = on; {sessions}")
    try:
        for row in held:
            assert await first_attempt(room.db, row) is TryOutcome.FAILED
        room.sql("UPDATE webhook_events_log SET received_at = received_at - interval '6 minutes'")
        for _ in range(25):
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                await replay_round(room.db)
    finally:
        room.sql(f"ALTER ROLE {role} RESET default_transaction_read_only; {sessions}")
    await room.replay()
    assert room.count("webhook_events_log", "status = 'processed' AND attempts = 1") == 40
    assert room.facts()["messages"] == 40
    assert room.notices() == {}


async def test_a_full_disk_for_more_rounds_than_the_ceiling_costs_no_message(room: Backroom) -> None:
    rows = [room.archived(room.message(), age="1 hour") for _ in range(3)]
    room.fail("messages", "53100")
    for _ in range(22):
        await room.replay()
    for row in rows:
        status, attempts, error = room.standing(row)
        assert (status, attempts) == ("received", 0)
        assert error is not None
        assert "53100" in error
    room.work("messages")
    await room.replay()
    assert {room.standing(row) for row in rows} == {("processed", 1, None)}
    assert room.notices() == {}


async def test_a_backlog_is_drained_in_one_round(room: Backroom) -> None:
    """Case A20: first attempts never ran; three hundred messages of as many people."""
    for number in range(300):
        room.archived(
            room.message(conversation_id=f"t{number}", phone=f"+55119876{number:05d}"), age="20 minutes"
        )
    done = await room.replay(Pace())
    assert done.summary == {"processed": 300, "gave_up": 0, "failed": 0, "never_accepted": 0}
    assert room.facts() == dict.fromkeys(WHOLE, 300)


@pytest.mark.parametrize(
    "function", ["fn_ingest_message", "fn_record_opt_out", "fn_message_effects", "fn_close_row"]
)
async def test_every_step_after_the_failing_one_happens_once_on_replay(room: Backroom, function: str) -> None:
    """Case A21: for ten events a step of ours does not fit the schema, as in a half-finished deploy."""
    room.sql(f"ALTER FUNCTION {function} RENAME TO away")
    try:
        rows = [
            await room.take_in(
                room.message("Parar" if n % 2 else "Olá", conversation_id=f"t{n}", phone=f"+551198765000{n}")
            )
            for n in range(10)
        ]
    finally:
        room.sql(f"ALTER FUNCTION away RENAME TO {function}")
    failed = [row for row in rows if room.standing(row)[:2] == ("received", 1)]
    assert len(failed) == (5 if function == "fn_record_opt_out" else 10)
    room.sql("UPDATE webhook_events_log SET received_at = received_at - interval '6 minutes'")
    await room.replay()
    assert {room.standing(row) for row in failed} == {("processed", 2, None)}
    assert room.facts() == dict.fromkeys(WHOLE, 10) | {"crm_leads": 5}
    assert room.count("contacts", "is_blocked") == 5
    assert len(room.audited("contact.blocked")) == 5
