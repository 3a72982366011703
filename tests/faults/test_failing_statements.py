"""Statements that fail now and then, in the middle of any step: deadlock, serialization, timeout, space."""

import asyncio

import psycopg
import pytest

from tests.conftest import TestDatabase
from tests.faults.conftest import FrontDesk, OpenFrontDesk
from tests.support.waiting import until

WRITTEN = (
    "webhook_events_log", "contacts", "conversations", "messages", "contact_opt_outs", "crm_leads",
    "event_log", "automation_rule_runs", "automation_rodizio_atribuicoes", "incoming_events",
    "lead_form_submissions", "procrastinate_jobs", "notices",
)  # fmt: skip


def trouble(owner: psycopg.Connection, sqlstate: str) -> None:
    """One row written in ten fails, in every table there is for what arrives."""
    owner.execute("CREATE SEQUENCE troubles; GRANT USAGE ON SEQUENCE troubles TO public")
    owner.execute(
        "CREATE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF random() < 0.1 THEN"
        f" PERFORM nextval('troubles'); RAISE EXCEPTION 'made to fail' USING ERRCODE = '{sqlstate}'; END IF;"
        " RETURN coalesce(NEW, OLD); END $$"
    )
    for table in WRITTEN:
        owner.execute(
            f"CREATE TRIGGER trouble BEFORE INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW"
            " EXECUTE FUNCTION trouble()"
        )


def no_trouble(owner: psycopg.Connection) -> int:
    """Ends `trouble`; how often there was some."""
    for table in WRITTEN:
        owner.execute(f"DROP TRIGGER trouble ON {table}")
    [(times,)] = owner.execute("SELECT last_value FROM troubles").fetchall()
    return int(times)


@pytest.mark.parametrize(
    "sqlstate", ["40P01-deadlock", "40001-serialization", "57014-statement-timeout", "53100-disk-full"]
)
async def test_one_write_in_ten_fails_and_nothing_is_lost_or_doubled(desk: FrontDesk, sqlstate: str) -> None:
    trouble(desk.owner, sqlstate[:5])
    tally = await desk.send(45)
    assert no_trouble(desk.owner) > 20
    assert len(tally.answered) > 30
    assert not any(answer.endswith("without a code") for answer in tally.answers)
    await desk.rest()
    assert desk.look() == {}


async def test_a_real_deadlock_is_tried_again_at_once_within_the_attempt(
    desk: FrontDesk, database: TestDatabase
) -> None:
    """T3 holds the contact and wants the queue; somebody else holds the queue and wants the contact."""
    with psycopg.connect(database.owner_url) as other:
        waits = f"{other.info.backend_pid} = ANY(pg_blocking_pids(pid))"
        blocked = f"SELECT query FROM pg_stat_activity WHERE {waits}"
        while True:
            other.execute("LOCK TABLE procrastinate_jobs IN SHARE MODE")
            sending, _ = desk.begin(20)
            try:
                await until(
                    lambda: any("fn_message_effects" in query for (query,) in desk.rows(blocked)), within=5.0
                )
                await asyncio.to_thread(other.execute, "UPDATE contacts SET name = name")
            except (AssertionError, psycopg.errors.DeadlockDetected):
                # All that are tried wait for a form's contact, or the victim was not ours: once more.
                other.rollback()
                await sending
            else:
                break
        other.commit()
    await sending
    await until(lambda: desk.ask("unfinished")[0][0] == 0)
    tried = "SELECT 1 FROM webhook_events_log WHERE attempts > 0 OR status <> 'processed'"
    assert desk.rows(tried) == []
    await desk.rest()
    assert desk.look() == {}
    counted = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    await until(lambda: desk.rows(counted) > [(0,)])


async def test_a_statement_timeout_in_the_archive_is_503_at_all_three_doors(
    open_front_desk: OpenFrontDesk, database: TestDatabase
) -> None:
    async with open_front_desk(database.owner_url, database.app_url, answer_within=0.6) as desk:
        await desk.send(10)
        with psycopg.connect(database.owner_url) as other:
            other.execute("LOCK TABLE webhook_events_log, incoming_events")
            sending, tally = desk.begin(30)
            await until(lambda: {"message 503 unavailable", "event 503 unavailable"} <= tally.answers.keys())
            await until(lambda: "form 503 unavailable" in tally.answers)
            assert tally.answered == set()
        await sending
        await desk.rest()
        assert desk.look() == {}
