"""Lists of conversations and messages: by the provider's time, in pages without gap or repetition."""

from uuid import UUID

import psycopg
import pytest

from portaria.crm.inbox import (
    ConversationFilter,
    count_unread,
    list_conversations,
    list_messages,
    unblock_contact,
)
from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.ids import uuid7
from tests.crm.inbox.arrivals import arrive
from tests.support.factory import Channel, Factory


@pytest.fixture
def channel(make: Factory) -> Channel:
    return make.channel(make.organization())


async def test_a_thread_is_ordered_by_the_providers_time_whatever_the_order_of_arrival(
    db: Database, channel: Channel
) -> None:
    async with db.connection() as conn:
        for minute in (2, 0, 1, 1):
            _, conversation = await arrive(conn, channel, f"m{uuid7()}", minute=minute, body=f"às {minute}")
    seen, before = [], None
    async with db.tenant(channel.organization_id) as conn:
        while page := await list_messages(
            conn, channel.organization_id, conversation, limit=1, before=before
        ):
            seen += page
            before = (page[-1].sent_at, page[-1].arrival)
    assert [m.body for m in seen] == ["às 2", "às 1", "às 1", "às 0"]
    assert len({m.id for m in seen}) == 4


async def test_conversations_come_latest_first_in_pages_those_without_a_message_last(
    db: Database, channel: Channel, owner: psycopg.Connection
) -> None:
    expected: list[UUID] = []
    async with db.connection() as conn:
        for n in range(4):  # two of them at the same minute
            _, conversation = await arrive(
                conn, channel, f"m{n}", minute=min(n, 2), thread=f"t{n}", phone=f"+551190000000{n}"
            )
            expected.append(conversation)
    empty = [uuid7() for _ in range(3)]
    for number, made in enumerate(empty):
        owner.execute(
            "INSERT INTO conversations (organization_id, id, contact_id, channel_session_id,"
            " provider_conversation_id) SELECT organization_id, %s, id, %s, %s FROM contacts LIMIT 1",
            (made, channel.id, f"empty-{number}"),
        )
    seen, after = [], None
    async with db.tenant(channel.organization_id) as conn:
        while page := await list_conversations(conn, channel.organization_id, limit=2, after=after):
            seen += [v.id for v in page]
            after = (page[-1].last_message_at, page[-1].id)
    newest = sorted(expected[2:])
    assert seen == [*newest, expected[1], expected[0], *sorted(empty)]


async def test_the_list_is_filtered_and_shows_only_its_own_organization(
    db: Database, channel: Channel, make: Factory
) -> None:
    foreign = make.channel(make.organization("Alheia"), phone_number="+551130008888")
    async with db.connection() as conn:
        await arrive(conn, channel, "m1", thread="t1", phone="+5511900000001")
        await arrive(conn, channel, "m2", thread="t2", phone="+5511900000002", direction="outbound")
        await arrive(conn, foreign, "m1", thread="t1", phone="+5511900000001")
    org = channel.organization_id
    async with db.tenant(org) as conn:
        everything = await list_conversations(conn, org, limit=9)
        unread = await list_conversations(conn, org, limit=9, filter=ConversationFilter(unread=True))
        elsewhere = await list_conversations(conn, foreign.organization_id, limit=9)
        of_foreign = await list_conversations(
            conn, org, limit=9, filter=ConversationFilter(channel_session_id=foreign.id)
        )
        assert await count_unread(conn, org) == 1
    assert len(everything) == 2
    assert [v.unread_count for v in unread] == [1]
    assert elsewhere == of_foreign == []


async def test_a_person_unblocks_once_and_the_old_opt_out_does_not_block_again(
    db: Database, channel: Channel, owner: psycopg.Connection
) -> None:
    """Unblocking is a person's act, audited; replaying the message that asked to leave changes nothing."""
    org, actor = channel.organization_id, uuid7()
    async with db.connection() as conn:
        await arrive(conn, channel, "m1", body="PARAR")
    [(contact,)] = owner.execute("SELECT id FROM contacts").fetchall()

    async def ask_to_leave() -> None:
        async with db.connection() as conn:
            await conn.execute(
                'SELECT fn_record_opt_out(%s, %s, %s, \'{"external_id": "m1"}\')', (org, channel.id, contact)
            )

    await ask_to_leave()
    assert owner.execute("SELECT is_blocked FROM contacts").fetchone() == (True,)
    async with db.tenant(org) as conn:
        assert await unblock_contact(conn, org, contact, actor=actor)
        assert not await unblock_contact(conn, org, contact, actor=actor)
    await ask_to_leave()
    row = owner.execute("SELECT is_blocked, blocked_reason, blocked_at FROM contacts").fetchone()
    assert row == (False, None, None)
    entries = owner.execute("SELECT action, actor FROM api_audit_log ORDER BY created_at").fetchall()
    assert entries == [("contact.blocked", "system"), ("contact.unblocked", str(actor))]


async def test_another_organizations_contact_stays_blocked(
    db: Database, channel: Channel, make: Factory, owner: psycopg.Connection
) -> None:
    async with db.connection() as conn:
        await arrive(conn, channel, "m1")
    owner.execute("UPDATE contacts SET is_blocked = true")
    [(contact,)] = owner.execute("SELECT id FROM contacts").fetchall()
    other = make.organization("Alheia")
    for named in (other, channel.organization_id):
        async with db.tenant(other) as conn:
            with pytest.raises(Refusal, match="contact_not_found"):
                await unblock_contact(conn, named, contact, actor="x")
    assert owner.execute("SELECT is_blocked FROM contacts").fetchone() == (True,)
