"""The cron `webhook-replay` (spec 2.4) [reprocessarEntradasAceitas]: every minute, one round at a time
in the whole installation, takes up the accepted rows whose first attempt failed or was lost.

The round's lock sits in a transaction of its own, so a round killed half-way blocks nothing; claims
are conditional, so a round that lost its lock does no harm.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID

import psycopg
import structlog

from portaria.audit import record
from portaria.db.pool import Connection, Database
from portaria.db.queries import load_queries
from portaria.intake.accepted import TryOutcome, describe
from portaria.intake.replay_row import Candidate, replay_row

_Q = load_queries("portaria.intake")
_SELECTED_AT_ONCE = 2000
_PROCESSED = frozenset({TryOutcome.INGESTED, TryOutcome.DUPLICATE})
_GAVE_UP = frozenset({TryOutcome.DEAD, TryOutcome.LATE, TryOutcome.CONTRACT})
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Pace:
    """Limits of a round: seconds after which no new row is taken, seconds for one row, rows at once."""

    round_seconds: float = 20.0
    row_seconds: float = 15.0
    at_once: int = 4


@dataclass(slots=True)
class Round:
    """What a round did, by organization. `processed`, `gave_up` and `failed` count rows."""

    outcomes: Counter[tuple[UUID, TryOutcome]] = field(default_factory=Counter)
    never_accepted: int = 0

    def count(self, outcomes: frozenset[TryOutcome]) -> int:
        return sum(n for (_org, outcome), n in self.outcomes.items() if outcome in outcomes)

    @property
    def summary(self) -> dict[str, int]:
        return {
            "processed": self.count(_PROCESSED),
            "gave_up": self.count(_GAVE_UP),
            "failed": self.count(frozenset({TryOutcome.FAILED, TryOutcome.KEPT})),
            "never_accepted": self.never_accepted,
        }


async def run_replay(db: Database, stop: asyncio.Event, *, every: float = 60.0, pace: Pace = Pace()) -> None:
    """The cron's loop in every worker, never behind jobs: whoever comes first when a round is due runs it."""
    while not stop.is_set():
        try:
            await replay_round(db, every=every, pace=pace, stop=stop)
        except Exception as error:
            log.warning("replay_round_failed", error=describe(error))
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), min(5.0, every))


async def replay_round(
    db: Database,
    *,
    wait: float = 0.0,
    every: float = 0.0,
    pace: Pace = Pace(),
    stop: asyncio.Event | None = None,
) -> Round | None:
    """One round. None when another one is running and did not end within `wait` seconds, or when the
    last one began less than `every` seconds ago by the database's clock. Once `stop` is set, no new row
    is taken.
    """
    if not await _is_due(db, every):
        return None
    async with _round_lock(db, wait) as ours:
        if not ours:
            log.warning("replay_round_skipped", reason="another round is running")
            return None
        if not await _begin(db, every):
            return None
        done = Round()
        try:
            await _replay_all(db, done, pace, stop or asyncio.Event())
            done.never_accepted = await _close_never_accepted(db)
        finally:
            await _audit(db, done)
    log.info("replay_round", **done.summary)
    return done


async def _is_due(db: Database, every: float) -> bool:
    """Asked before the lock, so that nobody tells of a round skipped that was not due."""
    async with db.connection() as conn:
        [(due,)] = await (await conn.execute(_Q["is_round_due"], {"every": every})).fetchall()
    return bool(due)


@asynccontextmanager
async def _round_lock(db: Database, wait: float) -> AsyncIterator[bool]:
    """Whether this round may run. The lock ends with its transaction, whatever becomes of the process."""
    async with db.connection() as conn:
        await conn.execute("BEGIN")
        try:
            # Longer than a round can take, so that only a frozen process is cut off.
            await conn.execute("SET LOCAL idle_in_transaction_session_timeout = '40s'")
            yield await _lock(conn, wait)
        finally:
            with suppress(psycopg.Error):
                await conn.execute("ROLLBACK")


async def _lock(conn: Connection, wait: float) -> bool:
    if wait <= 0:
        [(ours,)] = await (await conn.execute(_Q["lock_round"])).fetchall()
        return bool(ours)
    await conn.execute(_Q["wait_at_most"], {"wait": f"{int(wait * 1000)}ms"})
    try:
        async with conn.transaction():
            await conn.execute(_Q["wait_for_round"])
    except psycopg.errors.LockNotAvailable:
        return False
    return True


async def _begin(db: Database, every: float) -> bool:
    async with db.connection() as conn:
        return (await conn.execute(_Q["take_due_round"], {"every": every})).rowcount == 1


async def _replay_all(db: Database, done: Round, pace: Pace, stop: asyncio.Event) -> None:
    """In turn across organizations, so that failing rows hide nobody's good ones."""
    ends = time.monotonic() + pace.round_seconds
    async with db.connection() as conn:
        [(started,)] = await (await conn.execute(_Q["database_now"])).fetchall()
    seen: set[UUID] = set()
    while time.monotonic() < ends and not stop.is_set():
        async with db.connection() as conn:
            cursor = await conn.execute(
                _Q["replay_candidates"], {"round_started": started, "rows": _SELECTED_AT_ONCE}
            )
            found = [c for row in await cursor.fetchall() if (c := Candidate(*row)).id not in seen]
        if not found:
            return
        seen.update(c.id for c in found)
        in_turn = iter(found)

        async def take_turns() -> None:
            for candidate in in_turn:  # noqa: B023 - shared by the takers of one selection
                if time.monotonic() >= ends or stop.is_set():
                    return
                ended = await replay_row(db, candidate, pace.row_seconds)
                if ended is not None:
                    done.outcomes[ended] += 1

        async with asyncio.TaskGroup() as takers:
            # One connection holds the round's lock.
            for _ in range(max(1, min(pace.at_once, db.pool.max_size - 1))):
                takers.create_task(take_turns())


async def _close_never_accepted(db: Database) -> int:
    """Nothing was promised for them: closed without a notice (spec 2.4). Returns how many."""
    async with db.connection() as conn:
        return (await conn.execute(_Q["close_never_accepted"])).rowcount


async def _audit(db: Database, done: Round) -> None:
    """One entry for each organization in which the round processed or gave up something."""
    by_organization: dict[UUID, Counter[str]] = {}
    for (organization_id, outcome), rows in done.outcomes.items():
        if outcome in _PROCESSED | _GAVE_UP:
            kind = "processed" if outcome in _PROCESSED else "gave_up"
            by_organization.setdefault(organization_id, Counter())[kind] += rows
    if not by_organization:
        return
    async with db.connection() as conn:
        for organization_id, counts in by_organization.items():
            await record(
                conn, organization_id=organization_id, action="webhook.replay_run", actor="webhook-replay",
                metadata=dict(counts),
            )  # fmt: skip
