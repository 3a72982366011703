"""Erasing a person: what is refused, what it survives, and what happens when they are met again."""

import asyncio
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from portaria.crm.erasure import count_erasure, erase_contact, find_person_by_phone
from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.intake.accepted import TryOutcome
from portaria.intake.first_attempt import first_attempt
from portaria.intake.providers import samples
from tests.intake.backroom import NOON, PHONE, WHOLE, Backroom, named

NOBODY = (None, None, None, None)


def contact(room: Backroom) -> UUID:
    return UUID(str(room.one("SELECT id FROM contacts WHERE erased_at IS NULL")))


async def erase(room: Backroom, who: UUID | None = None) -> Any:
    return await erase_contact(room.db, room.organization_id, who or contact(room), actor="ana")


def is_blank(room: Backroom, who: UUID) -> bool:
    query = "SELECT name, phone_number, email, username FROM contacts WHERE id = %s"
    return room.rows(query, who) == [NOBODY]


async def test_it_is_audited_without_a_word_about_the_person(room: Backroom) -> None:
    await room.take_in(room.message("segredo meu"))
    who = contact(room)
    done = await erase(room)
    assert is_blank(room, who)
    [entry] = room.rows(
        "SELECT actor, resource_kind, resource_id, metadata FROM api_audit_log"
        " WHERE action = 'contact.erased'"
    )
    assert entry == ("ana", "contact", str(who), done.counts)
    assert done.counts == {
        "arrivals": 1, "audit_entries": 0, "conversations": 1, "events": 3, "form_submissions": 0, "leads": 1,
        "messages": 1, "notices": 0, "runs": 0,
    }  # fmt: skip


async def test_counting_first_changes_nothing(room: Backroom) -> None:
    await room.take_in(room.message())
    room.archived(room.message())
    before = room.rows("SELECT to_jsonb(m) FROM messages m"), room.rows("SELECT to_jsonb(c) FROM contacts c")
    would = await count_erasure(room.db, room.organization_id, contact(room))
    assert (would.erased_at, would.pending) == (None, 1)
    assert would.counts == {"conversations": 1, "messages": 1, "leads": 1, "events": 3, "arrivals": 1}
    assert before == (
        room.rows("SELECT to_jsonb(m) FROM messages m"), room.rows("SELECT to_jsonb(c) FROM contacts c")
    )  # fmt: skip


async def test_a_second_time_changes_nothing(room: Backroom) -> None:
    await room.take_in(room.message())
    who = contact(room)
    first = await erase(room)
    again = await erase(room, who)
    assert (again.erased_at, again.counts) == (first.erased_at, {})
    assert len(room.audited("contact.erased")) == 1


@pytest.mark.parametrize("marked", [True, None])
async def test_a_delivery_still_being_taken_in_comes_first(room: Backroom, marked: bool | None) -> None:
    """It was promised; and ingested afterwards it would bring the person back."""
    await room.take_in(room.message())
    row = room.archived(room.message("pendente"), marked=marked)
    with pytest.raises(Refusal) as refused:
        await erase(room)
    assert (refused.value.status, refused.value.code) == (409, "arrivals_pending")
    assert room.one("SELECT count(*) FROM contacts WHERE erased_at IS NOT NULL") == 0
    assert bytes(room.row(row)["raw_body"]) != b""
    room.sql(f"UPDATE webhook_events_log SET valid_signature = true WHERE id = '{row}'")
    await room.first(row)
    assert (await erase(room)).counts["messages"] == 2


async def test_unknown_and_foreign_contacts_are_404(room: Backroom) -> None:
    await room.take_in(room.message())
    other = room.make.organization("Outra")
    for organization, who in ((room.organization_id, uuid4()), (other, contact(room))):
        with pytest.raises(Refusal) as refused:
            await erase_contact(room.db, organization, who, actor="ana")
        assert refused.value.code == "contact_not_found"
    assert not is_blank(room, contact(room))


