"""A lead's *Atividade*: its facts and what the rules did with it, told in one line of time."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from portaria.automations.rotation import Turn, list_turns
from portaria.automations.rulebook import Rule, list_rules
from portaria.automations.runs import Run, list_lead_runs
from portaria.db.pool import Connection
from portaria.events import Event, list_events

_AT_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Considered:
    """A member of the queue at that turn, and why they were passed over; None for whoever could take it."""

    user_id: UUID
    posicao: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that happened: a fact, or one action of one run with who was considered for it."""

    at: datetime
    event: Event | None = None
    result: dict[str, Any] | None = None
    rule: Rule | None = None
    considered: list[Considered] = field(default_factory=list)


async def read_activity(conn: Connection, organization_id: UUID, lead_id: UUID) -> list[Entry]:
    """The newest first; at most so many facts and runs."""
    facts = await list_events(conn, organization_id, "lead", lead_id, limit=_AT_MOST)
    runs = await list_lead_runs(conn, organization_id, lead_id, limit=_AT_MOST)
    rules = {r.id: r for r in await list_rules(conn, organization_id, deleted=True)} if runs else {}
    turns = {
        (turn_rule, turn.event_id): turn
        for turn_rule in {run.rule_id for run in runs}
        for turn in await list_turns(conn, organization_id, turn_rule, limit=_AT_MOST, lead_id=lead_id)
    }
    entries = [Entry(fact.created_at, event=fact) for fact in facts]
    for run in runs:
        entries += _told(run, rules.get(run.rule_id), turns.get((run.rule_id, run.event_id)))
    return sorted(entries, key=lambda entry: entry.at, reverse=True)


def _told(run: Run, rule: Rule | None, turn: Turn | None) -> list[Entry]:
    at = run.finished_at or run.created_at
    return [
        Entry(at, result=result, rule=rule, considered=_considered(turn) if _is_turn(result) else [])
        for result in run.actions_result
        if isinstance(result, dict)
    ]


def _is_turn(result: dict[str, Any]) -> bool:
    return result.get("type") == "assign_owner" and "posicao" in (result.get("detail") or {})


def _considered(turn: Turn | None) -> list[Considered]:
    """The queue as it was, without those whose entry cannot be read."""
    if turn is None:
        return []
    return [
        Considered(UUID(c["user_id"]), c["posicao"], c["reason"])
        for c in turn.candidates
        if isinstance(c, dict) and c.get("user_id")
    ]
