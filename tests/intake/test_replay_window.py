"""Past the window of six hours (spec 2.4): nothing is ingested, an agent would answer an old message."""

from datetime import timedelta

import pytest

from portaria.intake.accepted import TryOutcome
from portaria.intake.providers import samples
from portaria.intake.replay import Pace
from tests.intake.backroom import NOON, PHONE, WHOLE, Backroom
from tests.intake.zernio_payloads import payload

LOST = "Uma mensagem do número oficial não entrou no CRM"
UNATTENDED = "Uma mensagem do número oficial ficou sem atendimento"
OLD = "6 hours 1 second"


async def test_a_message_that_never_came_in_dies_with_a_notice(room: Backroom) -> None:
    row = room.archived(room.message(external_id="wamid.1"), age=OLD)
    done = await room.replay()
    assert done.outcomes == {(room.organization_id, TryOutcome.DEAD): 1}
    found = room.row(row)
    assert (found["status"], found["attempts"], found["external_id"]) == ("dead", 0, "wamid.1")
    assert found["event_type"] == "message.received"
    assert not any(room.facts().values())
    assert room.notices() == {LOST: ("open", 1)}
    ((kind, text, about, row_id),) = room.rows("SELECT kind, body, resource_kind, resource_id FROM notices")
    assert (kind, about, row_id) == ("event_dead", "webhook_event", str(row))
    assert "painel do provedor" in text


async def test_a_message_of_ours_that_never_came_in_dies_with_a_notice_too(room: Backroom) -> None:
    row = room.archived(room.echo(), age=OLD)
    await room.replay()
    assert room.standing(row)[0] == "dead"
    assert room.notices() == {LOST: ("open", 1)}


async def test_a_message_that_is_in_with_its_dispatch_is_closed_and_nobody_told(room: Backroom) -> None:
    raw = samples.encode(room.message())
    await room.take_in(raw)
    row = room.archived(raw, age=OLD)
    await room.replay()
    assert room.standing(row) == ("processed", 0, None)
    assert room.facts() == WHOLE
    assert room.notices() == {}
    assert room.audited("webhook.replay_run") == [{"processed": 1}]


@pytest.mark.parametrize("text", ["Olá", "Parar"])
async def test_a_message_that_is_in_without_its_dispatch_gets_its_other_effects(
    room: Backroom, text: str
) -> None:
    """T1 is in; the rest was lost. The opt-out is among the effects."""
    room.fail("contact_opt_outs" if text == "Parar" else "crm_leads")
    row = await room.take_in(room.message(text))
    room.work("contact_opt_outs" if text == "Parar" else "crm_leads")
    assert room.standing(row)[:2] == ("received", 1)
    room.age(row, OLD)
    done = await room.replay()
    assert done.outcomes == {(room.organization_id, TryOutcome.LATE): 1}
    assert room.standing(row)[:2] == ("processed", 1)
    assert room.one("SELECT is_blocked FROM contacts") is (text == "Parar")
    assert room.facts() == WHOLE | {"dispatch": 0, "crm_leads": int(text == "Olá")}
    assert room.notices() == {UNATTENDED: ("open", 1)}
    assert room.audited("webhook.replay_run") == [{"gave_up": 1}]
    await room.replay()
    assert room.notices() == {UNATTENDED: ("open", 1)}


async def test_an_opt_out_that_never_came_in_blocks_a_contact_made_for_it(room: Backroom) -> None:
    row = room.archived(room.message("Parar", external_id="wamid.stop", business_scoped_id="BR.1"), age=OLD)
    await room.replay()
    assert room.standing(row)[0] == "dead"
    assert room.rows("SELECT phone_number, is_blocked, blocked_reason FROM contacts") == [
        (PHONE, True, "stop_keyword")
    ]
    assert room.facts() == dict.fromkeys(WHOLE, 0) | {"contacts": 1}
    assert room.audited("contact.blocked") == [{"reason": "stop_keyword", "external_id": "wamid.stop"}]
    assert room.notices() == {LOST: ("open", 1)}
    await room.take_in(room.message("Oi", phone=None, business_scoped_id="BR.1", conversation_id="another"))
    assert room.facts() == WHOLE | {"crm_leads": 0}


