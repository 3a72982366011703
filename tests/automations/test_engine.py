"""A fact meets the rules: one run per rule and event, a result per action, effects once."""

import asyncio
from typing import Any
from uuid import UUID

import psycopg
import pytest

from portaria.automations.conditions import FIELDS
from portaria.automations.engine import run_rules
from portaria.db.pool import Database
from portaria.events import Event, consume, find_event
from tests.support.factory import Factory
from tests.support.rotation import Desk, fixed, rotation

TAG = {"type": "add_tag", "config": {"tag": "novo"}}
NOTICE = {"type": "notify", "config": {"title": "Chegou um lead", "body": "Veja."}}


async def fact(pool: Database, desk: Desk, event_id: UUID) -> Event:
    async with pool.connection() as conn:
        event = await find_event(conn, desk.org, event_id)
    assert event is not None
    return event


async def react(pool: Database, desk: Desk, event_id: UUID) -> None:
    await consume(pool, run_rules, desk.org, event_id)


def runs(desk: Desk, rule: UUID) -> list[tuple[str, list[Any]]]:
    return desk.conn.execute(
        "SELECT status, actions_result FROM automation_rule_runs WHERE rule_id = %s ORDER BY created_at",
        (rule,),
    ).fetchall()


async def test_a_lead_gets_its_owner_and_the_run_says_whose_turn_it_was(desk: Desk, pool: Database) -> None:
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b, paused=(a,)))
    lead, event = desk.lead()
    assert desk.jobs() == [("events", "portaria.event", event)]
    await react(pool, desk, event)
    assert desk.owner_of(lead) == b
    detail = {"user_id": str(b), "nome": "Bia", "posicao": 2}
    assert runs(desk, rule) == [("done", [{"type": "assign_owner", "status": "assigned", "detail": detail}])]


async def test_every_action_runs_in_order_and_its_effect_comes_once_however_often_it_is_called(
    desk: Desk, pool: Database
) -> None:
    """Twenty at the same time, then again."""
    (a,) = desk.members("Ana")
    rule = desk.rule(TAG, NOTICE, rotation(a))
    lead, event = desk.lead()
    same = await fact(pool, desk, event)
    await asyncio.gather(*(run_rules(pool, same) for _ in range(20)))
    await run_rules(pool, same)
    [(status, results)] = runs(desk, rule)
    assert (status, [r["status"] for r in results]) == ("done", ["done", "done", "assigned"])
    assert desk.value("SELECT tags FROM crm_leads WHERE id = %s", lead) == ["novo"]
    notice = "SELECT occurrences, kind, resource_id FROM notices WHERE organization_id = %s"
    assert desk.conn.execute(notice, (desk.org,)).fetchall() == [(1, "automation", str(lead))]
    assert desk.turns(rule) == [a]
    assert desk.events("lead.assigned") == 1


async def test_a_run_that_died_half_way_goes_on_behind_its_last_result(desk: Desk, pool: Database) -> None:
    (a,) = desk.members("Ana")
    rule = desk.rule(NOTICE, rotation(a))
    lead, event = desk.lead()
    desk.conn.execute(
        "INSERT INTO automation_rule_runs (organization_id, id, rule_id, event_id, lead_id, actions,"
        " actions_result) SELECT organization_id, gen_random_uuid(), id, %s, %s, actions,"
        """ '[{"type": "notify", "status": "done", "detail": {}}]' FROM automation_rules WHERE id = %s""",
        (event, lead, rule),
    )
    # The turn was taken, its result was not written: that is where it died.
    desk.turn(rule, lead, event)
    await react(pool, desk, event)
    [(status, results)] = runs(desk, rule)
    assert (status, len(results)) == ("done", 2)
    assert desk.value("SELECT count(*) FROM notices WHERE organization_id = %s", desk.org) == 0
    assert desk.turns(rule) == [a]


async def test_a_rule_gone_between_the_match_and_the_turn_is_sem_rodizio(
    owner: psycopg.Connection, make: Factory, db: Database
) -> None:
    desk = Desk.open(owner, make)
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(TAG, rotation(a, b))
    lead, event = desk.lead()
    # A trigger as the other person: it edits the rule in the moment the tag is set.
    desk.conn.execute(
        "CREATE FUNCTION edit_rule() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN"
        " UPDATE automation_rules SET actions = '[]' WHERE organization_id = NEW.organization_id;"
        " RETURN NULL; END $$;"
        " CREATE TRIGGER edit_rule AFTER UPDATE OF tags ON crm_leads FOR EACH ROW"
        " EXECUTE FUNCTION edit_rule()"
    )
    await react(db, desk, event)
    [(status, results)] = runs(desk, rule)
    assert status == "done"
    assert results[1] == {"type": "assign_owner", "status": "skipped", "detail": {"reason": "sem_rodizio"}}
    assert desk.owner_of(lead) is None