async def test_the_same_phone_in_another_organization_is_somebody_else(room: Backroom) -> None:
    theirs = room.make.channel(room.make.organization("Outra"), phone_number="+551130008888")
    await room.take_in(room.message("daqui"))
    kept = await room.take_in(room.message("de lá", channel=theirs), channel=theirs)
    who = room.one("SELECT id FROM contacts WHERE organization_id = %s", room.organization_id)
    await erase(room, who)
    assert room.rows("SELECT phone_number FROM contacts WHERE erased_at IS NULL") == [(PHONE,)]
    assert b"de l" in bytes(room.row(kept)["raw_body"])


async def test_a_repetition_of_an_erased_message_is_a_duplicate(room: Backroom) -> None:
    message = room.message("de volta")
    await room.take_in(message)
    who = contact(room)
    await erase(room)
    facts = room.facts()
    again = room.archived(message)
    assert await room.first(again) is TryOutcome.DUPLICATE
    assert room.facts() == facts
    assert is_blank(room, who)


async def test_a_late_change_of_an_erased_message_fills_nothing_in(room: Backroom) -> None:
    await room.take_in(room.message("antes", external_id="wamid.tarde"))
    await erase(room)
    edit = samples.edited(room.channel.account_id, "wamid.tarde", PHONE, "depois", NOON, "c0a1")
    assert await room.apply(edit) == "unknown_message"
    assert room.rows("SELECT body, last_message_preview FROM messages, conversations") == [(None, None)]


async def test_whoever_writes_again_is_a_new_contact(room: Backroom) -> None:
    await room.take_in(room.message())
    who = contact(room)
    await erase(room)
    room.sql("TRUNCATE notices")
    await room.take_in(room.message("voltei"))
    assert contact(room) != who
    assert is_blank(room, who)
    twice = {kind: 2 * number for kind, number in WHOLE.items()} | {"unread": 1}
    assert room.facts() == twice


def without_anchor(**more: Any) -> dict[str, Any]:
    return {"phone": None, "business_scoped_id": "BR.40718293645501827364", "conversation_id": "c1", **more}


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ({}, {}),
        ({"phone": "+5511987650001"}, {"phone": "+551187650001"}),  # without its ninth digit
        ({"business_scoped_id": "BR.40718293645501827364"}, without_anchor()),
        (without_anchor(), without_anchor()),
    ],
)
async def test_whoever_asked_to_leave_stays_out_after_they_are_forgotten(
    room: Backroom, first: dict[str, Any], again: dict[str, Any]
) -> None:
    await room.take_in(room.message("PARAR", **first))
    await erase(room)
    leads = room.count("crm_leads")
    await room.take_in(room.message("oi", **{"conversation_id": "c2", **again}))
    assert room.one("SELECT is_blocked FROM contacts WHERE id = %s", contact(room))
    assert room.count("crm_leads") == leads, "no new opportunity"
    reasons = {m["reason"] for m in room.audited("contact.blocked")}
    assert reasons == {"stop_keyword", "asked_to_leave_before"}
    assert room.rows(
        "SELECT payload -> 'blocked' FROM event_log WHERE event_type = 'ai_agent.dispatch_requested'"
        " ORDER BY seq DESC LIMIT 1"
    ) == [(True,)]


async def test_of_whoever_did_not_ask_to_leave_nothing_is_remembered(room: Backroom) -> None:
    await room.take_in(room.message("PARAR"))
    first = contact(room)
    await erase(room)
    assert room.count("contact_suppressions") >= 2
    await room.take_in(room.message("oi", conversation_id="c2"))
    room.sql(
        f"UPDATE contacts SET is_blocked = false WHERE id = '{contact(room)}'"
    )  # a person unblocked them
    await erase(room)
    assert room.count("contact_suppressions") == 0
    await room.take_in(room.message("oi", conversation_id="c3"))
    assert not room.one("SELECT is_blocked FROM contacts WHERE id = %s", contact(room))
    assert room.one("SELECT is_blocked FROM contacts WHERE id = %s", first)