async def test_an_opt_out_that_never_came_in_blocks_the_contact_of_its_thread(room: Backroom) -> None:
    await room.take_in(room.echo(conversation_id="t1"))
    room.archived(room.message("Parar", phone=None, sender_id="?", conversation_id="t1"), age=OLD)
    await room.replay()
    assert room.rows("SELECT phone_number, is_blocked FROM contacts") == [(PHONE, True)]


@pytest.mark.parametrize(
    "body",
    [
        payload("message.received.opt-out", message__sentAt="ontem"),
        payload("message.received.opt-out", message__sender={"id": "?"}),
        payload("message.received.opt-out", message__direction="outgoing"),
    ],
)
async def test_a_body_without_anchor_or_outside_the_contract_holds_no_opt_out(
    room: Backroom, body: dict[str, object]
) -> None:
    row = room.archived(body, age=OLD)
    await room.replay()
    assert room.standing(row)[0] == "dead"
    assert room.count("contacts") == 0
    assert room.notices() == {LOST: ("open", 1)}


async def test_a_message_of_ours_holds_no_opt_out(room: Backroom) -> None:
    room.archived(room.echo("Parar"), age=OLD)
    await room.replay()
    assert room.count("contacts") == 0


async def test_an_opt_out_that_cannot_be_written_keeps_its_row_alive(room: Backroom) -> None:
    row = room.archived(room.message("Parar"), age=OLD)
    room.fail("contact_opt_outs")
    for _ in range(2):
        done = await room.replay()
        assert done.outcomes == {(room.organization_id, TryOutcome.KEPT): 1}
        status, attempts, error = room.standing(row)
        assert (status, attempts) == ("received", 0)
        assert error is not None
        assert "made to fail" in error
    assert (room.notices(), room.audited("webhook.replay_run"), room.count("contacts")) == ({}, [], 0)
    room.work("contact_opt_outs")
    await room.replay()
    assert room.standing(row)[0] == "dead"
    assert room.one("SELECT is_blocked FROM contacts") is True


async def test_effects_that_fail_again_are_named_and_do_not_keep_the_row_alive(room: Backroom) -> None:
    room.fail("crm_leads")
    row = await room.take_in(room.message())
    room.age(row, OLD)
    await room.replay()
    status, attempts, error = room.standing(row)
    assert (status, attempts) == ("processed", 1)
    assert error is not None
    assert "made to fail" in error
    assert room.facts() == WHOLE | {"crm_leads": 0, "received": 0, "dispatch": 0}
    assert room.notices() == {UNATTENDED: ("open", 1)}
    assert "oportunidade" in room.one("SELECT body FROM notices")


async def test_effects_that_hang_do_not_keep_the_row_alive_either(room: Backroom) -> None:
    room.fail("crm_leads")
    row = await room.take_in(room.message())
    room.work("crm_leads")
    room.age(row, OLD)
    with room.holding("LOCK TABLE crm_leads"):
        await room.replay(Pace(row_seconds=5.0))
    assert room.standing(row)[0] == "processed"
    assert "oportunidade" in room.one("SELECT body FROM notices")


async def test_a_row_whose_notice_cannot_be_written_is_not_closed(room: Backroom) -> None:
    """No message vanishes in silence."""
    rows = [room.archived(room.message(), age=OLD)]
    room.fail("crm_leads")
    rows.append(await room.take_in(room.message()))
    room.age(rows[1], OLD)
    room.fail("notices")
    await room.replay()
    assert [room.standing(row)[0] for row in rows] == ["received", "received"]
    room.work("notices")
    await room.replay()
    assert [room.standing(row)[0] for row in rows] == ["dead", "processed"]
    assert room.notices() == {LOST: ("open", 1), UNATTENDED: ("open", 1)}


