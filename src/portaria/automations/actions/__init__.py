"""What a rule can do. An action returns its result: `{type, status, detail}`.

`status`: `assigned` (somebody became owner), `done`, `skipped` (with `detail.reason`: the lead is left as
it was, and *Atividade* says why), `failed`.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from portaria.automations.actions import add_tag, assign_owner, notify
from portaria.automations.actions.step import Result, Step, done, failed, skipped
from portaria.db.pool import Connection

Perform = Callable[[Connection, Step], Awaitable[Result]]

IN_TRANSACTION: Final[Mapping[str, Perform]] = {
    "assign_owner": assign_owner.assign_fixed,
    "add_tag": add_tag.perform,
    "notify": notify.perform,
}
"""The actions whose effect is part of the transaction that records it; a rotation's turn is not."""

__all__ = ["IN_TRANSACTION", "Perform", "Result", "Step", "done", "failed", "skipped"]
