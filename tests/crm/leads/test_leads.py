"""Leads: who sees which, who may change them, and claims that stand."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import msgspec
import pytest

from portaria.crm.leads import (
    LeadDraft,
    LeadFilter,
    LeadPatch,
    assign_lead,
    create_lead,
    find_lead,
    list_leads,
    list_unowned,
    update_lead,
)
from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.identity.principal import Principal
from tests.conftest import TestDatabase
from tests.support.processes import until
from tests.support.rotation import Desk

EVERY = LeadFilter()


async def seen(pool: Database, who: Principal, filter: LeadFilter = EVERY) -> set[str]:
    async with pool.tenant(who.organization_id) as conn:
        return {lead.title for lead in await list_leads(conn, who, limit=50, filter=filter)}


async def refused(pool: Database, who: Principal, lead: UUID, to: UUID | None) -> tuple[int, str]:
    with pytest.raises(Refusal) as error:
        async with pool.tenant(who.organization_id) as conn:
            await assign_lead(conn, who, lead, to)
    return error.value.status, error.value.code


async def test_who_sees_which_leads(desk: Desk, pool: Database) -> None:
    """Provider facts 7."""
    a, b = desk.members("Ana", "Bia")
    desk.lead(title="ana", owner=a)
    desk.lead(title="bia", owner=b)
    desk.lead(title="sem dono")
    Desk.open(desk.conn, desk.make).lead(title="de outra organização")
    ana = desk.principal("agent", a)
    for role in ("viewer", "manager", "admin"):
        assert await seen(pool, desk.principal(role)) == {"ana", "bia", "sem dono"}
    assert await seen(pool, ana) == {"ana", "sem dono"}
    assert await seen(pool, ana, LeadFilter(owner="none")) == {"sem dono"}
    assert await seen(pool, ana, LeadFilter(owner=a)) == {"ana"}
    assert await seen(pool, ana, LeadFilter(owner=b)) == set()
    assert await seen(pool, desk.principal(), LeadFilter(owner=b)) == {"bia"}
    desk.conn.execute("UPDATE organizations SET agents_see_unowned = false WHERE id = %s", (desk.org,))
    assert await seen(pool, ana) == {"ana"}
    assert await seen(pool, ana, LeadFilter(owner="none")) == set()
    assert await seen(pool, desk.principal("viewer"), LeadFilter(owner="none")) == {"sem dono"}


async def test_one_lead_is_found_only_by_who_sees_it(desk: Desk, pool: Database) -> None:
    a, b = desk.members("Ana", "Bia")
    lead, _ = desk.lead(owner=b)
    async with pool.tenant(desk.org) as conn:
        found = await find_lead(conn, desk.principal(), lead)
        assert (found.owner_name, found.contact_name, found.source) == ("Bia", "Cliente", "form")
        with pytest.raises(Refusal):
            await find_lead(conn, desk.principal("agent", a), lead)
    stranger = Desk.open(desk.conn, desk.make).principal()
    async with pool.tenant(stranger.organization_id) as conn:
        with pytest.raises(Refusal):
            await find_lead(conn, stranger, lead)


async def test_pages_follow_each_other_and_sem_dono_is_oldest_first(desk: Desk, pool: Database) -> None:
    boss, contact = desk.principal(), desk.contact()
    made = [desk.lead(contact=contact)[0] for _ in range(7)]
    now = desk.value("SELECT now()")
    for number, lead in enumerate(made):
        age = now - timedelta(hours=7 - number // 2)  # two of each moment
        desk.conn.execute("UPDATE crm_leads SET created_at = %s WHERE id = %s", (age, lead))
    async with pool.tenant(desk.org) as conn:
        whole = [lead.id for lead in await list_leads(conn, boss, limit=50)]
        pages, after = [], None
        while page := await list_leads(conn, boss, limit=2, after=after):
            pages += [lead.id for lead in page]
            after = (page[-1].created_at, page[-1].id)
        waiting = [lead.id for lead in await list_unowned(conn, boss, limit=50)]
    assert pages == whole
    assert set(whole) == set(made)
    pairs = [sorted(made[n : n + 2]) for n in range(0, 7, 2)]
    assert waiting == [lead for pair in pairs for lead in pair]


async def test_made_by_hand_with_the_contact_that_has_this_phone(desk: Desk, pool: Database) -> None:
    """The other spelling of a mobile line is the same person; a second lead is a second lead."""
    agent = desk.principal("agent")
    async with pool.transaction() as conn:
        first = await create_lead(conn, agent, LeadDraft(name="Rui", phone="(11) 98765-4321", tags=["b2b"]))
        again = await create_lead(
            conn, agent, LeadDraft(name="Rui S.", phone="+551187654321", email="r@x.co")
        )
    async with pool.tenant(desk.org) as conn:
        one, two = await find_lead(conn, agent, first), await find_lead(conn, agent, again)
    assert one.contact_id == two.contact_id
    assert (one.phone_number, two.email, one.source, one.tags) == ("+5511987654321", "r@x.co", "api", ["b2b"])
    actor = desk.value("SELECT metadata ->> 'actor' FROM event_log WHERE entity_id = %s", first)
    assert actor == str(agent.user_id)


@pytest.mark.parametrize(
    "wrong", [{"name": "x"}, {"name": "", "phone": "1"}, {"name": "x", "phone": "1", "owner": "y"}]
)
def test_a_draft_that_is_none(wrong: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, LeadDraft)


async def test_a_phone_that_is_none_and_a_viewer_make_nothing(desk: Desk, pool: Database) -> None:
    for who, draft, status in (
        (desk.principal("agent"), LeadDraft(name="x", phone="98765-4321"), 422),
        (desk.principal("viewer"), LeadDraft(name="x", email="a@b.co"), 403),
    ):
        with pytest.raises(Refusal) as error:
            async with pool.transaction() as conn:
                await create_lead(conn, who, draft)
        assert error.value.status == status
    assert desk.events("lead.created") == 0


async def test_a_change_leaves_the_owner_alone(desk: Desk, pool: Database) -> None:
    """H10: a form saved with an old owner cannot take the lead away."""
    a, z = desk.members("Ana", "Zeca")
    lead, _ = desk.lead(owner=z)
    boss = desk.principal("agent", z)
    async with pool.tenant(desk.org) as conn:
        after = await update_lead(conn, boss, lead, LeadPatch(stage="won", status="won", tags=["vip"]))
    assert (after.stage, after.status, after.tags, after.owner_user_id) == ("won", "won", ["vip"], z)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"owner_user_id": str(a)}, LeadPatch)
    with pytest.raises(Refusal):
        async with pool.tenant(desk.org) as conn:
            await update_lead(conn, desk.principal("viewer"), lead, LeadPatch(stage="x"))


async def test_who_may_give_a_lead_to_whom(desk: Desk, pool: Database) -> None:
    a, b = desk.members("Ana", "Bia")
    (v,) = desk.members("Vera", role="viewer")
    ana, boss = desk.principal("agent", a), desk.principal("manager")
    lead, _ = desk.lead()
    assert await refused(pool, ana, lead, b) == (403, "forbidden")
    async with pool.tenant(desk.org) as conn:
        await assign_lead(conn, ana, lead, a)
    async with pool.tenant(desk.org) as conn:
        await assign_lead(conn, ana, lead, b)
    assert await refused(pool, ana, lead, a) == (404, "lead_not_found")
    for nobody in (v, uuid4(), Desk.open(desk.conn, desk.make).members("Olga")[0]):
        assert await refused(pool, boss, lead, nobody) == (422, "not_eligible")
    assert (await refused(pool, desk.principal("viewer"), lead, a))[0] == 403
    async with pool.tenant(desk.org) as conn:
        await assign_lead(conn, boss, lead, None)
        await assign_lead(conn, boss, lead, None)
    assert desk.owner_of(lead) is None
    assert [desk.events(f"lead.{kind}") for kind in ("assigned", "unassigned")] == [2, 1]
    audited = "SELECT count(*) FROM api_audit_log WHERE organization_id = %s AND action = 'lead.assigned'"
    assert desk.value(audited, desk.org) == 3


async def test_a_claim_meanwhile_stands(desk: Desk, pool: Database) -> None:
    a, b = desk.members("Ana", "Bia")
    lead, _ = desk.lead(owner=b)
    boss = desk.principal()
    with pytest.raises(Refusal) as error:
        async with pool.tenant(desk.org) as conn:
            await assign_lead(conn, boss, lead, a, seen_owner=None)
    assert (error.value.status, error.value.code) == (409, "owner_changed")
    assert desk.owner_of(lead) == b


async def test_nobody_who_just_left_becomes_owner_by_hand(
    desk: Desk, pool: Database, shared: TestDatabase
) -> None:
    (a,) = desk.members("Ana")
    lead, _ = desk.lead()
    boss = desk.principal()
    with desk.conn.transaction():
        desk.conn.execute("UPDATE user_organizations SET revoked_at = now() WHERE user_id = %s", (a,))
        giving = asyncio.create_task(refused(pool, boss, lead, a))
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        await asyncio.to_thread(until, lambda: desk.value(waiting))
    assert await giving == (422, "not_eligible")
    assert desk.owner_of(lead) is None
