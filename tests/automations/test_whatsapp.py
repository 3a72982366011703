"""Leads born from messages: one lead, one turn, whatever the provider repeats or sends at once."""

import asyncio

import psycopg
import pytest

from portaria.automations.engine import run_rules
from portaria.crm.leads import LeadDraft, create_lead
from portaria.db.pool import Database
from portaria.events import consume
from tests.conftest import TestDatabase
from tests.intake.backroom import QUICK, Backroom
from tests.support.factory import Factory
from tests.support.rotation import Desk, rotation


@pytest.fixture
def room(owner: psycopg.Connection, db: Database, database: TestDatabase) -> Backroom:
    return Backroom(owner, db, database)


@pytest.fixture
def desk(room: Backroom, make: Factory) -> Desk:
    return Desk(room.owner, make, room.organization_id)


async def work_off(desk: Desk, db: Database) -> None:
    for _, _, event in desk.jobs():
        await consume(db, run_rules, desk.org, event)
    desk.conn.execute("DELETE FROM procrastinate_jobs")


async def test_one_message_delivered_twice_at_once_is_one_lead_and_one_turn(
    room: Backroom, desk: Desk, db: Database
) -> None:
    """A1."""
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b))
    body = room.message()
    await asyncio.gather(room.take_in(body), room.take_in(body))
    await work_off(desk, db)
    assert desk.turns(rule) == [a]
    assert [desk.events(kind) for kind in ("lead.created", "lead.assigned")] == [1, 1]
    assert desk.value("SELECT unread_count FROM conversations") == 1


async def test_two_first_messages_at_once_turn_the_queue_once(
    room: Backroom, desk: Desk, db: Database
) -> None:
    """A2."""
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b))
    await asyncio.gather(room.take_in(room.message()), room.take_in(room.message()))
    await work_off(desk, db)
    assert desk.turns(rule) == [a]
    counts = "SELECT (SELECT count(*) FROM contacts), (SELECT count(*) FROM crm_leads), unread_count"
    assert desk.conn.execute(f"{counts} FROM conversations").fetchall() == [(1, 1, 2)]


async def test_however_a_lead_came_the_same_queue_and_the_same_skips(
    room: Backroom, desk: Desk, db: Database
) -> None:
    """H15: by its first attempt, by the replay, by hand, by import, by SQL."""
    a, b, c = desk.members("Ana", "Bia", "Caio")
    rule = desk.rule(rotation(a, b, c, paused=(b,)))
    await room.take_in(room.message(phone="+5511900000001", conversation_id="a"))
    await work_off(desk, db)
    room.archived(room.message(phone="+5511900000002", conversation_id="b"), age="10 minutes")
    await room.replay(QUICK)
    await work_off(desk, db)
    for source in ("console", "import"):
        async with db.transaction() as conn:
            draft = LeadDraft(name="Rui", phone="+5511900000003", source=source)  # type: ignore[arg-type]
            await create_lead(conn, desk.principal("agent"), draft)
        await work_off(desk, db)
    desk.lead()
    await work_off(desk, db)
    assert desk.turns(rule) == [a, c, a, c, a]


async def test_who_asked_to_leave_gets_no_lead_and_no_turn(room: Backroom, desk: Desk, db: Database) -> None:
    rule = desk.rule(rotation(*desk.members("Ana")))
    moved = desk.rule({"type": "add_tag", "config": {"tag": "x"}}, trigger="message.received")
    await room.take_in(room.message("SAIR"))
    await work_off(desk, db)
    assert desk.turns(rule) == []
    assert desk.value("SELECT status FROM automation_rule_runs WHERE rule_id = %s", moved) == "skipped"