@pytest.mark.parametrize(("text", "contacts"), [("Olá", 0), ("Parar", 1)])
@pytest.mark.parametrize("age", ["10 minutes", OLD])
async def test_a_row_whose_session_was_archived_dies_without_a_notice(
    room: Backroom, age: str, text: str, contacts: int
) -> None:
    """Its opt-out is recorded all the same."""
    row = room.archived(room.message(text), age=age)
    room.sql("UPDATE channel_sessions SET archived_at = now()")
    await room.replay()
    assert room.standing(row)[::2] == ("dead", "canal_arquivado")
    assert room.facts() == dict.fromkeys(WHOLE, 0) | {"contacts": contacts}
    assert room.count("contacts", "is_blocked") == contacts
    assert room.notices() == {}
    assert room.audited("webhook.replay_run") == [{"gave_up": 1}]


async def test_an_opt_out_keeps_the_row_of_an_archived_session_alive_too(room: Backroom) -> None:
    row = room.archived(room.message("Parar"), age="10 minutes")
    room.sql("UPDATE channel_sessions SET archived_at = now()")
    room.fail("contact_opt_outs")
    await room.replay()
    assert room.standing(row)[0] == "received"
    room.work("contact_opt_outs")
    await room.replay()
    assert room.standing(row)[::2] == ("dead", "canal_arquivado")
    assert room.one("SELECT is_blocked FROM contacts") is True


async def test_a_message_that_came_half_way_into_a_session_archived_since_gets_no_effects(
    room: Backroom,
) -> None:
    room.fail("crm_leads")
    row = await room.take_in(room.message())
    room.work("crm_leads")
    room.sql("UPDATE channel_sessions SET archived_at = now()")
    room.age(row, OLD)
    await room.replay()
    assert room.standing(row)[::2] == ("dead", "canal_arquivado")
    assert room.facts() == WHOLE | {"crm_leads": 0, "received": 0, "dispatch": 0}
    assert room.notices() == {}


async def test_fifty_deaths_at_once_are_one_notice_per_organization_and_title(room: Backroom) -> None:
    """Cases I1, A20; one acknowledged meanwhile opens again."""
    other = room.make.channel(room.make.organization("Alheia"), phone_number="+551130008888")
    for channel in (room.channel, other):
        for number in range(50):
            body = room.message(
                channel=channel, conversation_id=f"t{number}", sent_at=NOON + timedelta(seconds=number)
            )
            room.archived(body, age=OLD, channel=channel)
    room.owner.execute(
        "SELECT fn_open_notice(%s, 'event_dead', 'error', %s, '', NULL, NULL)", (other.organization_id, LOST)
    )
    room.sql("UPDATE notices SET status = 'ack'")
    done = await room.replay(Pace(at_once=12))
    assert done.summary["gave_up"] == 100
    found = room.rows("SELECT organization_id, title, status, occurrences FROM notices")
    assert sorted(found, key=str) == sorted(
        [(room.organization_id, LOST, "open", 50), (other.organization_id, LOST, "open", 51)], key=str
    )


@pytest.mark.parametrize(("age", "status"), [("5 hours 59 minutes 57 seconds", "received"), (OLD, "error")])
async def test_what_was_never_accepted_is_closed_without_a_word(
    room: Backroom, age: str, status: str
) -> None:
    row = room.archived(room.message("Parar"), age=age, marked=None)
    done = await room.replay()
    assert done.never_accepted == (status == "error")
    assert room.standing(row) == (status, 0, "not_accepted" if status == "error" else None)
    assert room.row(row)["valid_signature"] is None
    assert (room.notices(), room.audited("webhook.replay_run"), room.count("contacts")) == ({}, [], 0)
