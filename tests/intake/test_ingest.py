"""Ingestion (spec 2.3): one function for first attempt and replay; its transactions, attempts, closing."""

import asyncio

import pytest
from psycopg_pool import PoolTimeout

from portaria.db.pool import Database
from portaria.intake.accepted import TryOutcome, record_failure
from portaria.intake.first_attempt import first_attempt
from portaria.intake.providers import samples
from tests.intake.backroom import PHONE, WHOLE, Backroom
from tests.intake.zernio_payloads import MISSING, payload

INFRASTRUCTURE = (
    "08006", "08000", "53100", "53200", "53300", "57P01", "57P02", "57P03", "58030", "58000", "25006",
    "25P03",
    "40001", "40P01", "55P03",
)  # fmt: skip
ITS_OWN = ("P0001", "23514", "22001", "42883", "57014", "XX000")


async def test_a_new_message_becomes_contact_conversation_message_lead_and_facts(room: Backroom) -> None:
    row = room.archived(room.message("Olá, tudo bem?", external_id="wamid.1"))
    assert await room.first(row) is TryOutcome.INGESTED
    assert room.facts() == WHOLE
    found = room.row(row)
    assert (found["status"], found["attempts"], found["error_message"]) == ("processed", 0, None)
    assert (found["event_type"], found["external_id"]) == ("message.received", "wamid.1")
    assert found["processed_at"] is not None
    assert room.rows("SELECT direction, type, body, status, external_id FROM messages") == [
        ("inbound", "text", "Olá, tudo bem?", "received", "wamid.1")
    ]


async def test_a_message_of_ours_is_kept_without_effects(room: Backroom) -> None:
    row = room.archived(room.echo("Bom dia"))
    assert await room.first(row) is TryOutcome.INGESTED
    assert room.facts() == WHOLE | {"crm_leads": 0, "received": 0, "dispatch": 0, "unread": 0}
    assert room.rows("SELECT direction, status FROM messages") == [("outbound", "sent")]
    assert room.standing(row) == ("processed", 0, None)
    assert room.row(row)["event_type"] == "message.sent"


async def test_message_opt_out_and_effects_are_three_transactions(room: Backroom) -> None:
    """T1 is seen by others while T2 waits, T2 while T3 waits."""
    row = room.archived(room.message("PARAR"))
    with room.holding("LOCK TABLE event_log"):
        with room.holding("LOCK TABLE contact_opt_outs"):
            trying = asyncio.create_task(room.first(row))
            await room.blocked(on="%fn_record_opt_out%")
            assert room.count("messages") == 1
            assert room.one("SELECT unread_count FROM conversations") == 1
            assert room.one("SELECT is_blocked FROM contacts") is False
        await room.blocked(on="%fn_message_effects%")
        assert room.one("SELECT is_blocked FROM contacts") is True
        assert len(room.audited("contact.blocked")) == 1
        assert room.standing(row) == ("received", 0, None)
    assert await trying is TryOutcome.INGESTED
    assert room.facts() == WHOLE | {"crm_leads": 0}


async def test_a_first_attempt_that_fails_sets_one_and_leaves_nothing_half_written(room: Backroom) -> None:
    """The last write of T1, the stamp, fails: contact, conversation and message go with it."""
    room.fail("conversations", event="UPDATE")
    row = room.archived(room.message())
    assert await room.first(row) is TryOutcome.FAILED
    status, attempts, error = room.standing(row)
    assert (status, attempts) == ("received", 1)
    assert error is not None
    assert "made to fail" in error
    assert room.row(row)["last_attempt_at"] is not None
    assert not any(room.facts().values())


async def test_effects_that_fail_leave_the_message_and_nothing_of_themselves(room: Backroom) -> None:
    """The last write of T3, the dispatch request, fails: no lead, no fact, no closing."""
    room.fail("event_log", when="NEW.event_type = 'ai_agent.dispatch_requested'")
    row = room.archived(room.message())
    await room.first(row)
    assert room.standing(row)[:2] == ("received", 1)
    assert room.facts() == WHOLE | {"crm_leads": 0, "received": 0, "dispatch": 0}


