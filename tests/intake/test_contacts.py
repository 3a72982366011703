"""Who a message is from or to (spec 2.3 T1, provider facts 5): the thread first, then the anchors."""

import asyncio

import pytest

from portaria.intake.accepted import TryOutcome
from portaria.intake.providers import samples
from tests.intake.backroom import PHONE, Backroom
from tests.intake.zernio_payloads import payload

SCOPED = "BR.4071823355501"


def people(room: Backroom) -> list[tuple[str | None, str | None]]:
    """Name and phone of every contact, in the order in which they came."""
    return room.rows("SELECT name, phone_number FROM contacts ORDER BY created_at, id")


def known(room: Backroom, phone: str | None, name: str = "Conhecida") -> None:
    room.owner.execute(
        "INSERT INTO contacts (organization_id, id, name, phone_number)"
        " VALUES (%s, gen_random_uuid(), %s, %s)",
        (room.organization_id, name, phone),
    )


async def test_an_id_on_the_way_in_and_a_phone_on_the_way_out_are_one_person_by_their_thread(
    room: Backroom,
) -> None:
    await room.take_in(room.message(phone=None, business_scoped_id=SCOPED, conversation_id="t1"))
    await room.take_in(room.echo(phone=PHONE, conversation_id="t1", name=None))
    assert people(room) == [("Cliente Exemplo", PHONE)]
    assert room.count("conversations") == 1


async def test_a_phone_on_the_way_out_and_an_id_on_the_way_in_are_one_person_by_their_thread(
    room: Backroom,
) -> None:
    """And from then on the id alone finds them, on another number of ours too."""
    await room.take_in(room.echo(phone=PHONE, conversation_id="t1", name=None))
    await room.take_in(room.message(phone=None, business_scoped_id=SCOPED, conversation_id="t1"))
    other = room.make.channel(room.organization_id, phone_number="+551130008888")
    await room.take_in(
        room.message(phone=None, business_scoped_id=SCOPED, conversation_id="t9", channel=other),
        channel=other,
    )
    assert people(room) == [("Cliente Exemplo", PHONE)]
    assert room.count("conversations") == 2


async def test_the_thread_outweighs_every_anchor(room: Backroom) -> None:
    await room.take_in(room.message(phone=PHONE, conversation_id="t1"))
    await room.take_in(
        room.message(phone="+5511987650002", business_scoped_id=SCOPED, name="Outra", conversation_id="t2")
    )
    await room.take_in(room.message(phone="+5511987650002", business_scoped_id=SCOPED, conversation_id="t1"))
    assert len(people(room)) == 2
    assert room.rows(
        "SELECT provider_conversation_id, phone_number FROM messages m JOIN contacts c ON c.id = m.contact_id"
        " JOIN conversations v ON v.id = m.conversation_id ORDER BY m.arrival"
    ) == [("t1", PHONE), ("t2", "+5511987650002"), ("t1", PHONE)]


async def test_the_business_scoped_id_outweighs_the_phone_and_the_conflict_is_noted(room: Backroom) -> None:
    await room.take_in(
        room.message(phone=None, business_scoped_id=SCOPED, name="Pelo id", conversation_id="t1")
    )
    await room.take_in(room.message(phone=PHONE, name="Pelo telefone", conversation_id="t2"))
    await room.take_in(room.message(phone=PHONE, business_scoped_id=SCOPED, conversation_id="t3"))
    assert people(room) == [("Pelo id", None), ("Pelo telefone", PHONE)]
    assert room.rows("SELECT name, source_metadata FROM contacts ORDER BY created_at") == [
        ("Pelo id", {"telefone_em_conflito": PHONE}),
        ("Pelo telefone", {}),
    ]
    assert room.one("SELECT count(DISTINCT contact_id) FROM messages") == 2


async def test_a_phone_known_under_its_other_spelling_is_not_given_to_a_second_contact(
    room: Backroom,
) -> None:
    """Case A17: or one line would be two contacts from then on."""
    known(room, "+551187650001")
    await room.take_in(
        room.message(phone=None, business_scoped_id=SCOPED, name="Pelo id", conversation_id="t1")
    )
    await room.take_in(room.message(phone=PHONE, business_scoped_id=SCOPED, conversation_id="t1"))
    assert people(room) == [("Conhecida", "+551187650001"), ("Pelo id", None)]
    assert room.one("SELECT source_metadata FROM contacts WHERE name = 'Pelo id'") == {
        "telefone_em_conflito": PHONE
    }