async def test_a_crash_before_its_end_changes_nothing_and_it_can_be_asked_again(room: Backroom) -> None:
    await room.take_in(room.message("inteiro"))
    who = contact(room)
    room.fail("contacts", event="UPDATE", times=1)  # the last write
    with pytest.raises(psycopg.errors.RaiseException):
        await erase(room)
    assert not is_blank(room, who)
    assert room.rows("SELECT body FROM messages") == [("inteiro",)]
    assert room.count("webhook_events_log", "raw_body = ''") == 0
    await erase(room, who)
    assert is_blank(room, who)


async def test_two_at_once_erase_once(room: Backroom) -> None:
    await room.take_in(room.message())
    who = contact(room)
    done = await asyncio.gather(*(erase(room, who) for _ in range(4)))
    assert sum(bool(d.counts) for d in done) == 1
    assert len({d.erased_at for d in done}) == 1


async def test_a_message_that_comes_meanwhile_is_in_before_or_after_never_in_between(room: Backroom) -> None:
    """The thread is held: T1 waits for the erasure's end, and finds no thread any more."""
    await room.take_in(room.message("antes"))
    who = contact(room)
    late = room.message("durante")
    async with named(room, "late") as db:
        with room.holding(f"SELECT fn_lock_contact('{room.organization_id}', '{who}')") as holder:
            row = room.archived(late)
            coming = asyncio.create_task(_first(room, db, row))
            await room.blocked(on="%fn_ingest_message%")
            holder.execute(
                "SELECT fn_erase_contact(%s, %s, '{}', '{+5511987650001}')", (room.organization_id, who)
            )
            holder.commit()
            assert await coming is TryOutcome.INGESTED
    assert is_blank(room, who)
    assert room.rows("SELECT body FROM messages WHERE contact_id = %s", who) == [(None,)]
    assert room.rows("SELECT body FROM messages WHERE contact_id = %s", contact(room)) == [("durante",)]


async def _first(room: Backroom, db: Database, row: UUID) -> TryOutcome:
    return await first_attempt(db, await room.load(row))


async def test_erasures_and_messages_at_once_end_without_a_deadlock(room: Backroom) -> None:
    """Many people write and are erased over and over: every message is in, and nothing of the erased is."""
    people = [f"+551198765{n:04d}" for n in range(6)]

    async def write(phone: str, n: int) -> None:
        await room.take_in(
            room.message("oi", phone=phone, conversation_id=f"c{phone}", external_id=f"{phone}/{n}")
        )

    async def forget() -> None:
        for (who,) in room.rows("SELECT id FROM contacts WHERE erased_at IS NULL"):
            with suppress(Refusal):  # while they write
                await erase(room, who)

    for n in range(4):
        await asyncio.gather(*(write(phone, n) for phone in people), forget(), forget())
    assert room.count("messages") == 24
    assert room.count("webhook_events_log", "status <> 'processed'") == 0
    leftover = "m.body IS NOT NULL AND c.erased_at IS NOT NULL"
    assert (
        room.one(f"SELECT count(*) FROM messages m JOIN contacts c ON c.id = m.contact_id WHERE {leftover}")
        == 0
    )


async def test_a_row_replayed_by_hand_meanwhile_is_not_emptied_under_it(room: Backroom) -> None:
    """Found finished by the sifting, pending when it is to be emptied: the erasure waits for its end."""
    row = await room.take_in(room.message())
    room.sql(
        "CREATE FUNCTION fail_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" UPDATE webhook_events_log SET status = 'received', processed_at = NULL WHERE id = '{row}';"
        " RETURN NULL; END $$;"
        "CREATE TRIGGER fail_claim AFTER INSERT ON contact_suppressions"
        " FOR EACH ROW EXECUTE FUNCTION fail_claim()"
    )
    room.sql("UPDATE contacts SET is_blocked = true")
    with pytest.raises(Refusal) as refused:
        await erase(room)
    assert refused.value.code == "busy"
    assert bytes(room.row(row)["raw_body"]) != b""
    assert room.row(row)["status"] == "processed", "the other's claim was rolled back with it here"


