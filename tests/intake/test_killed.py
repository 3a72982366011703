"""Real processes killed or frozen at a known step of ingestion (spec 2.3, 2.4, 6): nothing lost or doubled.

A step is held by a trigger that waits for the test's lock. Whoever dies there leaves its statement with
the server: it is cut off with it, or it commits although nobody hears of it. Both happen.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import psycopg
import pytest

from portaria.db.pool import Database
from portaria.intake.accepted import load_row
from portaria.intake.first_attempt import first_attempt
from portaria.intake.ingest import ingest_together
from portaria.intake.replay import replay_round
from tests.conftest import TestDatabase
from tests.intake.backroom import QUICK, WHOLE, Backroom, empty
from tests.support.processes import forked, until

T = TypeVar("T")
STEPS = {
    "inside T1": ("messages", "INSERT", "Olá"),
    "between T1 and T2": ("contact_opt_outs", "INSERT", "Parar"),
    "inside T2": ("contacts", "UPDATE", "Parar"),
    "between T2 and T3": ("webhook_events_log", "UPDATE", "Parar"),
    "inside T3": ("crm_leads", "INSERT", "Olá"),
    "at the end of T3": ("event_log", "INSERT", "Olá"),
}


@pytest.fixture
def room(shared_database: TestDatabase) -> Iterator[Backroom]:
    """Without a pool in this process, which is about to fork."""
    with psycopg.connect(shared_database.owner_url, autocommit=True) as owner:
        empty(owner)
        yield Backroom(owner, Database("", name="unused", size=1), shared_database)


def run(room: Backroom, name: str, work: Callable[[Database], Awaitable[T]]) -> T:
    async def main() -> T:
        db = Database(room.database.app_url, name=name, size=4)
        await db.open()
        try:
            return await work(db)
        finally:
            await db.close()

    return asyncio.run(main())


def ingesting(room: Backroom, row: UUID, by: str) -> Callable[[Path], None]:
    """What the victim does: the row's first attempt, or a round of the replay."""

    async def work(db: Database) -> None:
        if by == "replay":
            await replay_round(db, pace=QUICK)
            return
        async with db.connection() as conn:
            held = await load_row(conn, row)
        assert held is not None
        await first_attempt(db, held)

    return lambda _report: run(room, "victim", work)


@contextmanager
def held_at(room: Backroom, table: str, event: str) -> Iterator[None]:
    """The victim waits at its first such write. At the end it may go on."""
    when = "NEW.status = 'processed'" if table == "webhook_events_log" else "true"
    room.sql(
        "CREATE OR REPLACE FUNCTION hold_victim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF current_setting('application_name') = 'victim' THEN PERFORM pg_advisory_xact_lock(78); END IF;"
        " RETURN NEW; END $$;"
        f"CREATE TRIGGER fail_victim BEFORE {event} ON {table} FOR EACH ROW WHEN ({when})"
        " EXECUTE FUNCTION hold_victim()"
    )
    with room.holding("SELECT pg_advisory_xact_lock(78)"):
        yield
    until(lambda: not room.count("pg_stat_activity", "application_name = 'victim' AND state = 'active'"))
    room.sql(f"DROP TRIGGER fail_victim ON {table}")


def wait_until_held(room: Backroom) -> None:
    until(lambda: room.count("pg_stat_activity", "application_name = 'victim' AND wait_event = 'advisory'"))


def cut_off(room: Backroom) -> None:
    """The victim's connections end, as they do when the server hears of its death."""
    room.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'")
    until(lambda: not room.count("pg_stat_activity", "application_name = 'victim'"))


def expected(text: str) -> dict[str, int]:
    return WHOLE | {"crm_leads": int(text == "Olá")}


@pytest.mark.parametrize("statement", ["is cut off", "commits unheard"])
@pytest.mark.parametrize("by", ["first attempt", "replay"])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_loses_and_doubles_nothing(
    room: Backroom, tmp_path: Path, step: str, by: str, statement: str
) -> None:
    table, event, text = STEPS[step]
    row = room.archived(room.message(text), age="6 minutes")
    spent = int(by == "replay")
    with held_at(room, table, event), forked(ingesting(room, row, by), tmp_path / "report") as pid:
        wait_until_held(room)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert room.standing(row) == ("received", spent, None)  # in a replay it has risen before any work
        assert room.count("messages") == (step != "inside T1")
        if statement == "is cut off":
            cut_off(room)
    closed = statement == "commits unheard" and (table == "webhook_events_log" or step.endswith("T3"))
    assert room.standing(row) == ("processed" if closed else "received", spent, None)
    done = run(room, "tests", lambda db: replay_round(db, pace=QUICK))
    assert done is not None  # a round killed half-way blocks nothing (case F2)
    assert room.standing(row) == ("processed", spent if closed else spent + 1, None)
    assert room.facts() == expected(text)
    assert room.count("contacts", "is_blocked") == int(text == "Parar")
    assert len(room.audited("contact.blocked")) == int(text == "Parar")
    assert room.notices() == {}