@pytest.mark.parametrize(
    ("stored", "came", "same"),
    [
        ("+5511987654321", "+551187654321", True),
        ("+551187654321", "+5511987654321", True),
        ("+5511987654321", "+5511987654321", True),
        ("+5511932654321", "+551132654321", False),  # a landline gets no ninth digit
        ("+551132654321", "+5511932654321", False),
        ("+5521987654321", "+551187654321", False),
        ("+14155550100", "+14155550101", False),
    ],
)
async def test_a_phone_is_searched_under_its_spellings_and_kept_as_it_is(
    room: Backroom, stored: str, came: str, same: bool
) -> None:
    """Case A17."""
    known(room, stored)
    await room.take_in(room.message(phone=came))
    assert {phone for _, phone in people(room)} == ({stored} if same else {stored, came})


async def test_two_contacts_that_exist_both_ways_are_not_mixed(room: Backroom) -> None:
    known(room, "+5511987654321", "Com nove")
    known(room, "+551187654321", "Sem nove")
    await room.take_in(room.message(phone="+551187654321", conversation_id="t1"))
    await room.take_in(room.message(phone="+5511987654321", conversation_id="t2"))
    named = "SELECT c.name FROM messages m JOIN contacts c ON c.id = m.contact_id ORDER BY arrival"
    assert room.rows(named) == [
        ("Sem nove",), ("Com nove",)
    ]  # fmt: skip


async def test_a_username_is_shown_and_never_matched(room: Backroom) -> None:
    for number, scoped in enumerate((SCOPED, SCOPED + "9")):
        await room.take_in(
            room.message(
                phone=None,
                business_scoped_id=scoped,
                username="maria",
                name=None,
                conversation_id=f"t{number}",
            )
        )
    assert room.rows("SELECT username, name, phone_number FROM contacts") == [("maria", None, None)] * 2


async def test_no_phone_is_made_out_of_an_id(room: Backroom) -> None:
    """Provider facts 5.7: the participant of an outbound message may be a business-scoped id."""
    await room.take_in(room.echo(phone=None, business_scoped_id=SCOPED, name=None))
    assert people(room) == [(None, None)]
    assert room.rows("SELECT kind, value FROM contact_identities") == [("business_scoped_id", SCOPED)]
    unusable = room.archived(room.echo(phone=None, sender_id="123456789012345678", conversation_id="t2"))
    assert await room.first(unusable) is TryOutcome.CONTRACT
    assert len(people(room)) == 1


async def test_without_any_anchor_the_thread_is_enough(room: Backroom) -> None:
    await room.take_in(room.message(conversation_id="t1"))
    row = await room.take_in(room.message(phone=None, sender_id="?", conversation_id="t1"))
    assert room.standing(row) == ("processed", 0, None)
    assert room.facts()["messages"] == 2
    assert len(people(room)) == 1


async def test_a_name_is_completed_and_never_overwritten(room: Backroom) -> None:
    for name in (None, "Maria", "Outro Nome", None):
        await room.take_in(room.message(name=name))
    assert people(room) == [("Maria", PHONE)]


@pytest.mark.parametrize("name", ["username-no-phone", "phone-only", "text"])
async def test_the_providers_samples_make_one_contact_and_find_it_again(room: Backroom, name: str) -> None:
    body = payload(f"message.received.{name}")
    await room.take_in(body)
    again = payload(
        f"message.received.{name}", message__platformMessageId="wamid.again", conversation__id="another"
    )
    again["message"]["conversationId"] = "another"
    await room.take_in(again)
    assert len(people(room)) == 1
    assert room.facts()["messages"] == 2
    assert room.facts()["crm_leads"] == 1


