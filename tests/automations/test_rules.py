"""The one schema, and keeping rules: members only, one at a time, audited."""

from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from portaria.automations.etag import etag, versions_wanted
from portaria.automations.rulebook import create_rule, delete_rule, find_rule, list_rules, update_rule
from portaria.automations.rules import RuleDraft, RulePatch, draft_from, patch_from
from portaria.db.pool import Database
from portaria.errors import Refusal
from tests.support.rotation import Desk, fixed, rotation

A, B = UUID(int=1), UUID(int=2)
TAG = {"type": "add_tag", "config": {"tag": "novo"}}


def rule_with(*actions: Any, **more: Any) -> dict[str, Any]:
    return {"name": "Rodízio", "trigger_event": "lead.created", "actions": list(actions), **more}


def test_a_rule_is_stored_as_it_was_given() -> None:
    condition = {"field": "lead.source", "op": "eq", "value": "form"}
    given = rule_with(rotation(A, B, paused=(B,)), fixed(A), TAG, conditions=[condition], is_active=False)
    assert msgspec.to_builtins(draft_from(given)) == given


def test_what_may_be_left_out() -> None:
    entry = {"type": "assign_owner", "config": {"modo": "rodizio", "fila": [{"user_id": str(A)}]}}
    draft = draft_from(rule_with(entry))
    assert (draft.conditions, draft.is_active) == ([], True)
    assert msgspec.to_builtins(draft.actions) == [rotation(A)]
    assert draft_from(rule_with(rotation())).actions, "an empty queue is a queue (H3)"


