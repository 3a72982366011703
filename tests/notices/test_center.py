"""The Central de avisos: one per organization and title, counted, reopened, resolved by anybody once."""

import asyncio
from uuid import UUID

import psycopg
import pytest

from portaria.db.pool import Database
from portaria.ids import uuid7
from portaria.notices import (
    NoticeFilter,
    acknowledge_notice,
    count_live,
    find_notice,
    list_notices,
    open_notice,
    resolve_notice,
    resolve_titled,
)
from tests.support.factory import Factory

TITLE = "Uma mensagem do número oficial não entrou no CRM"


async def opened(db: Database, organization_id: UUID | None, title: str = TITLE, **more: str) -> UUID:
    async with db.connection() as conn:
        return await open_notice(
            conn, organization_id=organization_id, kind="event_dead", severity="error", title=title,
            body="Confira as conversas no painel do provedor.", **more,
        )  # fmt: skip


async def test_fifty_at_once_are_one_notice_counted_fifty_times(db: Database, make: Factory) -> None:
    """Case I1: by constraint, not by looking first."""
    org = make.organization()
    ids = await asyncio.gather(*(opened(db, org) for _ in range(50)))
    assert len(set(ids)) == 1
    async with db.tenant(org) as conn:
        notice = await find_notice(conn, ids[0])
    assert notice is not None
    assert (notice.occurrences, notice.status) == (50, "open")


async def test_no_organization_counts_as_one_and_organizations_are_apart(db: Database, make: Factory) -> None:
    one, other = make.organization(), make.organization()
    ids = [await opened(db, org) for org in (one, other, None, None)]
    assert ids[2] == ids[3]
    assert len(set(ids)) == 3


async def test_a_repetition_reopens_an_acknowledged_notice_but_not_a_resolved_one(
    db: Database, make: Factory
) -> None:
    org = make.organization()
    first = await opened(db, org)
    async with db.tenant(org) as conn:
        assert await acknowledge_notice(conn, first)
        assert not await acknowledge_notice(conn, first)
    assert await opened(db, org) == first
    async with db.tenant(org) as conn:
        notice = await find_notice(conn, first)
        assert notice is not None
        assert (notice.status, notice.occurrences) == ("open", 2)
        assert await resolve_notice(conn, first)
    assert await opened(db, org) != first


async def test_two_tabs_resolve_the_same_notice_and_both_succeed(db: Database, make: Factory) -> None:
    """Case I4: the second waits for the first, then finds it done."""
    org = make.organization()
    notice = await opened(db, org)

    async def tab() -> bool:
        async with db.tenant(org) as conn:
            return await resolve_notice(conn, notice)

    assert sorted(await asyncio.gather(tab(), tab())) == [False, True]
    async with db.tenant(org) as conn:
        found = await find_notice(conn, notice)
        assert found is not None
        assert (found.status, found.resolved_at is not None) == ("resolved", True)
        assert not await acknowledge_notice(conn, notice)


async def test_what_has_ended_is_resolved_by_its_titles_in_its_organization_alone(
    db: Database, make: Factory
) -> None:
    one, other = make.organization(), make.organization()
    ended, stays = await opened(db, one, "Número +5511: SUSPENSO"), await opened(db, one, "Outro")
    elsewhere, nobodys = await opened(db, other, "Número +5511: SUSPENSO"), await opened(db, None, "Outro")
    async with db.connection() as conn:
        assert await resolve_titled(conn, one, ["Número +5511: SUSPENSO", "desconhecido"]) == 1
        assert await resolve_titled(conn, None, ["Outro"]) == 1
        statuses = [
            n and n.status for n in [await find_notice(conn, i) for i in (ended, stays, elsewhere, nobodys)]
        ]
    assert statuses == ["resolved", "open", "open", "resolved"]


async def test_a_notice_about_a_row_since_gone_hides_no_other(db: Database, make: Factory) -> None:
    """Case I3."""
    org = make.organization()
    gone = await opened(db, org, "gone", resource_kind="webhook_event", resource_id=str(uuid7()))
    other = await opened(db, org, "other")
    async with db.tenant(org) as conn:
        assert {n.id for n in await list_notices(conn, org, operator=False, limit=10)} == {gone, other}


async def test_pages_meet_without_gap_or_repetition_also_among_equal_times(
    db: Database, make: Factory, owner: psycopg.Connection
) -> None:
    org = make.organization()
    for n in range(7):
        await opened(db, org, f"t{n}")
    owner.execute(
        "UPDATE notices SET last_at = '2026-12-01T00:00:00Z' WHERE title IN ('t1', 't2', 't3', 't4')"
    )
    seen, after = [], None
    while True:
        async with db.tenant(org) as conn:
            page = await list_notices(conn, org, operator=False, limit=2, after=after)
        if not page:
            break
        seen += [n.title for n in page]
        after = (page[-1].last_at, page[-1].id)
    assert sorted(seen) == [f"t{n}" for n in range(7)]


@pytest.mark.parametrize("operator", [True, False])
async def test_only_operators_see_what_belongs_to_no_organization(
    db: Database, make: Factory, operator: bool
) -> None:
    org, other = make.organization(), make.organization()
    mine, nobodys, foreign = await opened(db, org), await opened(db, None), await opened(db, other)
    async with db.tenant(org, operator=operator) as conn:
        seen = {n.id for n in await list_notices(conn, org, operator=operator, limit=10)}
        assert await count_live(conn, org, operator=operator) == len(seen)
        assert await resolve_notice(conn, nobodys) is operator
        assert not await resolve_notice(conn, foreign)
        # Asking as an operator without being one shows nothing more: the database decides.
        if not operator:
            assert len(await list_notices(conn, org, operator=True, limit=10)) == 1
    assert seen == ({mine, nobodys} if operator else {mine})


async def test_the_list_is_filtered_by_status_and_kind(db: Database, make: Factory) -> None:
    org = make.organization()
    seen, fresh = await opened(db, org, "seen"), await opened(db, org, "fresh")
    async with db.tenant(org) as conn:
        await acknowledge_notice(conn, seen)
        only_open = await list_notices(conn, org, operator=False, limit=9, filter=NoticeFilter(["open"]))
        none = await list_notices(
            conn, org, operator=False, limit=9, filter=NoticeFilter(kind="event_contract")
        )
    assert [n.id for n in only_open] == [fresh]
    assert none == []
