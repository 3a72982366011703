"""The same message many times, and first messages of one person at the same time (cases A1, A2, A3, A6)."""

from datetime import UTC, datetime
from typing import Any

import psycopg

from portaria.crm.inbox import mark_read
from portaria.intake.providers import samples
from tests.intake.conftest import Desk, OpenDesk, until
from tests.intake.reused import database
from tests.support.raw_http import deliver

__all__ = ["database"]

NOW = datetime.now(UTC)


def facts(desk: Desk) -> dict[str, int]:
    kinds = dict(desk.rows("SELECT event_type, count(*) FROM event_log GROUP BY 1"))
    counted = {t: desk.count(t) for t in ("contacts", "conversations", "messages", "crm_leads")}
    return counted | {
        "received": kinds.get("message.received", 0),
        "dispatch": kinds.get("ai_agent.dispatch_requested", 0),
        "unread": desk.one("SELECT coalesce(sum(unread_count), 0)::integer FROM conversations"),
    }


ONCE = {
    "contacts": 1,
    "conversations": 1,
    "messages": 1,
    "crm_leads": 1,
    "received": 1,
    "dispatch": 1,
    "unread": 1,
}


def all_in_one_attempt(desk: Desk, rows: int) -> None:
    assert desk.rows(
        "SELECT status, attempts, error_message, count(*)::integer FROM webhook_events_log GROUP BY 1, 2, 3"
    ) == [("processed", 0, None, rows)]


async def sent(desk: Desk, bodies: list[dict[str, Any]], *, lines: int) -> None:
    requests = [desk.request(samples.encode(body)) for body in bodies]
    answers = await deliver(desk.url, requests, lines=lines)
    assert [a.json().get("status") for a in answers] == ["accepted"] * len(bodies)


async def test_fifty_identical_messages_in_parallel_are_one(open_desk: OpenDesk) -> None:
    async with open_desk(first_attempts=8) as desk:
        await sent(desk, [desk.message(external_id="wamid.TST0001")] * 50, lines=50)
        await desk.settled()
        assert facts(desk) == ONCE
        all_in_one_attempt(desk, 50)


async def test_the_second_delivery_meets_the_first_before_its_commit(desk: Desk) -> None:
    """Case A1: both are in T1 when the first may commit."""
    body = desk.message(external_id="wamid.TST0001")
    with desk.held("conversations"):
        await sent(desk, [body, body], lines=2)
        await until(lambda: waiting(desk) == 2)
    await desk.settled()
    assert facts(desk) == ONCE
    all_in_one_attempt(desk, 2)


def waiting(desk: Desk) -> int:
    return desk.count("pg_stat_activity", "wait_event_type = 'Lock' AND query LIKE '%%fn_ingest_%%'")


async def test_two_first_messages_at_once_a_hundred_times_over(open_desk: OpenDesk) -> None:
    """Case A2: always one contact, one conversation, one open lead."""
    people = 100
    async with open_desk(first_attempts=8) as desk:
        bodies = [
            samples.message_received(
                desk.channel.account_id,
                f"wamid.{kind}{person}",
                f"+55119876{person:05d}",
                kind,
                NOW,
                "Cliente",
            )
            for person in range(people)
            for kind in ("imagem", "áudio")
        ]
        await sent(desk, bodies, lines=8)
        await desk.settled(30.0)
        assert facts(desk) == {name: people * (2 if name in DOUBLE else 1) for name in ONCE}
        assert desk.rows("SELECT DISTINCT unread_count FROM conversations") == [(2,)]
        assert desk.count("crm_leads", "status = 'open'") == people
        all_in_one_attempt(desk, 2 * people)


DOUBLE = ("messages", "received", "dispatch", "unread")


async def test_whoever_loses_the_contacts_key_finishes_in_its_first_attempt(desk: Desk) -> None:
    """Case A3: two threads of one new phone; both wait on the key that somebody else holds."""
    phone = "+5511987650001"
    bodies = [desk.message(phone=phone, conversation_id=thread) for thread in ("c1", "c2")]
    with psycopg.connect(desk.database.owner_url) as other:
        other.execute(
            "INSERT INTO contacts (organization_id, id, phone_number) VALUES (%s, gen_random_uuid(), %s)",
            (desk.channel.organization_id, phone),
        )
        await sent(desk, bodies, lines=2)
        await until(lambda: waiting(desk) == 2)
        other.commit()
    await desk.settled()
    assert facts(desk) == ONCE | dict.fromkeys(DOUBLE, 2) | {"conversations": 2}
    all_in_one_attempt(desk, 2)


async def test_first_messages_that_race_for_the_contacts_key_both_finish(desk: Desk) -> None:
    phone = "+5511987650001"
    bodies = [desk.message(phone=phone, conversation_id=thread) for thread in ("c1", "c2", "c3")]
    with psycopg.connect(desk.database.owner_url) as other:
        other.execute(
            "INSERT INTO contacts (organization_id, id, phone_number) VALUES (%s, gen_random_uuid(), %s)",
            (desk.channel.organization_id, phone),
        )
        await sent(desk, bodies, lines=3)
        await until(lambda: waiting(desk) == 3)
        other.rollback()
    await desk.settled()
    assert facts(desk) == ONCE | dict.fromkeys(DOUBLE, 3) | {"conversations": 3}
    all_in_one_attempt(desk, 3)


async def test_a_message_that_comes_again_and_again_changes_nothing_more(desk: Desk) -> None:
    """Case A6: at 0 s, 1 s, 40 s, 10 min, 5 h 59 min; answered and read, and the lead closed, meanwhile."""
    body = desk.message(external_id="wamid.A6")
    for age in ("5 h 59 min", "10 min", "40 s", "1 s"):
        assert (await desk.post(body)).json()["status"] == "accepted"
        await desk.settled()
        desk.age(age)
        if age == "5 h 59 min":
            assert facts(desk) == ONCE
            conversation = desk.one("SELECT id FROM conversations")
            through = desk.one("SELECT max(arrival) FROM messages")
            async with desk.db.transaction() as conn:
                await mark_read(conn, desk.channel.organization_id, conversation, through)
            desk.owner.execute("UPDATE crm_leads SET status = 'won'")
    assert (await desk.post(body)).json()["status"] == "accepted"
    await desk.settled()
    assert facts(desk) | {"unread": 1} == ONCE
    assert desk.one("SELECT unread_count FROM conversations") == 0
    all_in_one_attempt(desk, 5)
