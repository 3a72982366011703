"""Before and after the fact: who is next and why, a dry run, turns, hand-over, activity."""

from uuid import UUID, uuid4

import pytest

from portaria.automations import rotation as views
from portaria.automations.engine import run_rules
from portaria.automations.runs import list_lead_runs, list_runs
from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.events import consume
from tests.support.rotation import Desk, fixed, rotation


def everything_written(desk: Desk) -> list[int]:
    tables = ("event_log", "automation_rule_runs", "automation_rodizio_atribuicoes", "procrastinate_jobs")
    return [desk.value(f"SELECT count(*) FROM {table}") for table in tables]


async def test_next_tells_the_order_who_is_skipped_and_why_and_then_it_happens(
    desk: Desk, pool: Database
) -> None:
    a, b, c, d = desk.members("Ana", "Bia", "Caio", "Duda")
    rule = desk.rule(rotation(a, b, c, d, paused=(b,)))
    desk.turn(rule)
    desk.conn.execute("UPDATE user_organizations SET role = 'viewer' WHERE user_id = %s", (c,))
    before = everything_written(desk)
    async with pool.tenant(desk.org) as conn:
        shown = await views.preview(conn, desk.org, rule)
        dry = await views.dry_run(conn, desk.org, rule)
    assert everything_written(desk) == before
    assert [(x.place, x.posicao, x.nome, x.reason) for x in shown.order] == [
        (1, 2, "Bia", "pausado"), (2, 3, "Caio", "viewer"), (3, 4, "Duda", None), (4, 1, "Ana", None)
    ]  # fmt: skip
    assert (shown.status, shown.reason) == ("assigned", None)
    assert shown.newest is not None
    assert (shown.newest.nome, shown.newest.posicao) == ("Ana", 1)
    assert dry == views.DryRun(None, shown)
    assert shown.next is not None
    assert desk.turn(rule)["user_id"] == str(shown.next.user_id)


async def test_next_says_when_there_is_none(desk: Desk, pool: Database) -> None:
    (a,) = desk.members("Ana")
    cases = {
        desk.rule(rotation(a, paused=(a,))): "ninguem_disponivel",
        desk.rule(rotation()): "ninguem_disponivel",
        desk.rule(fixed(a)): "sem_rodizio",
        desk.rule(rotation(a), active=False): "sem_rodizio",
    }
    async with pool.tenant(desk.org) as conn:
        for rule, reason in cases.items():
            shown = await views.preview(conn, desk.org, rule)
            assert (shown.status, shown.reason, shown.next) == ("skipped", reason, None)
        with pytest.raises(Refusal):
            await views.preview(conn, desk.org, uuid4())


async def test_a_dry_run_for_a_lead_says_whether_the_rule_matches(desk: Desk, pool: Database) -> None:
    (a,) = desk.members("Ana")
    rule = desk.rule(rotation(a), conditions=[{"field": "lead.tags", "op": "contains", "value": "vip"}])
    vip, _ = desk.lead(tags=("vip",))
    plain, _ = desk.lead()
    foreign, _ = Desk.open(desk.conn, desk.make).lead()
    async with pool.tenant(desk.org) as conn:
        assert (await views.dry_run(conn, desk.org, rule, vip)).matches is True
        assert (await views.dry_run(conn, desk.org, rule, plain)).matches is False
        with pytest.raises(Refusal):
            await views.dry_run(conn, desk.org, rule, foreign)
    assert desk.owner_of(vip) is None


async def test_history_stays_readable_after_member_and_rule_are_gone(desk: Desk, pool: Database) -> None:
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b))
    leads = [desk.lead() for _ in range(3)]
    for lead, event in leads:
        desk.turn(rule, lead, event)
    desk.conn.execute("UPDATE user_organizations SET revoked_at = now() WHERE user_id = %s", (a,))
    desk.conn.execute("UPDATE automation_rules SET deleted_at = now() WHERE id = %s", (rule,))
    async with pool.tenant(desk.org) as conn:
        turns = await views.list_turns(conn, desk.org, rule, limit=2)
        older = await views.list_turns(conn, desk.org, rule, limit=2, before=turns[-1].seq)
        of_lead = await views.list_turns(conn, desk.org, rule, limit=9, lead_id=leads[1][0])
        shares = await views.turns_per_member(conn, desk.org, rule)
    assert [(t.nome, t.former) for t in turns + older] == [("Ana", True), ("Bia", False), ("Ana", True)]
    assert [t.lead_id for t in of_lead] == [leads[1][0]]
    assert turns[0].candidates[0] == {"user_id": str(a), "posicao": 1, "reason": None}
    assert [(s.nome, s.turns) for s in shares] == [("Ana", 2), ("Bia", 1)]


