"""Whoever asks to leave is blocked before anything else comes of the message (spec 2.3 T2)."""

import pytest

from portaria.crm.inbox import unblock_contact
from portaria.intake.by_hand import replay_by_hand
from portaria.intake.providers import samples
from tests.intake.backroom import WHOLE, Backroom
from tests.intake.zernio_payloads import payload


def blocked(room: Backroom) -> tuple[bool, str | None]:
    ((is_blocked, reason, dated),) = room.rows(
        "SELECT is_blocked, blocked_reason, blocked_at IS NOT NULL FROM contacts"
    )
    assert dated is is_blocked
    return is_blocked, reason


async def unblock(room: Backroom) -> None:
    contact = room.one("SELECT id FROM contacts")
    async with room.db.tenant(room.organization_id) as conn:
        assert await unblock_contact(conn, room.organization_id, contact, actor="ana")


async def test_whoever_asks_to_leave_is_blocked_and_is_no_new_opportunity(room: Backroom) -> None:
    row = await room.take_in(room.message("Parar.", external_id="wamid.stop"))
    assert room.standing(row) == ("processed", 0, None)
    assert blocked(room) == (True, "stop_keyword")
    assert room.facts() == WHOLE | {"crm_leads": 0}
    assert room.audited("contact.blocked") == [{"reason": "stop_keyword", "external_id": "wamid.stop"}]
    payloads = room.rows("SELECT payload -> 'blocked', payload -> 'lead_id' FROM event_log")
    assert payloads == [(True, None), (True, None)]


async def test_the_providers_sample_asks_to_leave(room: Backroom) -> None:
    await room.take_in(payload("message.received.opt-out"))
    assert blocked(room) == (True, "stop_keyword")


async def test_a_blocked_sender_is_heard_and_makes_no_lead(room: Backroom) -> None:
    await room.take_in(room.echo())
    room.sql("UPDATE contacts SET is_blocked = true, blocked_reason = 'manual', blocked_at = now()")
    await room.take_in(room.message("Olá?"))
    assert blocked(room) == (True, "manual")
    assert room.facts() == WHOLE | {"messages": 2, "crm_leads": 0}
    assert room.rows("SELECT DISTINCT payload -> 'blocked' FROM event_log") == [(True,)]
    assert room.audited("contact.blocked") == []


async def test_a_blocked_sender_with_an_open_lead_keeps_it(room: Backroom) -> None:
    await room.take_in(room.message("Olá"))
    await room.take_in(room.message("Parar"))
    assert room.facts() == WHOLE | {"messages": 2, "received": 2, "dispatch": 2, "unread": 2}
    lead = str(room.one("SELECT id FROM crm_leads"))
    last = (
        "SELECT payload ->> 'lead_id', payload -> 'blocked' FROM event_log"
        " WHERE event_type = 'message.received' ORDER BY seq DESC LIMIT 1"
    )
    assert room.rows(last) == [(lead, True)]


async def test_what_we_write_blocks_nobody(room: Backroom) -> None:
    await room.take_in(room.echo("PARAR"))
    assert blocked(room) == (False, None)
    assert room.count("contact_opt_outs") == 0


async def test_an_opt_out_counts_once_per_message_and_a_person_has_the_last_word(room: Backroom) -> None:
    """After a manual unblock neither a redelivery, nor the cron, nor a replay by hand blocks again."""
    raw = samples.encode(room.message("Parar", external_id="wamid.stop"))
    row = await room.take_in(raw)
    await unblock(room)
    await room.take_in(raw)
    again = room.archived(raw, age="6 minutes")
    await room.replay()
    assert room.standing(again)[0] == "processed"
    await replay_by_hand(room.db, row, actor="ana", organization_id=room.organization_id)
    lost = room.archived(raw, age="7 hours")
    await room.replay()
    assert room.standing(lost)[0] == "processed"
    assert blocked(room) == (False, None)
    await room.take_in(room.message("Parar"))
    assert blocked(room) == (True, "stop_keyword")
    assert len(room.audited("contact.blocked")) == 2


async def test_an_opt_out_whose_effects_were_lost_is_not_repeated_when_they_are_taken_up(
    room: Backroom,
) -> None:
    room.fail("event_log")
    row = await room.take_in(room.message("Parar"))
    assert room.standing(row)[:2] == ("received", 1)
    assert blocked(room) == (True, "stop_keyword")  # committed by itself
    await unblock(room)
    room.work("event_log")
    room.age(row, "6 minutes")
    await room.replay()
    assert room.standing(row) == ("processed", 2, None)
    assert blocked(room) == (False, None)
    assert len(room.audited("contact.blocked")) == 1


async def test_without_the_opt_out_nothing_further_happens(room: Backroom) -> None:
    room.fail("contact_opt_outs")
    row = await room.take_in(room.message("Parar"))
    assert room.standing(row)[:2] == ("received", 1)
    assert room.facts() == WHOLE | {"crm_leads": 0, "received": 0, "dispatch": 0}
    room.work("contact_opt_outs")
    room.age(row, "6 minutes")
    await room.replay()
    assert room.standing(row) == ("processed", 2, None)
    assert blocked(room) == (True, "stop_keyword")
    assert room.facts() == WHOLE | {"crm_leads": 0}


async def test_a_block_without_its_audit_does_not_exist(room: Backroom) -> None:
    room.fail("api_audit_log")
    await room.take_in(room.message("Parar"))
    assert blocked(room) == (False, None)
    assert room.count("contact_opt_outs") == 0


@pytest.mark.parametrize("role", ["agent", "admin"])
async def test_a_sender_who_is_a_member_of_the_organization_is_honoured(room: Backroom, role: str) -> None:
    """Case B7."""
    member = room.make.member(room.organization_id, "Ana", role=role)
    await room.take_in(room.message("Oi", name="Ana"))
    room.owner.execute("UPDATE contacts SET email = (SELECT email FROM users WHERE id = %s)", (member,))
    await room.take_in(room.message("STOP", name="Ana"))
    assert blocked(room) == (True, "stop_keyword")
