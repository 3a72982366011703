"""Reading a conversation loses nothing that arrives meanwhile, and counts nothing twice."""

import asyncio
from uuid import uuid4

import psycopg
import pytest

from portaria.crm.inbox import find_conversation, list_messages, mark_read
from portaria.db.pool import Connection, Database
from portaria.errors import Refusal
from tests.crm.inbox.arrivals import arrive
from tests.support.factory import Channel, Factory


@pytest.fixture
def channel(make: Factory) -> Channel:
    return make.channel(make.organization())


async def unread(db: Database, channel: Channel, conversation) -> int:
    async with db.tenant(channel.organization_id) as conn:
        return (await find_conversation(conn, channel.organization_id, conversation)).unread_count


async def newest_arrival(conn: Connection, channel: Channel, conversation) -> int:
    page = await list_messages(conn, channel.organization_id, conversation, limit=50)
    return max(m.arrival for m in page)


async def test_two_messages_that_commit_while_somebody_reads_stay_unread(
    db: Database, channel: Channel
) -> None:
    """Case B1: the reader looked before them, and writes after them."""
    async with db.connection() as conn:
        _, conversation = await arrive(conn, channel, "m1")
    async with db.tenant(channel.organization_id) as conn:
        through = await newest_arrival(conn, channel, conversation)
    async with db.connection() as conn:
        await arrive(conn, channel, "m2", minute=1)
        await arrive(conn, channel, "m3", minute=2)
    async with db.tenant(channel.organization_id) as conn:
        assert await mark_read(conn, channel.organization_id, conversation, through) == 2
    assert await unread(db, channel, conversation) == 2


async def test_reading_waits_for_a_message_in_the_middle_of_arriving_and_leaves_it_unread(
    db: Database, channel: Channel, owner: psycopg.Connection
) -> None:
    """Case B1 with both at once: the reader's write is held by the message's transaction."""
    async with db.connection() as conn:
        _, conversation = await arrive(conn, channel, "m1")
    async with db.tenant(channel.organization_id) as conn:
        through = await newest_arrival(conn, channel, conversation)

    async def read() -> int:
        async with db.tenant(channel.organization_id) as conn:
            return await mark_read(conn, channel.organization_id, conversation, through)

    async with db.transaction() as arriving:
        await arrive(arriving, channel, "m2", minute=1)
        reading = asyncio.create_task(read())
        await somebody_waits(owner)
    assert await reading == 1
    assert await unread(db, channel, conversation) == 1


async def test_a_thread_opened_between_insert_and_count_shows_no_badge_that_stays(
    db: Database, channel: Channel
) -> None:
    """Case B2: what a reader can see, reading clears; a replay of it adds nothing."""
    async with db.connection() as conn:
        _, conversation = await arrive(conn, channel, "m1")
    async with db.tenant(channel.organization_id) as conn:
        through = await newest_arrival(conn, channel, conversation)
        assert await mark_read(conn, channel.organization_id, conversation, through) == 0
    async with db.connection() as conn:
        assert (await arrive(conn, channel, "m1"))[0] == "duplicate"
    assert await unread(db, channel, conversation) == 0


async def test_an_older_tab_does_not_take_back_what_was_read(db: Database, channel: Channel) -> None:
    async with db.connection() as conn:
        _, conversation = await arrive(conn, channel, "m1")
        await arrive(conn, channel, "m2", minute=1)
    org = channel.organization_id
    async with db.tenant(org) as conn:
        latest = await newest_arrival(conn, channel, conversation)
        assert await mark_read(conn, org, conversation, latest) == 0
        assert await mark_read(conn, org, conversation, latest - 1) == 0


async def test_nobody_marks_the_future_read(db: Database, channel: Channel) -> None:
    async with db.connection() as conn:
        _, conversation = await arrive(conn, channel, "m1")
    org = channel.organization_id
    for through in (2**63, 2**63 - 1, -5):
        async with db.tenant(org) as conn:
            await mark_read(conn, org, conversation, through)
    async with db.connection() as conn:
        await arrive(conn, channel, "m2", minute=1)
    async with db.tenant(org) as conn:
        assert await mark_read(conn, org, conversation, 0) == 1


async def test_another_organizations_conversation_cannot_be_read(
    db: Database, channel: Channel, make: Factory
) -> None:
    async with db.connection() as conn:
        _, conversation = await arrive(conn, channel, "m1")
    other = make.organization("Alheia")
    for organization_id in (other, channel.organization_id):
        async with db.tenant(other) as conn:
            assert await list_messages(conn, organization_id, conversation, limit=9) == []
            with pytest.raises(Refusal, match="conversation_not_found"):
                await mark_read(conn, organization_id, conversation, 1)
    async with db.tenant(channel.organization_id) as conn:
        with pytest.raises(Refusal, match="conversation_not_found"):
            await mark_read(conn, channel.organization_id, uuid4(), 1)
    assert await unread(db, channel, conversation) == 1


async def somebody_waits(owner: psycopg.Connection) -> None:
    """Until some connection waits for a row's lock."""
    async with asyncio.timeout(10):
        while not owner.execute(  # noqa: ASYNC110 - the server has no event to wait for
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone():
            await asyncio.sleep(0.01)
