"""Looking for leads and conversations: who sees what, what a word finds, what is new."""

from uuid import UUID

import pytest

from portaria.crm.board import count_stages, count_unowned, read_news, search_conversations, search_leads
from portaria.db.pool import Database
from portaria.identity.principal import Principal, Role
from tests.crm.inbox.arrivals import arrive
from tests.support.rotation import Desk
from tests.support.shared import desk, pool, shared, shared_owner

__all__ = ["desk", "pool", "shared", "shared_owner"]


def _as(desk: Desk, user: UUID, role: Role) -> Principal:
    return Principal(user, "x@x", "X", False, desk.org, "Loja", role, "America/Sao_Paulo", "pt_BR")


async def test_an_agent_counts_and_finds_their_own_and_the_unowned_by_the_organizations_setting(
    desk: Desk, pool: Database
) -> None:
    ana, bia = desk.members("Ana", "Bia")
    desk.lead(title="da Ana", owner=ana)
    desk.lead(title="da Bia", owner=bia)
    desk.lead(title="de ninguém")
    agent, manager = _as(desk, ana, Role.agent), _as(desk, bia, Role.manager)

    async def seen(principal: Principal) -> tuple[int, int, int]:
        async with pool.tenant(desk.org) as conn:
            stages = await count_stages(conn, principal)
            unowned = await count_unowned(conn, principal)
            found = await search_leads(conn, principal, "d", limit=10)
        return sum(stage.leads for stage in stages), unowned.leads, len(found)

    assert await seen(manager) == (3, 1, 3)
    assert await seen(agent) == (2, 1, 2)
    desk.conn.execute("UPDATE organizations SET agents_see_unowned = false WHERE id = %s", (desk.org,))
    assert await seen(agent) == (1, 0, 1)
    assert await seen(manager) == (3, 1, 3)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("orça", 1), ("ROSA", 1), ("rosa@", 1), ("8765-43", 1), ("100%", 1), ("%", 1), ("_", 0), ("\\", 0),
        ("nada", 0),
    ],
)  # fmt: skip
async def test_a_word_finds_a_lead_by_title_name_e_mail_or_phone(
    desk: Desk, pool: Database, text: str, found: int
) -> None:
    (ana,) = desk.members("Ana")
    contact = desk.contact("Rosa Lima")
    desk.conn.execute(
        "UPDATE contacts SET email = 'rosa@exemplo.test', phone_number = %s WHERE id = %s",
        ("+551198765432", contact),
    )
    desk.lead(title="Orçamento 100%", contact=contact)
    async with pool.tenant(desk.org) as conn:
        assert len(await search_leads(conn, _as(desk, ana, Role.viewer), text, limit=5)) == found


async def test_stages_come_with_new_first(desk: Desk, pool: Database) -> None:
    (ana,) = desk.members("Ana")
    for stage in ("proposta", "new", "proposta"):
        lead, _ = desk.lead()
        desk.conn.execute("UPDATE crm_leads SET stage = %s WHERE id = %s", (stage, lead))
    async with pool.tenant(desk.org) as conn:
        stages = await count_stages(conn, _as(desk, ana, Role.admin))
    assert [(stage.stage, stage.leads) for stage in stages] == [("new", 1), ("proposta", 2)]


async def test_news_change_with_every_message_read_and_lead_and_with_nothing_else(
    desk: Desk, pool: Database
) -> None:
    channel = desk.make.channel(desk.org, phone_number=None)

    async def news() -> object:
        async with pool.tenant(desk.org) as conn:
            return await read_news(conn, desk.org)

    told = [await news()]
    async with pool.transaction() as conn:
        await arrive(conn, channel, f"wamid.{desk.org}1")
    told.append(await news())
    async with pool.transaction() as conn:
        await arrive(conn, channel, f"wamid.{desk.org}2", minute=1)
    told.append(await news())
    desk.conn.execute("UPDATE conversations SET unread_count = 0 WHERE organization_id = %s", (desk.org,))
    told.append(await news())
    desk.lead()
    told.append(await news())
    assert len(set(told)) == len(told)
    assert await news() == told[-1]
    other = desk.make.organization()
    desk.make.channel(other, phone_number=None)
    assert await news() == told[-1]
    async with pool.tenant(desk.org) as conn:
        [found] = await search_conversations(conn, desk.org, "pessoa", limit=5)
        assert await search_conversations(conn, desk.org, "ninguém", limit=5) == []
        assert [c.id for c in await search_conversations(conn, desk.org, "00000001", limit=5)] == [found.id]


@pytest.mark.parametrize("text", ["osa Li", "ROSA", "98765-43", "rosa@ex", "cozinha", "rosa_"])
async def test_what_is_old_is_found_by_any_part_of_a_word(desk: Desk, pool: Database, text: str) -> None:
    """Behind more leads than a search looks at one by one."""
    (ana,) = desk.members("Ana")
    contact = desk.contact("Rosa Lima")
    desk.conn.execute(
        "UPDATE contacts SET email = 'rosa@exemplo.test', phone_number = '+5511987654321' WHERE id = %s",
        (contact,),
    )
    lead, _ = desk.lead(contact=contact)
    old = "UPDATE crm_leads SET source = 'whatsapp', created_at = now() - interval '1 year' WHERE id = %s"
    desk.conn.execute(old, (lead,))
    _crowd(desk, 250)
    async with pool.tenant(desk.org) as conn:
        by_name = await search_leads(conn, _as(desk, ana, Role.viewer), text, limit=5)
    assert [found.id for found in by_name] == ([] if text in ("cozinha", "rosa_") else [lead])
    desk.conn.execute("UPDATE crm_leads SET title = 'Reforma da cozinha' WHERE id = %s", (lead,))
    async with pool.tenant(desk.org) as conn:
        by_title = await search_leads(conn, _as(desk, ana, Role.viewer), text, limit=5)
    assert [found.id for found in by_title] == ([] if text == "rosa_" else [lead])
    async with pool.tenant(desk.make.organization()) as conn:
        assert await search_leads(conn, _as(desk, ana, Role.viewer), text, limit=5) == []


async def test_counting_ends_at_a_thousand(desk: Desk, pool: Database) -> None:
    (ana,) = desk.members("Ana")
    _crowd(desk, 1_001)
    for role in (Role.viewer, Role.agent):
        async with pool.tenant(desk.org) as conn:
            [stage] = await count_stages(conn, _as(desk, ana, role))
            unowned = await count_unowned(conn, _as(desk, ana, role))
        assert (stage.leads, unowned.leads) == (1000, 1000)


def _crowd(desk: Desk, leads: int) -> None:
    """Leads of one contact without an owner, as if they had come by messages."""
    contact = desk.contact("Outra Pessoa")
    with desk.conn.transaction():
        desk.conn.execute("SET LOCAL session_replication_role = replica")
        desk.conn.execute(
            "INSERT INTO crm_leads (organization_id, id, contact_id, title, source)"
            " SELECT %s, gen_random_uuid(), %s, 'Outra Pessoa', 'whatsapp' FROM generate_series(1, %s)",
            (desk.org, contact, leads),
        )