async def test_nobody_available_is_a_skipped_run_with_its_reason(desk: Desk, pool: Database) -> None:
    (a,) = desk.members("Ana")
    rule = desk.rule(rotation(a, paused=(a,)))
    lead, event = desk.lead()
    await react(pool, desk, event)
    assert runs(desk, rule) == [
        (
            "skipped",
            [{"type": "assign_owner", "status": "skipped", "detail": {"reason": "ninguem_disponivel"}}],
        )
    ]
    assert desk.owner_of(lead) is None


async def test_a_fixed_owner_only_while_they_may_have_leads(desk: Desk, pool: Database) -> None:
    a, z = desk.members("Ana", "Zeca")
    rule = desk.rule(fixed(a))
    lead, event = desk.lead()
    claimed, claimed_event = desk.lead()
    desk.conn.execute("UPDATE crm_leads SET owner_user_id = %s WHERE id = %s", (z, claimed))
    await react(pool, desk, event)
    await react(pool, desk, claimed_event)
    desk.conn.execute("UPDATE user_organizations SET role = 'viewer' WHERE user_id = %s", (a,))
    late, late_event = desk.lead()
    await react(pool, desk, late_event)
    assert [desk.owner_of(x) for x in (lead, claimed, late)] == [a, z, None]
    assert [r[1][0]["detail"].get("reason") for r in runs(desk, rule)] == [
        None, "ja_tem_dono", "ninguem_disponivel"
    ]  # fmt: skip


async def test_what_cannot_be_read_fails_alone(desk: Desk, pool: Database) -> None:
    (a,) = desk.members("Ana")
    odd: list[Any] = [
        {"type": "send_rocket", "config": {}}, {"type": "add_tag", "config": {"tag": 7}}, "text",
        {"type": "assign_owner", "config": {"user_id": 1}}, {"type": "notify", "config": {"title": None}},
        {"type": "assign_owner", "config": {"user_id": "nobody"}},
    ]  # fmt: skip
    rule = desk.rule(*odd, rotation(a))
    lead, event = desk.lead()
    await react(pool, desk, event)
    [(status, results)] = runs(desk, rule)
    assert status == "failed"
    assert [r["status"] for r in results] == ["failed"] * 5 + ["skipped", "assigned"]
    assert desk.owner_of(lead) == a


async def test_a_fact_caused_by_a_rule_triggers_none(desk: Desk, pool: Database) -> None:
    """Its own kind of fact, and another: a rule that moves a stage would trigger the other rule."""
    rule = desk.rule(TAG, trigger="lead.stage_changed")
    lead, _ = desk.lead()
    with desk.conn.transaction():
        desk.conn.execute(
            "SELECT set_config('portaria.cause', %s, true)", (f'{{"caused_by_rule": "{rule}"}}',)
        )
        desk.conn.execute("UPDATE crm_leads SET stage = 'qualified' WHERE id = %s", (lead,))
    assert desk.jobs() == []
    await react(pool, desk, desk.event(lead, "lead.stage_changed"))
    assert runs(desk, rule) == []


class TestWhichFactsBecomeJobs:
    def test_none_without_an_active_rule_for_them(self, desk: Desk) -> None:
        desk.rule(TAG, active=False)
        desk.rule(TAG, trigger="message.received")
        desk.lead()
        assert desk.jobs() == []

    def test_none_when_no_condition_holds(self, desk: Desk) -> None:
        desk.rule(TAG, conditions=[{"field": "lead.source", "op": "eq", "value": "whatsapp"}])
        desk.lead()
        assert desk.jobs() == []

    def test_none_for_a_fact_that_was_rolled_back(self, desk: Desk) -> None:
        desk.rule(TAG)
        with desk.conn.transaction(force_rollback=True):
            desk.lead()
        assert desk.jobs() == []
        assert desk.events("lead.created") == 0

    async def test_the_values_of_the_commit_count_not_those_of_the_insert(
        self, desk: Desk, pool: Database
    ) -> None:
        """H16."""
        rule = desk.rule(NOTICE, conditions=[{"field": "lead.tags", "op": "contains", "value": "VIP"}])
        with desk.conn.transaction():
            lead, event = desk.lead()
            desk.conn.execute("UPDATE crm_leads SET tags = '{vip}' WHERE id = %s", (lead,))
        with desk.conn.transaction():
            other, other_event = desk.lead(tags=("vip",))
            desk.conn.execute("UPDATE crm_leads SET tags = '{}' WHERE id = %s", (other,))
        assert [job[2] for job in desk.jobs()] == [event]
        await react(pool, desk, event)
        await react(pool, desk, other_event)
        assert len(runs(desk, rule)) == 1

    def test_the_push_only_for_an_owner_with_a_browser(self, desk: Desk) -> None:
        a, b = desk.members("Ana", "Bia")
        desk.conn.execute(
            "INSERT INTO push_subscriptions (organization_id, id, user_id, endpoint, p256dh, auth)"
            " VALUES (%s, gen_random_uuid(), %s, 'https://push.example/1', repeat('a', 87), repeat('b', 22))",
            (desk.org, a),
        )
        mine, _ = desk.lead(owner=a)
        desk.lead(owner=b)
        assert desk.jobs() == [("push", "portaria.push", desk.event(mine, "lead.assigned"))]