WRONG: dict[str, dict[str, Any]] = {
    "no name": rule_with(TAG, name=""),
    "a blank name": rule_with(TAG, name="  "),
    "NUL in the name": rule_with(TAG, name="a\x00b"),
    "a long name": rule_with(TAG, name="n" * 256),
    "a name that is no text": rule_with(TAG, name=7),
    "no actions": rule_with(),
    "an unknown key": rule_with(TAG, extra=1),
    "a key of the table": rule_with(TAG, organization_id=str(A)),
    "another trigger": rule_with(TAG, trigger_event="lead.assigned"),
    "an unknown action": rule_with({"type": "send", "config": {}}),
    "an action without config": rule_with({"type": "add_tag"}),
    "an unknown key in an action": rule_with({**TAG, "x": 1}),
    "an unknown key in a config": rule_with({"type": "add_tag", "config": {"tag": "a", "x": 1}}),
    "an unknown key in the queue": rule_with(
        {"type": "assign_owner", "config": {"modo": "rodizio", "fila": [{"user_id": str(A), "x": 1}]}}
    ),
    "neither fixed nor rotation": rule_with({"type": "assign_owner", "config": {}}),
    "both": rule_with({"type": "assign_owner", "config": {"user_id": str(A), "modo": "rodizio", "fila": []}}),
    "a rotation without queue": rule_with({"type": "assign_owner", "config": {"modo": "rodizio"}}),
    "a queue without mode": rule_with({"type": "assign_owner", "config": {"fila": []}}),
    "another mode": rule_with({"type": "assign_owner", "config": {"modo": "sorteio", "fila": []}}),
    "a member that is no id": rule_with({"type": "assign_owner", "config": {"user_id": "ana"}}),
    "null for a member": rule_with({"type": "assign_owner", "config": {"user_id": None}}),
    "paused that is no boolean": rule_with(
        {"type": "assign_owner", "config": {"modo": "rodizio", "fila": [{"user_id": str(A), "pausado": 1}]}}
    ),
    "nobody twice": rule_with(rotation(A, B, A)),
    "two rotations": rule_with(rotation(A), rotation(B)),
    "an unknown field": rule_with(TAG, conditions=[{"field": "lead.id", "op": "eq", "value": "x"}]),
    "an unknown op": rule_with(TAG, conditions=[{"field": "lead.source", "op": "gt", "value": "x"}]),
    "a value that is no text": rule_with(TAG, conditions=[{"field": "lead.source", "op": "eq", "value": 1}]),
    "tags compared whole": rule_with(TAG, conditions=[{"field": "lead.tags", "op": "eq", "value": "x"}]),
    "a message's field on a lead": rule_with(
        TAG, conditions=[{"field": "message.text", "op": "eq", "value": "x"}]
    ),
    "a long tag": rule_with({"type": "add_tag", "config": {"tag": "t" * 51}}),
    "a long notice title": rule_with({"type": "notify", "config": {"title": "t" * 101}}),
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_rule_is_refused_with_the_place(given: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        draft_from(given)
    assert (refused.value.status, refused.value.code) == (422, "invalid_rule")
    assert refused.value.detail


@pytest.mark.parametrize("given", ["text", [], None, {"version": 2}, {"actions": []}, {"name": None}])
def test_a_wrong_change_is_refused(given: object) -> None:
    with pytest.raises(Refusal) as refused:
        patch_from(given)
    assert refused.value.status == 422


@pytest.mark.parametrize(
    ("header", "versions"),
    [
        (None, None), ("*", None), (' "3" ', {3}), ('"3", "4"', {3, 4}), ('W/"3"', set()),
        ('W/"3", "4"', {4}), ('"x"', set()), ('"٣"', set()),
    ],
)  # fmt: skip
def test_if_match(header: str | None, versions: set[int] | None) -> None:
    assert versions_wanted(header) == versions


@pytest.mark.parametrize("header", ["3", '"3', "", '"3" "4"', '"3",'])
def test_an_if_match_that_cannot_be_read_is_refused(header: str) -> None:
    with pytest.raises(Refusal) as refused:
        versions_wanted(header)
    assert refused.value.status == 400


class TestKeeping:
    async def refused(self, pool: Database, desk: Desk, verb: Any, *arguments: Any) -> tuple[int, str]:
        with pytest.raises(Refusal) as refused:
            async with pool.tenant(desk.org) as conn:
                await verb(conn, *arguments)
        return refused.value.status, refused.value.code

    async def test_made_read_changed_deleted_and_each_audited(self, desk: Desk, pool: Database) -> None:
        a, b = desk.members("Ana", "Bia")
        boss = desk.principal("manager")
        async with pool.tenant(desk.org) as conn:
            made = await create_rule(conn, boss, draft_from(rule_with(rotation(a, b))))
        assert made.actions == [rotation(a, b)]
        assert etag(made.version) == '"1"'
        async with pool.tenant(desk.org) as conn:
            changed = await update_rule(
                conn, boss, made.id, patch_from({"actions": [rotation(b, a)], "name": "Rodízio"})
            )
        assert (changed.version, changed.actions, changed.name) == (2, [rotation(b, a)], "Rodízio")
        async with pool.tenant(desk.org) as conn:
            assert await list_rules(conn, desk.org) == [changed]
            await delete_rule(conn, boss, made.id)
            assert await list_rules(conn, desk.org) == []
            kept = await find_rule(conn, desk.org, made.id, deleted=True)
            assert kept.deleted_at is not None
        audit = desk.conn.execute(
            "SELECT action, actor, metadata FROM api_audit_log WHERE organization_id = %s"
            " ORDER BY created_at",
            (desk.org,),
        ).fetchall()
        assert [(x[0], x[1]) for x in audit] == [
            (f"automation_rule.{what}", str(boss.user_id)) for what in ("created", "updated", "deleted")
        ]
        assert audit[1][2] == {
            "name": "Rodízio", "before": {"actions": [rotation(a, b)]}, "after": {"actions": [rotation(b, a)]}
        }  # fmt: skip

    async def test_somebody_changed_it_meanwhile(self, desk: Desk, pool: Database) -> None:
        rule = desk.rule(TAG)
        boss = desk.principal()
        patch = RulePatch(name="Outro")
        desk.conn.execute("UPDATE automation_rules SET name = 'SQL' WHERE id = %s", (rule,))
        stale = frozenset({1})
        assert await self.refused(pool, desk, update_rule, boss, rule, patch, stale) == (412, "rule_changed")
        assert await self.refused(pool, desk, delete_rule, boss, rule, stale) == (412, "rule_changed")
        async with pool.tenant(desk.org) as conn:
            assert (await find_rule(conn, desk.org, rule)).name == "SQL"
            assert (await update_rule(conn, boss, rule, patch, frozenset({2}))).version == 3
            assert (await update_rule(conn, boss, rule, patch)).version == 3, "nothing new changes nothing"

    async def test_only_managers_and_only_in_their_organization(self, desk: Desk, pool: Database) -> None:
        rule = desk.rule(TAG)
        for role in ("viewer", "agent"):
            weak = desk.principal(role)
            draft = draft_from(rule_with(TAG))
            assert (await self.refused(pool, desk, create_rule, weak, draft))[0] == 403
            assert (await self.refused(pool, desk, update_rule, weak, rule, RulePatch(name="x")))[0] == 403
            assert (await self.refused(pool, desk, delete_rule, weak, rule))[0] == 403
        other = Desk.open(desk.conn, desk.make)
        stranger = other.principal()
        assert (await self.refused(pool, other, update_rule, stranger, rule, RulePatch(name="x")))[0] == 404
        assert (await self.refused(pool, other, find_rule, other.org, rule))[0] == 404

    async def test_only_members_may_be_added_and_who_was_revoked_since_may_stay(
        self, desk: Desk, pool: Database
    ) -> None:
        a, b, gone = desk.members("Ana", "Bia", "Guto")
        foreign = Desk.open(desk.conn, desk.make).members("Olga")[0]
        boss = desk.principal()
        rule = desk.rule(rotation(a, gone))
        desk.conn.execute("UPDATE user_organizations SET revoked_at = now() WHERE user_id = %s", (gone,))
        for wrong in (rotation(foreign), fixed(uuid4()), rotation(a, gone), fixed(gone)):
            draft = draft_from(rule_with(wrong))
            assert await self.refused(pool, desk, create_rule, boss, draft) == (422, "not_a_member")
        stays = patch_from({"actions": [rotation(gone, b, a, paused=(gone,))]})
        leaves = patch_from({"actions": [rotation(b)]})
        async with pool.tenant(desk.org) as conn:
            assert len((await update_rule(conn, boss, rule, stays)).actions[0]["config"]["fila"]) == 3
            await update_rule(conn, boss, rule, leaves)
        assert await self.refused(pool, desk, update_rule, boss, rule, stays) == (422, "not_a_member")

    async def test_a_change_is_judged_with_what_stays(self, desk: Desk, pool: Database) -> None:
        text = {"field": "message.text", "op": "contains", "value": "x"}
        rule = desk.rule(TAG, trigger="message.received", conditions=[text])
        boss = desk.principal()
        patch = RulePatch(trigger_event="lead.created")
        assert (await self.refused(pool, desk, update_rule, boss, rule, patch))[0] == 422
        desk.conn.execute("UPDATE automation_rules SET actions = '[7]' WHERE id = %s", (rule,))
        async with pool.tenant(desk.org) as conn:
            off = await update_rule(conn, boss, rule, RulePatch(is_active=False))
        assert (off.is_active, off.actions) == (False, [7]), "what was edited by hand can be switched off"


def test_the_schema_is_in_the_documents_of_the_api() -> None:
    schema = msgspec.json.schema(RuleDraft)
    assert "assign_owner" in msgspec.json.encode(schema).decode()
