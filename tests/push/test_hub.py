"""Live signals: who hears of what, and that nobody stays behind."""

import asyncio
import json
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import psycopg
import pytest

from portaria.db.pool import Database
from portaria.notices import open_notice, resolve_notice
from portaria.push import Hub, Viewer
from portaria.push.hub import Feed
from tests.conftest import TestDatabase
from tests.support.rotation import Desk, rotation


@pytest.fixture
async def hub(shared: TestDatabase) -> AsyncIterator[Hub]:
    made = Hub(shared.app_url)
    running = asyncio.create_task(made.run())
    async with asyncio.timeout(10):
        await made.listening.wait()
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def agent(desk: Desk, user: UUID, *, sees_unowned: bool = True) -> Viewer:
    return Viewer(desk.org, user, sees_every_lead=False, sees_unowned=sees_unowned)


def boss(desk: Desk, **more: bool) -> Viewer:
    return Viewer(desk.org, uuid4(), sees_every_lead=True, sees_unowned=True, **more)


async def heard(feed: Feed, count: int) -> list[str]:
    async with asyncio.timeout(20):
        return [(await feed.get())[0] for _ in range(count)]


async def test_the_new_owner_hears_it_and_knows_it_is_theirs(desk: Desk, hub: Hub) -> None:
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a))
    with hub.page(agent(desk, a)) as mine, hub.page(agent(desk, b, sees_unowned=False)) as others:
        lead, event = desk.lead()
        desk.turn(rule, lead, event)
        assert await heard(mine, 1) == ["lead.created"]
        kind, data = await asyncio.wait_for(mine.get(), 20)
        assert kind == "lead.assigned"
        assert json.loads(data) == {"type": "lead.assigned", "id": str(lead), "mine": True}
        assert others.empty()


async def test_an_agent_hears_of_leads_without_owner_only_where_they_may_see_them(
    desk: Desk, hub: Hub
) -> None:
    a, b = desk.members("Ana", "Bia")
    with (
        hub.page(agent(desk, b)) as may, hub.page(agent(desk, b, sees_unowned=False)) as may_not,
        hub.page(boss(desk)) as all_of_it,
    ):  # fmt: skip
        lead, _ = desk.lead()
        desk.conn.execute("UPDATE crm_leads SET owner_user_id = %s WHERE id = %s", (a, lead))
        desk.conn.execute("UPDATE crm_leads SET stage = 'won' WHERE id = %s", (lead,))
        desk.conn.execute("UPDATE crm_leads SET owner_user_id = NULL WHERE id = %s", (lead,))
        everything = ["lead.created", "lead.assigned", "lead.stage_changed", "lead.unassigned"]
        assert await heard(all_of_it, 4) == everything
        # Taken by somebody else: it must vanish from the list of those without owner.
        assert await heard(may, 3) == ["lead.created", "lead.assigned", "lead.unassigned"]
        assert may_not.empty()


async def test_nobody_hears_another_organization_nor_what_was_rolled_back(desk: Desk, hub: Hub) -> None:
    other = Desk.open(desk.conn, desk.make)
    with hub.page(boss(desk)) as feed, hub.page(boss(other)) as foreign:
        with desk.conn.transaction(force_rollback=True):
            desk.lead()
        other.lead()
        assert await heard(foreign, 1) == ["lead.created"]
        assert feed.empty()


async def test_notices_are_heard_and_those_of_no_organization_by_operators(
    desk: Desk, hub: Hub, pool: Database
) -> None:
    async def notice(organization_id: UUID | None) -> UUID:
        async with pool.connection() as conn:
            return await open_notice(
                conn, organization_id=organization_id, kind="test", severity="info", title="Aviso", body=""
            )  # fmt: skip

    with hub.page(boss(desk)) as feed, hub.page(boss(desk, is_operator=True)) as operator:
        await notice(None)
        made = await notice(desk.org)
        await notice(desk.org)
        async with pool.connection() as conn:
            await resolve_notice(conn, made)
        assert await heard(operator, 3) == ["notice.open", "notice.open", "notice.resolved"]
        assert await heard(feed, 2) == ["notice.open", "notice.resolved"]


async def test_a_page_too_slow_reads_again_instead(desk: Desk, hub: Hub) -> None:
    with hub.page(boss(desk)) as feed, hub.page(boss(desk)) as watcher:
        contact = desk.contact()
        for _ in range(2):
            with desk.conn.transaction():
                for _ in range(150):
                    desk.lead(contact=contact)
            await heard(watcher, 150)
        assert feed.get_nowait() == ("resync", "{}")


async def test_a_fact_that_commits_after_a_later_one_is_heard_too_and_each_once(
    desk: Desk, hub: Hub, shared: TestDatabase
) -> None:
    with psycopg.connect(shared.owner_url) as slow, hub.page(boss(desk)) as feed:
        late, _ = desk.lead(conn=slow)
        soon, _ = desk.lead()
        told = [json.loads((await asyncio.wait_for(feed.get(), 20))[1])["id"]]
        slow.commit()
        told.append(json.loads((await asyncio.wait_for(feed.get(), 20))[1])["id"])
        assert told == [str(soon), str(late)]
        third, _ = desk.lead()
        assert json.loads((await asyncio.wait_for(feed.get(), 20))[1])["id"] == str(third)


async def test_after_a_lost_connection_every_page_reads_again(desk: Desk, hub: Hub) -> None:
    with hub.page(boss(desk)) as feed:
        desk.conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'portaria live'"
            " AND datname = current_database()"
        )
        assert await heard(feed, 1) == ["resync"]
        desk.lead()
        assert await heard(feed, 1) == ["lead.created"]


async def test_a_stream_begins_with_resync_and_speaks_the_protocol(
    desk: Desk, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = hub.stream(boss(desk))
    assert await anext(stream) == b"retry: 2000\n\nevent: resync\ndata: {}\n\n"
    lead, _ = desk.lead()
    told = await asyncio.wait_for(anext(stream), 20)
    assert told.startswith(b"event: lead.created\ndata: {")
    assert str(lead).encode() in told
    monkeypatch.setattr("portaria.push.hub.BEAT", 0.05)
    assert await asyncio.wait_for(anext(stream), 20) == b": still here\n\n"
    await stream.aclose()  # type: ignore[attr-defined]
    assert not hub._pages
