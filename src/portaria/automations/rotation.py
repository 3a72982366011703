"""The rotation before and after the fact: who is next and why, what would happen, who had which turn."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from psycopg.rows import class_row

from portaria.audit import record
from portaria.automations.rulebook import find_rule
from portaria.automations.rules import rotation_of
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.identity.principal import Principal, Role

_Q = load_queries("portaria.automations")

HAND_OVER_LIMIT: Final = 1000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member of the queue. `place`: when their turn comes, from 1; `reason`: why they are skipped
    (`pausado`, `revogado`, `viewer`, `fora_da_organizacao`), None for whoever can take it."""

    place: int
    posicao: int
    user_id: UUID | None
    nome: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that was taken. `candidates`: who was considered, and why not; `former`: has left since."""

    seq: int
    event_id: UUID
    lead_id: UUID
    user_id: UUID
    nome: str
    posicao: int
    candidates: list[dict[str, Any]]
    created_at: datetime
    former: bool


@dataclass(frozen=True, slots=True)
class Preview:
    """What the next lead would meet, were nothing to change: `status` and `reason` as in a result."""

    rule_id: UUID
    status: Literal["assigned", "skipped"]
    reason: str | None
    next: Candidate | None
    order: list[Candidate]
    newest: Turn | None


@dataclass(frozen=True, slots=True)
class DryRun:
    """`matches`: whether the rule's conditions hold for the lead (None without one)."""

    matches: bool | None
    outcome: Preview


@dataclass(frozen=True, slots=True)
class MemberTurns:
    user_id: UUID
    nome: str
    turns: int
    last_at: datetime


async def preview(conn: Connection, organization_id: UUID, rule_id: UUID) -> Preview:
    """Who is next, in which order, and who is skipped for which reason (`GET …/next`). Writes nothing,
    locks nothing: the answer may be old by the time it is read. Raises a 404 `Refusal`."""
    rule = await find_rule(conn, organization_id, rule_id)
    parameters = {"organization_id": organization_id, "rule_id": rule_id}
    async with conn.cursor(row_factory=class_row(Candidate)) as cursor:
        await cursor.execute(_Q["rotation_order"], parameters)
        order = await cursor.fetchall()
    newest = next(iter(await list_turns(conn, organization_id, rule_id, limit=1)), None)
    if not rule.is_active or rotation_of(rule.actions) is None:
        return Preview(rule_id, "skipped", "sem_rodizio", None, order, newest)
    first = next((c for c in order if c.reason is None), None)
    if first is None:
        return Preview(rule_id, "skipped", "ninguem_disponivel", None, order, newest)
    return Preview(rule_id, "assigned", None, first, order, newest)


async def dry_run(
    conn: Connection, organization_id: UUID, rule_id: UUID, lead_id: UUID | None = None
) -> DryRun:
    """What would happen if this lead, or any, came now. Writes nothing. Raises a 404 `Refusal`."""
    outcome = await preview(conn, organization_id, rule_id)
    if lead_id is None:
        return DryRun(None, outcome)
    parameters = {"organization_id": organization_id, "rule_id": rule_id, "lead_id": lead_id}
    [(exists, holds)] = await (await conn.execute(_Q["dry_run"], parameters)).fetchall()
    if not exists:
        raise Refusal(404, "lead_not_found", "There is no such lead.")
    return DryRun(bool(holds), outcome)


async def list_turns(
    conn: Connection,
    organization_id: UUID,
    rule_id: UUID,
    *,
    limit: int,
    before: int | None = None,
    lead_id: UUID | None = None,
) -> list[Turn]:
    """The turns of a rule, a deleted one too, the newest first; `before` is the last `seq` already seen."""
    async with conn.cursor(row_factory=class_row(Turn)) as cursor:
        await cursor.execute(
            _Q["list_turns"],
            {
                "organization_id": organization_id, "rule_id": rule_id, "limit": limit, "before": before,
                "lead_id": lead_id,
            },
        )  # fmt: skip
        return await cursor.fetchall()


async def turns_per_member(
    conn: Connection, organization_id: UUID, rule_id: UUID, since: datetime | None = None
) -> list[MemberTurns]:
    """How many of the rule's last 1,000 turns each member had, since a moment if given; members who left are
    among them."""
    parameters = {"organization_id": organization_id, "rule_id": rule_id, "since": since}
    async with conn.cursor(row_factory=class_row(MemberTurns)) as cursor:
        return await (await cursor.execute(_Q["turns_per_member"], parameters)).fetchall()


async def hand_over(
    conn: Connection, principal: Principal, rule_id: UUID, lead_ids: list[UUID] | None = None
) -> int:
    """Hands leads without an owner to the rule's rotation, oldest first, each with its own new event.

    All of the organization's, or those named; at most 1,000 in one call. Returns how many. In the
    caller's transaction, with the service's rights: `async with db.transaction()`. Raises `Refusal`: 403
    below manager, 404, 409 when the rule is switched off or has no rotation.
    """
    if principal.role < Role.manager:
        raise Refusal(403, "forbidden", "Only managers and admins may hand leads to the rotation.")
    rule = await find_rule(conn, principal.organization_id, rule_id)
    if not rule.is_active or rotation_of(rule.actions) is None:
        raise Refusal(409, "no_rotation", "This rule is switched off or has no rotation.")
    parameters = {
        "organization_id": rule.organization_id, "rule_id": rule.id, "actor": str(principal.user_id),
        "leads": lead_ids, "limit": HAND_OVER_LIMIT,
    }  # fmt: skip
    [(count,)] = await (await conn.execute(_Q["hand_over"], parameters)).fetchall()
    await record(
        conn, organization_id=rule.organization_id, action="lead.handed_to_rotation",
        actor=principal.user_id, resource_kind="automation_rule", resource_id=rule.id,
        metadata={"leads": count},
    )  # fmt: skip
    return int(count)


async def count_unowned(conn: Connection, organization_id: UUID) -> int:
    """Open leads without an owner: those a hand-over would take."""
    [(count,)] = await (
        await conn.execute(_Q["count_unowned"], {"organization_id": organization_id})
    ).fetchall()
    return int(count)
