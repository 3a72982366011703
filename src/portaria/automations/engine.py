"""A fact meets the rules: one run per rule and event, its actions in order, each with its result.

    fact ─▶ open_runs (one per matching rule) ─▶ action 0, 1, … ─▶ done | skipped | failed

An action's effect and its result are one transaction. So a run that dies anywhere goes on behind its last
result.
"""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import structlog
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from portaria.automations.actions import IN_TRANSACTION, Result, Step, failed, skipped
from portaria.automations.actions.assign_owner import is_rotation, take_turn
from portaria.db.pool import Connection, Database
from portaria.db.queries import load_queries
from portaria.db.sqlstate import may_pass
from portaria.events import Event, TryAgain

_Q = load_queries("portaria.automations")
_log = structlog.get_logger()

HANDED_OVER: Final = "lead.handed_to_rotation"

LOCK_WAIT: Final = 0.5
"""Seconds an action waits for a lock before its job makes room for others and comes back."""


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run with work left: `next` is the number of the first action without a result."""

    id: UUID
    rule_id: UUID
    lead_id: UUID | None
    actions: list[Any]
    next: int


async def run_rules(db: Database, event: Event, comebacks: int = 0) -> None:
    """Does what the rules say about this fact, once, however often it is called.

    Raises `TryAgain` when a lock or the database stood in the way: what is done is recorded. One run's
    trouble does not keep the others from their turn.
    """
    trouble: BaseException | None = None
    for run in await _open(db, event):
        try:
            await _carry_out(db, event, run)
        except Exception as error:
            if not may_pass(error):
                raise
            trouble = error
    if trouble is not None:
        raise TryAgain(f"a rule of event {event.id} must wait: {type(trouble).__name__}") from trouble


async def _open(db: Database, event: Event) -> list[OpenRun]:
    parameters = {
        "organization_id": event.organization_id, "event_id": event.id, "lead_id": event.lead_id,
        "rotation_only": event.event_type == HANDED_OVER,
    }  # fmt: skip
    async with db.connection() as conn, conn.cursor(row_factory=class_row(OpenRun)) as cursor:
        return await (await cursor.execute(_Q["open_runs"], parameters)).fetchall()


async def _carry_out(db: Database, event: Event, run: OpenRun) -> None:
    for index in range(run.next, len(run.actions)):
        step = Step(
            event.organization_id, event.id, run.id, run.rule_id, run.lead_id, index, run.actions[index]
        )
        try:
            await (_rotate(db, step) if is_rotation(step.action) else _act(db, step))
        except Exception as error:
            if may_pass(error):
                raise
            _log.exception("action_failed", rule_id=str(run.rule_id), event_id=str(event.id), action=index)
            async with db.connection() as conn:
                await _record(conn, step, failed(step, type(error).__name__))


async def _rotate(db: Database, step: Step) -> None:
    async with db.connection() as conn:
        if step.lead_id is None:
            await _record(conn, step, skipped(step, "lead_inexistente"))
        else:
            await take_turn(conn, step, LOCK_WAIT)


async def _act(db: Database, step: Step) -> None:
    """The effect and its result in one transaction, unless another run of this job has done it."""
    async with db.transaction() as conn:
        await conn.execute(_Q["bounded_wait"], {"milliseconds": str(int(LOCK_WAIT * 1000))})
        [(mine,)] = await (await conn.execute(_Q["lock_run"], _place(step))).fetchall()
        if not mine:
            return
        perform = IN_TRANSACTION.get(step.type)
        if perform is None:
            result = failed(step, "unknown_action")
        elif step.lead_id is None:
            result = skipped(step, "lead_inexistente")
        else:
            result = await perform(conn, step)
        await _record(conn, step, result)


async def _record(conn: Connection, step: Step, result: Result) -> None:
    await conn.execute(_Q["record_result"], {**_place(step), "result": Jsonb(result)})


def _place(step: Step) -> dict[str, object]:
    return {"organization_id": step.organization_id, "run_id": step.run_id, "index": step.index}
