"""T3 (spec 2.3): an open lead, `message.received`, the dispatch request, and the row's closing, as one."""

import asyncio
from typing import Any

import pytest

from portaria.intake.accepted import TryOutcome
from portaria.intake.by_hand import replay_by_hand
from portaria.intake.ingest import run_effects
from portaria.intake.providers import samples
from tests.intake.backroom import WHOLE, Backroom


def payloads(room: Backroom) -> dict[str, dict[str, Any]]:
    """The payload of the newest fact of each kind."""
    return dict(
        room.rows("SELECT event_type, payload FROM event_log WHERE entity_kind = 'message' ORDER BY seq")
    )


async def test_the_facts_name_contact_lead_and_owner(room: Backroom) -> None:
    await room.take_in(room.message("Olá"))
    facts = payloads(room)
    assert set(facts) == {"message.received", "ai_agent.dispatch_requested"}
    ((contact, lead, conversation, message),) = room.rows(
        "SELECT c.id, l.id, v.id, m.id FROM contacts c, crm_leads l, conversations v, messages m"
    )
    for payload in facts.values():
        assert payload["contact_id"] == str(contact)
        assert payload["lead_id"] == str(lead)
        assert payload["conversation_id"] == str(conversation)
        assert payload["owner_user_id"] is None
        assert payload["blocked"] is False
        assert payload["text"] == "Olá"
    assert room.rows("SELECT DISTINCT entity_id FROM event_log WHERE entity_kind = 'message'") == [(message,)]
    assert room.rows(
        "SELECT title, source, stage, status, owner_user_id, contact_id, conversation_id FROM crm_leads"
    ) == [("Cliente Exemplo", "whatsapp", "new", "open", None, contact, conversation)]


async def test_an_open_lead_is_met_again_with_its_owner_and_a_closed_one_is_followed_by_another(
    room: Backroom,
) -> None:
    owner = room.make.member(room.organization_id)
    await room.take_in(room.message())
    room.owner.execute("UPDATE crm_leads SET owner_user_id = %s", (owner,))
    await room.take_in(room.message())
    assert room.count("crm_leads") == 1
    assert payloads(room)["message.received"]["owner_user_id"] == str(owner)
    for number, end in enumerate(("won", "lost"), start=2):
        room.sql(f"UPDATE crm_leads SET status = '{end}' WHERE status = 'open'")
        await room.take_in(room.message())
        assert (room.count("crm_leads"), room.count("crm_leads", "status = 'open'")) == (number, 1)
        assert payloads(room)["message.received"]["owner_user_id"] is None


async def test_two_messages_of_one_contact_at_once_make_one_lead(room: Backroom) -> None:
    """Both come to T3 together: the contact is locked before an open lead is looked for."""
    await room.take_in(room.echo())
    rows = [room.archived(room.message(conversation_id=thread)) for thread in ("t1", "t2")]
    with room.holding("SELECT FROM contacts FOR NO KEY UPDATE"):
        trying = [asyncio.create_task(room.first(row)) for row in rows]
        await room.blocked(2, on="%fn_message_effects%")
    await asyncio.gather(*trying)
    assert room.count("crm_leads") == 1
    assert room.facts()["dispatch"] == 2


async def test_the_lock_sees_a_block_and_a_lead_that_came_while_it_waited(room: Backroom) -> None:
    await room.take_in(room.echo())
    row = room.archived(room.message())
    with room.holding("UPDATE contacts SET is_blocked = true"):
        trying = asyncio.create_task(room.first(row))
        await room.blocked(on="%fn_message_effects%")
    await trying
    assert room.count("crm_leads") == 0
    assert payloads(room)["ai_agent.dispatch_requested"]["blocked"] is True


async def test_at_most_one_fact_of_a_kind_per_message(room: Backroom) -> None:
    raw = samples.encode(room.message())
    rows = [room.archived(raw, age="6 minutes") for _ in range(8)]
    await room.replay()
    assert room.facts() == WHOLE
    assert {room.standing(row) for row in rows} == {("processed", 1, None)}


async def test_the_database_refuses_a_second_dispatch_request(room: Backroom) -> None:
    await room.take_in(room.message())
    with pytest.raises(Exception, match="event_log_once_per_message"):
        room.sql(
            "INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id)"
            " SELECT organization_id, gen_random_uuid(), event_type, entity_kind, entity_id FROM event_log"
            " WHERE event_type = 'ai_agent.dispatch_requested'"
        )


async def test_effects_that_are_complete_close_the_row_as_processed_whatever_it_was_to_become(
    room: Backroom,
) -> None:
    """A redelivery completed them a moment before this row would have been given up: nobody is told."""
    raw = samples.encode(room.message())
    late = room.archived(raw)
    await room.take_in(raw)
    message = room.one("SELECT id FROM messages")
    async with room.db.connection() as conn:
        held = await room.load(late)
        done = await run_effects(conn, held, message, dispatch=False, status="dead", note="gave up")
        assert done == "already"
        assert await run_effects(conn, held, message, dispatch=False, status="dead") == "superseded"
    assert room.standing(late) == ("processed", 0, None)
    assert room.facts() == WHOLE


async def test_a_dispatch_that_comes_after_the_other_effects_makes_no_second_lead_and_tells_of_a_block_since(
    room: Backroom,
) -> None:
    """Given up without its dispatch, replayed by hand within the window; the contact was blocked since."""
    room.fail("event_log", when="NEW.event_type = 'ai_agent.dispatch_requested'")
    row = room.archived(room.message(), age="10 minutes", attempts=19, tried="1 minute")
    await room.replay()
    assert room.standing(row)[:2] == ("dead", 20)
    assert room.facts() == WHOLE | {"dispatch": 0}
    room.work("event_log")
    room.sql("UPDATE crm_leads SET status = 'lost'; UPDATE contacts SET is_blocked = true")
    replayed = await replay_by_hand(room.db, row, actor="ana", organization_id=None)
    assert replayed.outcome is TryOutcome.INGESTED
    assert room.facts() == WHOLE
    assert payloads(room)["message.received"]["blocked"] is False
    assert payloads(room)["ai_agent.dispatch_requested"]["blocked"] is True