async def test_a_social_users_id_is_its_networks_and_counts_for_one_account(room: Backroom) -> None:
    accounts = [
        room.make.channel(room.organization_id, provider="zernio_social", phone_number=None) for _ in range(2)
    ]
    for number, channel in enumerate((*accounts, accounts[0])):
        body = room.message(
            phone=None,
            sender_id="11987650001",
            platform="instagram",
            conversation_id=f"t{number}",
            channel=channel,
        )
        await room.take_in(body, channel=channel)
    assert [phone for _, phone in people(room)] == [None, None]
    assert room.one("SELECT count(DISTINCT contact_id) FROM messages") == 2


async def test_one_identity_row_stays_one_whatever_comes_again(room: Backroom) -> None:
    """Case A5."""
    raw = samples.encode(room.message(business_scoped_id=SCOPED))
    for _ in range(3):
        await room.take_in(raw)
    await room.take_in(room.message(business_scoped_id=SCOPED, conversation_id="another"))
    assert room.rows("SELECT kind, value FROM contact_identities") == [("business_scoped_id", SCOPED)]


async def test_the_same_person_is_another_contact_in_another_organization(room: Backroom) -> None:
    other = room.make.channel(room.make.organization("Alheia"), phone_number="+551130008888")
    await room.take_in(room.message(business_scoped_id=SCOPED))
    await room.take_in(room.message(business_scoped_id=SCOPED, channel=other), channel=other)
    assert room.one("SELECT count(DISTINCT organization_id) FROM contacts") == 2


@pytest.mark.parametrize("ends", ["COMMIT", "ROLLBACK"])
async def test_who_loses_the_race_for_a_phone_finishes_in_the_first_attempt(
    room: Backroom, ends: str
) -> None:
    """Case A3."""
    insert = (
        "INSERT INTO contacts (organization_id, id, phone_number)"
        f" VALUES ('{room.organization_id}', gen_random_uuid(), '{PHONE}')"
    )
    row = room.archived(room.message(name="Maria"))
    with room.holding(insert) as other:
        trying = asyncio.create_task(room.first(row))
        await room.blocked(on="%fn_ingest_message%")
        other.execute(ends)
    assert await trying is TryOutcome.INGESTED
    assert room.standing(row) == ("processed", 0, None)
    assert people(room) == [("Maria", PHONE)]


async def test_who_loses_the_race_for_an_id_finishes_in_the_first_attempt(room: Backroom) -> None:
    org = room.organization_id
    insert = (
        f"WITH made AS (INSERT INTO contacts (organization_id, id) VALUES ('{org}', gen_random_uuid())"
        " RETURNING id)"
        f" INSERT INTO contact_identities SELECT '{org}', 'business_scoped_id', '{SCOPED}', id FROM made"
    )
    row = room.archived(room.message(phone=None, business_scoped_id=SCOPED))
    with room.holding(insert):
        trying = asyncio.create_task(room.first(row))
        await room.blocked(on="%fn_ingest_message%")
    assert await trying is TryOutcome.INGESTED
    assert room.standing(row) == ("processed", 0, None)
    assert room.count("contacts") == 1


async def test_two_first_messages_of_an_unknown_sender_at_once_make_one_of_each(room: Backroom) -> None:
    """Case A2, a hundred times over: by phone, by id, by both; every fourth through two numbers of ours."""
    other = room.make.channel(room.organization_id, phone_number="+551130008888")
    for number in range(100):
        anchors = {
            "phone": f"+55119{number:08d}" if number % 3 else None,
            "business_scoped_id": None if number % 3 == 1 else f"BR.{number}",
        }
        channels = [room.channel, room.channel if number % 4 else other]
        rows = [
            room.archived(room.message(conversation_id=f"t{number}", channel=c, **anchors), channel=c)
            for c in channels
        ]  # fmt: skip
        outcomes = await asyncio.gather(*(room.first(row) for row in rows))
        assert outcomes == [TryOutcome.INGESTED] * 2
    facts = room.facts()
    assert (facts["contacts"], facts["crm_leads"]) == (100, 100)
    assert (facts["conversations"], facts["messages"], facts["unread"]) == (125, 200, 200)
    assert room.count("webhook_events_log", "attempts = 0 AND status = 'processed'") == 200
