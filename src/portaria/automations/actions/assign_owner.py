"""Assign: one fixed member, or the next of the rotation (spec 4, seed 003).

In rotation mode only (organization, rule, lead, event) are passed on: the queue is read from the stored
rule, under the rule's lock.
"""

from collections.abc import Mapping
from typing import Any

from portaria.automations.actions.step import Result, Step, failed
from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.automations")


def is_rotation(action: Any) -> bool:
    """Whether a stored action is a rotation."""
    if not isinstance(action, Mapping) or action.get("type") != "assign_owner":
        return False
    config = action.get("config")
    return isinstance(config, Mapping) and config.get("modo") == "rodizio"


async def take_turn(conn: Connection, step: Step, wait: float) -> Result:
    """One turn, as one autocommit statement on `conn`, which must be outside a transaction.

    Waits at most `wait` seconds for a lock: then psycopg's LockNotAvailable, and nothing is written.
    """
    parameters = _place(step) | {"milliseconds": str(int(wait * 1000))}
    [(outcome,)] = await (await conn.execute(_Q["take_turn"], parameters)).fetchall()
    return _translated(step, outcome)


async def assign_fixed(conn: Connection, step: Step) -> Result:
    """The fixed member, in the caller's transaction."""
    user_id = step.config.get("user_id")
    if not isinstance(user_id, str):
        return failed(step, "invalid_config")
    parameters = _place(step) | {"user_id": user_id}
    [(outcome,)] = await (await conn.execute(_Q["assign_fixed_owner"], parameters)).fetchall()
    return _translated(step, outcome)


def _place(step: Step) -> dict[str, object]:
    return {
        "organization_id": step.organization_id, "rule_id": step.rule_id, "lead_id": step.lead_id,
        "event_id": step.event_id,
    }  # fmt: skip


def _translated(step: Step, outcome: dict[str, Any]) -> Result:
    """The database's outcome as *Atividade* keeps it: who and at which position, or the reason."""
    detail = {key: value for key, value in outcome.items() if key != "status"}
    return {"type": step.type, "status": outcome["status"], "detail": detail}