@pytest.mark.parametrize("table", ["messages", "crm_leads"])
async def test_infrastructure_failures_give_the_attempt_back(room: Backroom, table: str) -> None:
    for state in INFRASTRUCTURE:
        room.fail(table, state)
        fresh = room.archived(
            room.message(conversation_id=f"t{state}", phone=None, business_scoped_id=f"BR.{state}")
        )
        tried = room.archived(
            room.message(conversation_id=f"u{state}", phone=None, business_scoped_id=f"BR.9{state}"),
            age="6 minutes", attempts=3, tried="1 minute",
        )  # fmt: skip
        assert await room.first(fresh) is TryOutcome.FAILED
        await room.replay()
        for row, attempts in ((fresh, 0), (tried, 3)):
            status, now, error = room.standing(row)
            assert (status, now) == ("received", attempts), state
            assert error is not None
            assert state in error
        assert room.one(
            "SELECT now() - last_attempt_at < '10 s' FROM webhook_events_log WHERE id = %s", tried
        )
        room.sql(
            "UPDATE webhook_events_log SET status = 'dead', processed_at = now() WHERE status = 'received'"
        )


async def test_any_other_failure_spends_the_attempt(room: Backroom) -> None:
    for state in ITS_OWN:
        room.fail("messages", state)
        fresh = room.archived(room.message())
        tried = room.archived(room.message(), age="6 minutes", attempts=3, tried="1 minute")
        await room.first(fresh)
        await room.replay()
        assert room.standing(fresh)[1] == 1, state
        assert room.standing(tried)[1] == 4, state
        room.sql(
            "UPDATE webhook_events_log SET status = 'dead', processed_at = now() WHERE status = 'received'"
        )


async def test_waiting_too_long_for_a_connection_is_no_attempt(room: Backroom) -> None:
    row = room.archived(room.message())
    held = await room.load(row)
    busy = Database(room.database.app_url, name="busy", size=1, timeout=0.1)
    await busy.open()
    async with busy.connection() as conn:
        assert await first_attempt(busy, held) is TryOutcome.FAILED
        assert room.standing(row) == ("received", 0, None)  # it could not be written either
        await record_failure(conn, held, PoolTimeout("no connection"), spent=1, unspent=0)
    await busy.close()
    status, attempts, error = room.standing(row)
    assert (status, attempts) == ("received", 0)
    assert error is not None
    assert "PoolTimeout" in error


async def test_a_connection_lost_in_the_middle_is_no_attempt(room: Backroom) -> None:
    row = room.archived(room.message())
    with room.holding("LOCK TABLE crm_leads"):
        trying = asyncio.create_task(room.first(row))
        await room.blocked(on="%fn_message_effects%")
        room.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        assert await trying is TryOutcome.FAILED
    status, attempts, error = room.standing(row)
    assert (status, attempts) == ("received", 0)
    assert error
    room.age(row, "6 minutes")
    await room.replay()
    assert room.facts() == WHOLE
    assert room.standing(row) == ("processed", 1, None)


@pytest.mark.parametrize("state", ["40001", "40P01"])
@pytest.mark.parametrize(
    ("table", "event"),
    [("messages", "INSERT"), ("contact_opt_outs", "INSERT"), ("webhook_events_log", "UPDATE")],
)
async def test_a_serialization_failure_is_tried_again_at_once_three_times(
    room: Backroom, table: str, event: str, state: str
) -> None:
    when = "NEW.status = 'processed'" if event == "UPDATE" else "true"
    room.fail(table, state, event=event, when=when, times=3)
    saved = await room.take_in(room.message("PARAR"))
    assert room.standing(saved) == ("processed", 0, None)
    assert room.facts() == WHOLE | {"crm_leads": 0}
    room.fail(table, state, event=event, when=when)
    lost = await room.take_in(room.message("PARAR"))
    assert room.standing(lost)[:2] == ("received", 0)
    assert room.tries() == 4


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (payload("message.received.text", message__sentAt="anteontem"), ["message.sentAt"]),
        (
            payload("message.received.text", message__platformMessageId="x" * 256),
            ["message.platformMessageId"],
        ),
        (payload("message.received.text", message="anteontem"), ["message"]),
        (
            payload("message.received.text", message__sentAt=MISSING, message__platformMessageId=MISSING),
            ["message.platformMessageId", "message.sentAt"],
        ),
        (payload("message.received.text", message__direction="outgoing"), ["message.direction"]),
        (
            payload(
                "message.received.phone-only",
                message__sender={"id": "anteontem", "name": "Z", "username": "z"},
            ),
            ["message.sender.businessScopedUserId", "message.sender.phoneNumber"],
        ),
        (
            payload("message.sent.phone-app", conversation__participantId=MISSING),
            ["conversation.participantId"],
        ),
    ],
)
async def test_a_body_outside_the_contract_is_an_error_that_names_the_fields(
    room: Backroom, body: dict[str, object], fields: list[str]
) -> None:
    row = room.archived(body)
    assert await room.first(row) is TryOutcome.CONTRACT
    status, attempts, error = room.standing(row)
    assert (status, attempts) == ("error", 0)
    assert error == f"contract: {', '.join(fields)}"
    assert room.row(row)["event_type"] == body["event"]
    assert not any(room.facts().values())
    ((kind, title, text, status, organization_id),) = room.rows(
        "SELECT kind, title, body, status, organization_id FROM notices"
    )
    assert (kind, status, organization_id) == ("event_contract", "open", room.organization_id)
    assert title == "Uma mensagem do número oficial veio fora do contrato"
    assert all(field in text for field in fields)
    assert "anteontem" not in text + error


