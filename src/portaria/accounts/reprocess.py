"""Reprocessing: an event starts anew, with no attempts spent, and the same job runs (spec 3).

Single: a failed event, or a processed one with `force`. By filter: failed ones alone. Audited, each.
"""

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal

_Q = load_queries("portaria.accounts")
_AT_ONCE: Final = 100
_BEFORE_ALL: Final = UUID(int=0)

_REFUSALS: Final = {
    "missing": Refusal(404, "not_found", "There is no such event."),
    "pending": Refusal(409, "pending", "The event is pending: its job is on its way."),
    "processed": Refusal(409, "processed", "The event took effect already: only force repeats it."),
    "emptied": Refusal(409, "payload_emptied", "The event's body was emptied by retention."),
}


@dataclass(frozen=True, slots=True)
class FailedFilter:
    """Which failed events; None is all. `since` is included, `until` is not; both are of the receipt."""

    event_type: str | None = None
    since: datetime | None = None
    until: datetime | None = None


async def reprocess(conn: Connection, event: UUID, *, actor: str | UUID, force: bool = False) -> None:
    """Starts one event anew: `pending`, and its job, in one statement. `conn` has the service's rights.

    Raises Refusal: 404 `not_found`; 409 `pending`, `processed` (without `force`) or `payload_emptied`.
    """
    parameters = {"id": event, "force": force, "actor": str(actor)}
    [(verdict,)] = await (await conn.execute(_Q["reprocess"], parameters)).fetchall()
    if verdict in _REFUSALS:
        refusal = _REFUSALS[verdict]
        raise Refusal(refusal.status, refusal.code, refusal.detail)


async def count_failed(conn: Connection, filter: FailedFilter) -> int:
    """How many events `reprocess_failed` would take up now."""
    [(count,)] = await (await conn.execute(_Q["count_failed"], asdict(filter))).fetchall()
    return int(count)


async def reprocess_failed(
    conn: Connection, filter: FailedFilter, *, actor: str | UUID
) -> AsyncIterator[int]:
    """Starts every failed event of the filter anew, once; yields how many, a hundred at most at a time.

    Stopping half-way leaves what was yielded done, and the rest as it was. `conn` is in autocommit.
    """
    after = _BEFORE_ALL
    while True:
        parameters = {**asdict(filter), "after": after, "limit": _AT_ONCE, "actor": str(actor)}
        done = await (await conn.execute(_Q["reprocess_some"], parameters)).fetchall()
        if not done:
            return
        after = done[-1][0]
        yield sum(verdict == "queued" for _, verdict in done)
