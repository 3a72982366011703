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


async def take_turn(conn: Connection, step: Step, wait: float) -> None:
    """One turn with its result, as one autocommit statement on `conn`, which must be outside a transaction.

    Waits at most `wait` seconds for a lock: then psycopg's LockNotAvailable, and nothing is written.
    """
    parameters = {"run_id": step.run_id, "index": step.index, "wait": f"{int(wait * 1000)}ms"}
    await conn.execute(_Q["take_turn"], _place(step) | parameters)


async def assign_fixed(conn: Connection, step: Step) -> Result:
    """The fixed member, in the caller's transaction."""
    user_id = step.config.get("user_id")
    if not isinstance(user_id, str):
        return failed(step, "invalid_config")
    parameters = _place(step) | {"user_id": user_id}
    [(outcome,)] = await (await conn.execute(_Q["assign_fixed_owner"], parameters)).fetchall()
    # As *Atividade* keeps it: who, or the reason.
    detail = {key: value for key, value in outcome.items() if key != "status"}
    return {"type": step.type, "status": outcome["status"], "detail": detail}


def _place(step: Step) -> dict[str, object]:
    return {
        "organization_id": step.organization_id, "rule_id": step.rule_id, "lead_id": step.lead_id,
        "event_id": step.event_id,
    }  # fmt: skip