async def test_no_message_out_of_contract_vanishes_without_its_notice(room: Backroom) -> None:
    """The notice fails: the row is not closed either."""
    room.fail("notices")
    row = await room.take_in(payload("message.received.text", message__sentAt="ontem"))
    assert room.standing(row)[:2] == ("received", 1)


async def test_what_the_database_cannot_hold_is_cleaned_and_the_raw_body_kept(room: Backroom) -> None:
    """Case E1: NUL and a lone surrogate become U+FFFD; an escape that is only spelled out stays text."""
    raw = samples.encode(
        room.message(
            "oi\x00tchau \\u0000 \ud800", name="\x00", external_id="wamid.a\x00b", conversation_id="t\x00"
        )
    )
    row = await room.take_in(raw)
    assert room.standing(row) == ("processed", 0, None)
    assert bytes(room.row(row)["raw_body"]) == raw
    assert room.rows("SELECT body, external_id FROM messages") == [
        ("oi\ufffdtchau \\u0000 \ufffd", "wamid.a\ufffdb")
    ]
    assert room.one("SELECT name FROM contacts") == "\ufffd"
    assert (
        room.one("SELECT payload ->> 'text' FROM event_log WHERE event_type = 'message.received'")
        == "oi\ufffdtchau \\u0000 \ufffd"
    )


async def test_one_message_fifty_times_at_once_takes_effect_once(room: Backroom) -> None:
    raw = samples.encode(room.message())
    rows = [room.archived(raw) for _ in range(50)]
    outcomes = await asyncio.gather(*(room.first(row) for row in rows))
    assert sorted(outcomes) == [TryOutcome.DUPLICATE] * 49 + [TryOutcome.INGESTED]
    assert room.facts() == WHOLE
    assert (
        room.count("webhook_events_log", "status = 'processed' AND attempts = 0 AND error_message IS NULL")
        == 50
    )


async def test_one_external_id_through_two_threads_at_once_leaves_nothing_of_the_second(
    room: Backroom,
) -> None:
    """Cases A1, A3: the second waits for the first's commit and ends as a duplicate in its first attempt."""
    facts = (
        '{"id": "%s", "external_id": "wamid.1", "direction": "inbound", "type": "text", "attachments": [],'
    )
    facts += '"metadata": {}, "sent_at": "2026-12-01T12:00:00Z", "provider_conversation_id": "t1",'
    facts += '"identities": [],'
    facts += f'"phone": "{PHONE}", "phone_spellings": ["{PHONE}"]}}'
    earlier = room.archived(room.message(external_id="wamid.1"))
    arrived = (
        f"SELECT fn_ingest_message('{earlier}', 0, NULL, '{room.organization_id}', '{room.channel.id}',"
        f" '{facts % earlier}')"
    )
    later = room.archived(room.message(external_id="wamid.1", conversation_id="t2", phone="+5511987650002"))
    with room.holding(arrived):
        trying = asyncio.create_task(room.first(later))
        await room.blocked(on="%fn_ingest_message%")
    assert await trying is TryOutcome.DUPLICATE
    assert room.standing(later) == ("processed", 0, None)
    assert room.rows("SELECT provider_conversation_id FROM conversations") == [("t1",)]
    assert room.rows("SELECT phone_number FROM contacts") == [(PHONE,)]