CONDITIONS = [
    ("lead.source", "eq", "form", True),
    ("lead.source", "eq", "Form", False),
    ("lead.source", "neq", "whatsapp", True),
    ("lead.source", "neq", "form", False),
    ("lead.title", "contains", "AÇÚCAR", True),
    ("lead.title", "contains", "sal", False),
    ("lead.title", "contains", "%", False),
    ("lead.tags", "contains", "vip", True),
    ("lead.tags", "contains", "vi", False),
    ("contact.name", "eq", "Cliente", True),
    ("contact.email", "eq", "x@y", False),
    ("contact.email", "neq", "x@y", True),
    ("contact.email", "contains", "x", False),
    ("lead.owner_user_id", "neq", "x", True),
    ("message.text", "contains", "x", False),
    ("no.such.field", "neq", "x", False),
    ("lead.source", "like", "form", False),
]


@pytest.mark.parametrize(("field", "op", "value", "holds"), CONDITIONS)
def test_a_condition(desk: Desk, field: str, op: str, value: str, holds: bool) -> None:
    lead, _ = desk.lead(title="Pedido de açúcar", tags=("b2b", "VIP"))
    condition = {"field": field, "op": op, "value": value}
    query = "SELECT fn_conditions_hold(%s, fn_lead_facts(%s, %s, '{}'))"
    from psycopg.types.json import Jsonb

    assert desk.value(query, Jsonb([condition]), desk.org, lead) is holds
    always = {"field": "lead.source", "op": "eq", "value": "form"}
    assert desk.value(query, Jsonb([always, condition]), desk.org, lead) is holds, "all must hold"


def test_the_schema_offers_exactly_the_fields_that_the_database_knows(desk: Desk) -> None:
    lead, _ = desk.lead()
    known = desk.value(
        "SELECT array_agg(k) FROM jsonb_object_keys(fn_lead_facts(%s, %s, '{}')) k", desk.org, lead
    )
    assert sorted(known) == sorted(FIELDS)


@pytest.mark.parametrize("conditions", ["[1]", '["x"]', "[{}]", "[null]", '[{"field": null, "op": "eq"}]'])
def test_conditions_edited_into_rubbish_hold_nobody_up(desk: Desk, conditions: str) -> None:
    rule = desk.rule(TAG)
    desk.conn.execute("UPDATE automation_rules SET conditions = %s::jsonb WHERE id = %s", (conditions, rule))
    desk.lead()
    assert desk.jobs() == []


async def test_a_stage_change_speaks_of_both_stages(desk: Desk, pool: Database) -> None:
    conditions = [
        {"field": "event.from", "op": "eq", "value": "new"}, {"field": "event.to", "op": "eq", "value": "won"}
    ]  # fmt: skip
    rule = desk.rule(TAG, trigger="lead.stage_changed", conditions=conditions)
    lead, _ = desk.lead()
    for stage in ("talking", "won", "new", "new", "won"):
        desk.conn.execute("UPDATE crm_leads SET stage = %s WHERE id = %s", (stage, lead))
    for _, _, event in desk.jobs():
        await react(pool, desk, event)
    assert desk.events("lead.stage_changed") == 4, "the same stage again is no change"
    assert len(runs(desk, rule)) == 1


async def test_a_message_acts_on_its_lead_and_without_one_nothing_is_done(desk: Desk, pool: Database) -> None:
    rule = desk.rule(TAG, trigger="message.received", conditions=[
        {"field": "message.text", "op": "contains", "value": "preço"}
    ])  # fmt: skip
    lead, _ = desk.lead()
    events = [
        desk.value(
            "INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id, payload) VALUES"
            " (%s, gen_random_uuid(), 'message.received', 'message', gen_random_uuid(),"
            " jsonb_build_object('lead_id', %s::uuid, 'owner_user_id', NULL, 'text', %s::text)) RETURNING id",
            desk.org, of, text,
        )
        for of, text in ((lead, "Qual o preço?"), (None, "preço"), (lead, "oi"))
    ]  # fmt: skip
    assert [job[2] for job in desk.jobs()] == events[:2]
    for event in events:
        await react(pool, desk, event)
    assert [(s, r[0]["status"]) for s, r in runs(desk, rule)] == [("done", "done"), ("skipped", "skipped")]
    assert desk.value("SELECT tags FROM crm_leads WHERE id = %s", lead) == ["novo"]


async def test_a_broken_action_is_recorded_and_the_next_one_runs(
    owner: psycopg.Connection, make: Factory, db: Database
) -> None:
    desk = Desk.open(owner, make)
    rule = desk.rule(TAG, NOTICE)
    _, event = desk.lead()
    owner.execute("ALTER TABLE crm_leads ADD CONSTRAINT no_tags CHECK (tags = '{}') NOT VALID")
    await react(db, desk, event)
    [(status, results)] = runs(desk, rule)
    assert status == "failed"
    assert [(r["status"], r["detail"]) for r in results] == [
        ("failed", {"reason": psycopg.errors.CheckViolation.__name__}), ("done", {})
    ]  # fmt: skip
