"""History is append-only, and nobody sees or calls what is not theirs: asked of the catalog."""

from uuid import UUID

import psycopg
import pytest

from portaria.db.pool import Database
from tests.support.rotation import Desk, rotation

TABLES = [
    "lead_forms", "lead_form_submissions", "lead_form_rates", "automation_rules", "automation_rule_runs",
    "automation_rodizio_atribuicoes", "push_subscriptions", "push_deliveries",
]  # fmt: skip

OPEN_TO_TENANTS = {
    "fn_lock_members", "fn_conditions_hold", "fn_lead_facts", "fn_rotation_queue", "fn_rotation_candidates",
    "fn_to_uuid",
}  # fmt: skip

MINE = [
    "fn_admit_lead_form", "fn_assign_fixed_owner", "fn_automation_rodizio_atribuir", "fn_bump_rule_version",
    "fn_conditions_hold", "fn_emit_event_on_lead_change", "fn_emit_lead_event", "fn_enqueue_event",
    "fn_hand_over_leads", "fn_lead_facts", "fn_lock_members", "fn_matching_rules", "fn_notify_notice",
    "fn_open_runs", "fn_record_action_result", "fn_refuse_change", "fn_release_leads",
    "fn_rotation_candidates", "fn_rotation_queue", "fn_stamp_lead_owner", "fn_submit_lead_form",
    "fn_take_turn", "fn_to_uuid",
]  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE automation_rodizio_atribuicoes SET posicao = 9",
        "DELETE FROM automation_rodizio_atribuicoes",
        "TRUNCATE automation_rodizio_atribuicoes",
        "TRUNCATE automation_rodizio_atribuicoes CASCADE",
    ],
)
def test_the_database_refuses_to_change_history_even_to_the_owner(desk: Desk, statement: str) -> None:
    rule = desk.rule(rotation(*desk.members("Ana")))
    desk.turn(rule)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        desk.conn.execute(statement)
    assert len(desk.turns(rule)) == 1


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_row_security_and_tenants_hold_no_more_than_they_need(desk: Desk, table: str) -> None:
    assert desk.value("SELECT relrowsecurity FROM pg_class WHERE oid = %s::regclass", table)
    writes = {
        right
        for right in ("INSERT", "UPDATE", "DELETE", "TRUNCATE")
        if desk.value("SELECT has_table_privilege('authenticated', %s, %s)", table, right)
    }
    assert writes == ({"INSERT", "UPDATE"} if table in ("automation_rules", "lead_forms") else set())
    service = {
        right
        for right in ("UPDATE", "DELETE", "TRUNCATE")
        if desk.value("SELECT has_table_privilege('service_role', %s, %s)", table, right)
    }
    if table == "automation_rodizio_atribuicoes":
        assert service == set()


@pytest.mark.parametrize("function", MINE)
def test_tenants_execute_only_what_they_were_given(desk: Desk, function: str) -> None:
    given = desk.value(
        "SELECT bool_or(has_function_privilege('authenticated', oid, 'EXECUTE')) FROM pg_proc"
        " WHERE proname = %s AND pronamespace = 'public'::regnamespace",
        function,
    )
    assert given == (function in OPEN_TO_TENANTS)
    assert not desk.value(
        "SELECT bool_or(has_function_privilege('public', oid, 'EXECUTE')) FROM pg_proc WHERE proname = %s",
        function,
    )


async def test_a_tenant_sees_nothing_of_another_and_cannot_take_a_turn(desk: Desk, pool: Database) -> None:
    members = desk.members("Ana")
    rule = desk.rule(rotation(*members))
    lead, event = desk.lead()
    desk.turn(rule, lead, event)
    other = Desk.open(desk.conn, desk.make)
    for table in ("automation_rules", "automation_rodizio_atribuicoes", "crm_leads", "event_log"):
        assert await _count(pool, desk.org, table) > 0
        assert await _count(pool, other.org, table) == 0
    async with pool.tenant(other.org) as conn:
        changed = await conn.execute("UPDATE automation_rules SET name = 'meu' WHERE id = %s", (rule,))
        assert changed.rowcount == 0
        seen = await (await conn.execute("SELECT * FROM fn_lock_members(%s)", (members,))).fetchall()
        assert seen == []
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with pool.tenant(desk.org) as conn:
            await conn.execute(
                "SELECT fn_automation_rodizio_atribuir(%s, %s, %s, %s)", (desk.org, rule, lead, event)
            )


async def _count(pool: Database, organization_id: UUID, table: str) -> int:
    async with pool.tenant(organization_id) as conn:
        [(count,)] = await (await conn.execute(f"SELECT count(*) FROM {table}")).fetchall()  # type: ignore[arg-type]
    return int(count)