@pytest.mark.parametrize("statement", ["is cut off", "commits unheard"])
@pytest.mark.parametrize("step", ["inside T1", "inside T3", "at the end of T3", "its closing"])
def test_a_kill_inside_a_batch_loses_and_doubles_nothing(
    room: Backroom, tmp_path: Path, step: str, statement: str
) -> None:
    """Several people's messages, one of them delivered twice, in one transaction: all or nothing."""
    table, event, _text = {**STEPS, "its closing": STEPS["between T2 and T3"]}[step]
    bodies = [room.message(conversation_id=f"t{n}", phone=f"+551198765000{n}") for n in range(3)]
    rows = [room.archived(body, age="6 minutes") for body in (*bodies, bodies[0])]

    async def batch(db: Database) -> None:
        async with db.connection() as conn:
            held = [await load_row(conn, row) for row in rows]
        await ingest_together(db, [row for row in held if row is not None], lock_wait=60)

    with (
        held_at(room, table, event),
        forked(lambda _report: run(room, "victim", batch), tmp_path / "report") as pid,
    ):
        wait_until_held(room)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert not any(room.facts().values())
        if statement == "is cut off":
            cut_off(room)
    closed = statement == "commits unheard"
    assert [room.standing(row) for row in rows] == [("processed" if closed else "received", 0, None)] * 4
    run(room, "tests", lambda db: replay_round(db, pace=QUICK))
    assert [room.standing(row) for row in rows] == [("processed", 0 if closed else 1, None)] * 4
    assert room.facts() == dict.fromkeys(WHOLE, 3)
    assert room.notices() == {}


@pytest.mark.parametrize("by", ["first attempt", "replay"])
@pytest.mark.parametrize("step", ["between T1 and T2", "inside T2"])
def test_an_attempt_frozen_and_continued_later_decides_nothing(
    room: Backroom, tmp_path: Path, step: str, by: str
) -> None:
    """Case F3 with a process that stood still while its successor finished."""
    table, event, text = STEPS[step]
    row = room.archived(room.message(text), age="6 minutes")
    report = tmp_path / "report"
    with forked(ingesting(room, row, by), report) as pid:
        with held_at(room, table, event):
            wait_until_held(room)
            os.kill(pid, signal.SIGSTOP)
        if by == "replay":
            # The frozen round holds its lock for 40 s: the server cuts it then.
            room.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'victim' AND state = 'idle in transaction'"
            )
        run(room, "tests", lambda db: replay_round(db, pace=QUICK))
        closed, facts = room.row(row), room.facts()
        assert (closed["status"], closed["attempts"]) == ("processed", 1 + int(by == "replay"))
        assert facts == expected(text)
        os.kill(pid, signal.SIGCONT)
        _pid, code = os.waitpid(pid, 0)
        assert code == 0, report.read_text()
    assert (room.row(row), room.facts()) == (closed, facts)
    assert len(room.audited("contact.blocked")) == 1
    assert room.notices() == {}


def test_a_frozen_first_attempt_continued_after_its_row_died_inserts_nothing(
    room: Backroom, tmp_path: Path
) -> None:
    """It stood still before its first statement for longer than the window."""
    row = room.archived(room.message(), age="6 minutes")
    with forked(ingesting(room, row, "first attempt"), tmp_path / "report") as pid:
        with room.holding("LOCK TABLE webhook_events_log"):
            until(
                lambda: room.count(
                    "pg_stat_activity", "application_name = 'victim' AND wait_event_type = 'Lock'"
                )
            )
            os.kill(pid, signal.SIGSTOP)
        room.age(row, "7 hours")
        run(room, "tests", lambda db: replay_round(db, pace=QUICK))
        assert room.standing(row)[0] == "dead"
        os.kill(pid, signal.SIGCONT)
        os.waitpid(pid, 0)
    assert room.standing(row)[0] == "dead"
    assert not any(room.facts().values())
