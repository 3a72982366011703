"""Keeping the rules: list, read, create, change, delete, each change audited (spec 4).

Every verb runs in the caller's transaction, as the tenant: `async with db.tenant(organization_id)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from portaria.audit import record
from portaria.automations.rules import RuleDraft, RulePatch, draft_from, members_named
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.identity.principal import Principal, Role
from portaria.ids import uuid7

_Q = load_queries("portaria.automations")

_JUDGED_TOGETHER = frozenset({"trigger_event", "conditions", "actions"})


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as stored: `conditions` and `actions` in JSON types, also where edited by hand."""

    organization_id: UUID
    id: UUID
    name: str
    trigger_event: str
    conditions: list[Any]
    actions: list[Any]
    is_active: bool
    version: int
    deleted_at: datetime | None
    created_at: datetime
    updated_at: datetime


async def list_rules(conn: Connection, organization_id: UUID, *, deleted: bool = False) -> list[Rule]:
    """The rules in the order in which they run; with the `deleted` ones if asked."""
    async with conn.cursor(row_factory=class_row(Rule)) as cursor:
        await cursor.execute(_Q["list_rules"], {"organization_id": organization_id, "deleted": deleted})
        return await cursor.fetchall()


async def find_rule(conn: Connection, organization_id: UUID, rule_id: UUID, *, deleted: bool = False) -> Rule:
    """The rule. Raises a 404 `Refusal`, for a deleted one too unless `deleted`."""
    return await _find(conn, "find_rule", organization_id, rule_id, deleted=deleted)


async def create_rule(conn: Connection, principal: Principal, draft: RuleDraft) -> Rule:
    """Stores a new rule. Raises `Refusal`: 403 below manager, 422 when somebody named is no member."""
    _may_change(principal)
    actions = msgspec.to_builtins(draft.actions)
    await _must_be_members(conn, principal.organization_id, members_named(actions))
    async with conn.cursor(row_factory=class_row(Rule)) as cursor:
        await cursor.execute(
            _Q["insert_rule"],
            {
                "organization_id": principal.organization_id, "id": uuid7(), "name": draft.name,
                "trigger_event": draft.trigger_event, "is_active": draft.is_active,
                "conditions": Jsonb(msgspec.to_builtins(draft.conditions)), "actions": Jsonb(actions),
            },
        )  # fmt: skip
        [rule] = await cursor.fetchall()
    await _audit(conn, principal, rule, "automation_rule.created", {"after": _said(rule)})
    return rule


async def update_rule(
    conn: Connection,
    principal: Principal,
    rule_id: UUID,
    patch: RulePatch,
    versions: frozenset[int] | None = None,
) -> Rule:
    """Changes what `patch` gives. Nothing given, or nothing new, changes nothing.

    `versions`: those the caller may have seen, None for any. Whoever is added must be a member; one who
    was in the rule already may stay (spec 4). Raises `Refusal`: 403, 404, 412 when somebody changed the
    rule meanwhile, 422.
    """
    _may_change(principal)
    before = await _lock(conn, principal.organization_id, rule_id, versions)
    given = {key: value for key, value in patch.given().items() if value != getattr(before, key)}
    if not given:
        return before
    if given.keys() & _JUDGED_TOGETHER:
        draft_from({**{key: getattr(before, key) for key in _SAID}, **given})
    added = members_named(given.get("actions", [])) - members_named(before.actions)
    await _must_be_members(conn, principal.organization_id, added)
    async with conn.cursor(row_factory=class_row(Rule)) as cursor:
        await cursor.execute(
            _Q["update_rule"],
            {
                **{key: given.get(key) for key in _SAID},
                "conditions": Jsonb(given["conditions"]) if "conditions" in given else None,
                "actions": Jsonb(given["actions"]) if "actions" in given else None,
                "organization_id": before.organization_id, "id": before.id,
            },
        )  # fmt: skip
        [after] = await cursor.fetchall()
    changed = {"before": {key: getattr(before, key) for key in given}, "after": given}
    await _audit(conn, principal, after, "automation_rule.updated", changed)
    return after


async def delete_rule(
    conn: Connection, principal: Principal, rule_id: UUID, versions: frozenset[int] | None = None
) -> None:
    """Sets `deleted_at`; runs and turns stay. Raises `Refusal`: 403, 404, 412."""
    _may_change(principal)
    rule = await _lock(conn, principal.organization_id, rule_id, versions)
    await conn.execute(_Q["delete_rule"], {"organization_id": rule.organization_id, "id": rule.id})
    await _audit(conn, principal, rule, "automation_rule.deleted", {"before": _said(rule)})


_SAID = ("name", "trigger_event", "conditions", "actions", "is_active")


def _said(rule: Rule) -> dict[str, Any]:
    return {key: getattr(rule, key) for key in _SAID}


def _may_change(principal: Principal) -> None:
    if principal.role < Role.manager:
        raise Refusal(403, "forbidden", "Only managers and admins may change automations.")


async def _lock(
    conn: Connection, organization_id: UUID, rule_id: UUID, versions: frozenset[int] | None
) -> Rule:
    rule = await _find(conn, "lock_rule", organization_id, rule_id, deleted=False)
    if versions is not None and rule.version not in versions:
        raise Refusal(412, "rule_changed", "Somebody changed this rule meanwhile: read it again first.")
    return rule


async def _find(conn: Connection, query: str, organization_id: UUID, rule_id: UUID, *, deleted: bool) -> Rule:
    async with conn.cursor(row_factory=class_row(Rule)) as cursor:
        await cursor.execute(_Q[query], {"organization_id": organization_id, "id": rule_id})
        rule = await cursor.fetchone()
    if rule is None or (rule.deleted_at is not None and not deleted):
        raise Refusal(404, "rule_not_found", "There is no such rule.")
    return rule


async def _must_be_members(conn: Connection, organization_id: UUID, users: set[UUID]) -> None:
    if not users:
        return
    parameters = {"organization_id": organization_id, "users": list(users)}
    members = {row[0] for row in await (await conn.execute(_Q["live_members"], parameters)).fetchall()}
    if strangers := sorted(str(user) for user in users - members):
        raise Refusal(422, "not_a_member", f"Not a member of the organization: {', '.join(strangers)}.")


async def _audit(
    conn: Connection, principal: Principal, rule: Rule, action: str, metadata: dict[str, Any]
) -> None:
    await record(
        conn, organization_id=rule.organization_id, action=action, actor=principal.user_id,
        resource_kind="automation_rule", resource_id=rule.id, metadata={"name": rule.name, **metadata},
    )  # fmt: skip


__all__: Sequence[str] = ("Rule", "create_rule", "delete_rule", "find_rule", "list_rules", "update_rule")