async def work_off(desk: Desk, pool: Database) -> None:
    """Every waiting job of the organization, in order, as a worker would."""
    for _, _, event in desk.jobs():
        await consume(pool, run_rules, desk.org, event)
    desk.conn.execute(
        "DELETE FROM procrastinate_jobs WHERE args ->> 'organization_id' = %s::text", (desk.org,)
    )


async def test_leads_that_nobody_could_take_are_handed_out_oldest_first_each_with_its_own_event(
    desk: Desk, pool: Database
) -> None:
    """H14: a person asks for it; until then they wait, and show as *sem dono* with their age."""
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b, paused=(a, b)))
    leads = [desk.lead()[0] for _ in range(5)]
    await work_off(desk, pool)
    assert {desk.owner_of(lead) for lead in leads} == {None}
    desk.set_actions(rule, rotation(a, b))
    newest, _ = desk.lead()
    await work_off(desk, pool)
    boss = desk.principal("manager")
    async with pool.transaction() as conn:
        assert await views.count_unowned(conn, desk.org) == 5
        assert await views.hand_over(conn, boss, rule) == 5
    locks = desk.conn.execute(
        "SELECT DISTINCT lock FROM procrastinate_jobs WHERE args ->> 'organization_id' = %s::text",
        (desk.org,),
    ).fetchall()
    assert locks == [(f"rotation/{rule}",)], "one at a time, in order"
    await work_off(desk, pool)
    assert [desk.owner_of(lead) for lead in (newest, *leads)] == [a, b, a, b, a, b]
    assert desk.events("lead.handed_to_rotation") == 5
    async with pool.transaction() as conn:
        assert await views.hand_over(conn, boss, rule) == 0
        runs = await list_runs(conn, desk.org, rule, limit=4)
        rest = await list_runs(conn, desk.org, rule, limit=50, after=(runs[-1].created_at, runs[-1].id))
        of_lead = await list_lead_runs(conn, desk.org, leads[0], limit=9)
    assert len(runs + rest) == 11
    assert [r.status for r in of_lead] == ["done", "skipped"]
    assert of_lead[0].actions_result[0]["detail"]["nome"] == "Bia"


async def test_a_member_leaves_and_their_leads_are_handed_to_the_others(desk: Desk, pool: Database) -> None:
    a, b = desk.members("Ana", "Bia")
    closed, _ = desk.lead(owner=a)
    rule = desk.rule(rotation(a, b))
    leads = [desk.lead()[0] for _ in range(4)]
    desk.conn.execute("UPDATE crm_leads SET status = 'won' WHERE id = %s", (closed,))
    await work_off(desk, pool)
    with desk.conn.transaction():
        desk.conn.execute("UPDATE user_organizations SET revoked_at = now() WHERE user_id = %s", (a,))
        assert desk.value("SELECT fn_release_leads(%s, %s, 'test')", desk.org, a) == 2
    assert desk.events("lead.unassigned") == 2
    assert desk.value(
        "SELECT metadata FROM event_log WHERE id = %s", desk.event(leads[0], "lead.unassigned")
    ) == {"actor": "test", "reason": "member_revoked"}
    boss = desk.principal()
    async with pool.transaction() as conn:
        assert await views.hand_over(conn, boss, rule, [leads[2]]) == 1
        assert await views.hand_over(conn, boss, rule, None) == 2, "the second click is harmless"
    await work_off(desk, pool)
    assert [desk.owner_of(lead) for lead in leads] == [b, b, b, b]
    assert desk.owner_of(closed) == a
    assert desk.turns(rule) == [a, b, a, b, b, b]


@pytest.mark.parametrize(("role", "active", "status"), [("agent", True, 403), ("admin", False, 409)])
async def test_a_hand_over_that_is_refused(
    desk: Desk, pool: Database, role: str, active: bool, status: int
) -> None:
    rule = desk.rule(rotation(*desk.members("Ana")), active=active)
    desk.lead()
    with pytest.raises(Refusal) as refused:
        async with pool.transaction() as conn:
            await views.hand_over(conn, desk.principal(role), rule)
    assert refused.value.status == status
    assert desk.events("lead.handed_to_rotation") == 0


async def test_a_hand_over_asks_for_the_rotation_alone(desk: Desk, pool: Database) -> None:
    (a,) = desk.members("Ana")
    tag = {"type": "add_tag", "config": {"tag": "novo"}}
    never = [{"field": "lead.title", "op": "eq", "value": "never"}]
    rule: UUID = desk.rule(tag, rotation(a), conditions=never)
    lead, _ = desk.lead()
    async with pool.transaction() as conn:
        await views.hand_over(conn, desk.principal(), rule)
    await work_off(desk, pool)
    assert desk.owner_of(lead) == a
    assert desk.value("SELECT tags FROM crm_leads WHERE id = %s", lead) == []