async def test_a_person_is_found_by_phone_however_it_is_typed(room: Backroom) -> None:
    await room.take_in(room.message(phone="+551187650001", conversation_id="c9"))
    async with room.db.connection() as conn:
        for typed in ("+5511987650001", "(11) 98765-0001", "11 8765-0001"):
            assert await find_person_by_phone(conn, room.organization_id, typed) == contact(room)
        for typed, code in (("11 98888-7777", "contact_not_found"), ("ana", "invalid_phone")):
            with pytest.raises(Refusal) as refused:
                await find_person_by_phone(conn, room.organization_id, typed)
            assert refused.value.code == code


async def test_two_contacts_under_two_spellings_of_a_phone_are_not_mixed(room: Backroom) -> None:
    """Case A17: erasing the one leaves the other whole, its deliveries too."""
    await room.take_in(room.message("um"))
    one = contact(room)
    room.sql(
        "INSERT INTO contacts (organization_id, id, phone_number)"
        f" VALUES ('{room.organization_id}', gen_random_uuid(), '+551187650001')"
    )
    kept = await room.take_in(room.message("outro", phone="+551187650001", conversation_id="c2"))
    async with room.db.connection() as conn:
        with pytest.raises(Refusal) as refused:
            await find_person_by_phone(conn, room.organization_id, "+5511987650001")
    assert refused.value.code == "contact_ambiguous"
    await erase(room, one)
    assert b"outro" in bytes(room.row(kept)["raw_body"])
    assert room.rows("SELECT phone_number FROM contacts WHERE erased_at IS NULL") == [("+551187650001",)]


async def test_somebody_who_writes_from_our_own_number_takes_nobody_along(room: Backroom) -> None:
    """Every delivery names the channel's number."""
    assert room.channel.phone_number is not None
    await room.take_in(room.message("nosso", phone=room.channel.phone_number, conversation_id="c1"))
    ours = contact(room)
    kept = await room.take_in(room.message("cliente", conversation_id="c2"))
    await erase(room, ours)
    assert b"cliente" in bytes(room.row(kept)["raw_body"])


async def test_a_short_id_is_not_found_inside_other_peoples_deliveries(room: Backroom) -> None:
    await room.take_in(room.message("um", conversation_id="1", external_id="7"))
    one = contact(room)
    kept = await room.take_in(
        room.message("1, 7", phone="+5511900000007", conversation_id="17", external_id="71")
    )
    await erase(room, one)
    assert b"1, 7" in bytes(room.row(kept)["raw_body"])


async def test_unread_messages_of_an_erased_person_leave_no_badge(room: Backroom) -> None:
    await room.take_in(room.message())
    await erase(room)
    assert room.one("SELECT sum(unread_count) FROM conversations") == 0
    [(conversation,)] = room.rows("SELECT id FROM conversations")
    assert room.one("SELECT fn_mark_read(%s, %s, 0)", room.organization_id, conversation) == 0


async def test_a_large_archive_is_walked_to_its_end(room: Backroom) -> None:
    """More rows than one stretch, the person's among the first and the last."""
    first = await room.take_in(room.message("primeira"))
    room.owner.execute(
        "INSERT INTO webhook_events_log (id, organization_id, provider, raw_body, status, processed_at)"
        " SELECT gen_random_uuid(), %s, 'zernio', '{\"de\": \"outrem\"}', 'processed', now()"
        " FROM generate_series(1, 5000)",
        (room.organization_id,),
    )
    last = await room.take_in(room.message("última"))
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1

    done = await erase_contact(room.db, room.organization_id, contact(room), actor="ana", walked=tick)
    assert done.counts["arrivals"] == 2
    assert ticks >= 5
    assert {bytes(room.row(row)["raw_body"]) for row in (first, last)} == {b""}
    assert room.count("webhook_events_log", "raw_body = ''") == 2


async def test_a_person_can_be_erased_again_and_again(room: Backroom) -> None:
    """The same thread, the same form's key: nothing of an earlier erasure is in the way."""
    for n in range(3):
        await room.take_in(room.message(f"vez {n}"))
        await erase(room)
    assert room.count("conversations") == 3
    assert room.count("messages", "body IS NULL") == 3
