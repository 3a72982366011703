"""The cron `webhook-replay` (spec 2.4) [reprocessarEntradasAceitas]: every minute, one round at a time
in the whole installation, takes up the accepted rows whose first attempt failed or was lost.

The round's lock sits in a transaction of its own, so a round killed half-way blocks nothing; claims
are conditional, so a round that lost its lock does no harm.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import psycopg
import structlog

from portaria.audit import record
from portaria.db.pool import Connection, Database
from portaria.db.queries import load_queries
from portaria.db.sqlstate import is_infrastructure
from portaria.intake.accepted import CEILING, AcceptedRow, TryOutcome, describe, load_row, record_failure
from portaria.intake.give_up import give_up, must_end
from portaria.intake.ingest import ingest
from portaria.telemetry import TRIES

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


async def replay_round(
    db: Database, *, wait: float = 0.0, every: float = 0.0, pace: Pace = Pace()
) -> Round | None:
    """One round. None when another one is running and did not end within `wait` seconds, or when the
    last one began less than `every` seconds ago by the database's clock.
    """
    async with _round_lock(db, wait) as ours:
        if not ours:
            log.warning("replay_round_skipped", reason="another round is running")
            return None
        if not await _is_due(db, every):
            return None
        done = Round()
        await _close_never_accepted(db, done)
        await _replay_all(db, done, pace)
        await _audit(db, done)
    log.info("replay_round", **done.summary)
    return done


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
        found = await (await conn.execute(_Q["lock_round"])).fetchone()
        return bool(found and found[0])
    await conn.execute("SELECT set_config('lock_timeout', %s, true)", (f"{int(wait * 1000)}ms",))
    try:
        async with conn.transaction():
            await conn.execute(_Q["wait_for_round"])
    except psycopg.errors.LockNotAvailable:
        return False
    return True


async def run_replay(db: Database, stop: asyncio.Event, *, every: float = 60.0, pace: Pace = Pace()) -> None:
    """The cron's loop in every worker, never behind jobs: whoever comes first when a round is due runs it."""
    while not stop.is_set():
        try:
            await replay_round(db, every=every, pace=pace)
        except Exception as error:
            log.warning("replay_round_failed", error=describe(error))
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), min(5.0, every))


async def _is_due(db: Database, every: float) -> bool:
    async with db.connection() as conn:
        return (await conn.execute(_Q["take_due_round"], {"every": every})).rowcount == 1


async def _replay_all(db: Database, done: Round, pace: Pace) -> None:
    """In turn across organizations, so that failing rows hide nobody's good ones."""
    ends = time.monotonic() + pace.round_seconds
    async with db.connection() as conn:
        started = await _one(conn, "database_now")
    seen: set[UUID] = set()
    while time.monotonic() < ends:
        async with db.connection() as conn:
            cursor = await conn.execute(
                _Q["replay_candidates"], {"round_started": started, "rows": _SELECTED_AT_ONCE}
            )
            found = [c for c in await cursor.fetchall() if c[0] not in seen]
        if not found:
            return
        seen.update(c[0] for c in found)
        candidates = iter(found)
        async with asyncio.TaskGroup() as takers:
            for _ in range(pace.at_once):
                takers.create_task(_take_turns(db, candidates, done, pace, ends))


async def _take_turns(
    db: Database, candidates: Iterator[tuple[UUID, int, bool]], done: Round, pace: Pace, ends: float
) -> None:
    """Takes rows off the shared list until it is empty or the round's time is over."""
    while time.monotonic() < ends and (candidate := next(candidates, None)) is not None:
        await _take(db, *candidate, done, pace)


async def _take(db: Database, row: UUID, attempts: int, past_window: bool, done: Round, pace: Pace) -> None:
    """One row of a round: claimed, tried within its time, its failure kept."""
    try:
        async with asyncio.timeout(pace.row_seconds):
            held = await _hold(db, row, attempts, past_window)
    except Exception as error:
        log.warning("replay_not_claimed", row=str(row), error=describe(error))
        return
    if held is None:
        return
    unspent = attempts if held.attempts > attempts else held.attempts
    try:
        async with asyncio.timeout(pace.row_seconds):
            outcome = await (give_up(db, held) if must_end(held) else ingest(db, held, again=True))
    except Exception as error:
        outcome = await _failed(db, held, error, unspent=unspent)
    done.outcomes[held.organization_id, outcome] += 1
    TRIES.labels("replay", outcome).inc()
    log.info("message_" + outcome, row=str(row), organization=str(held.organization_id), attempts=held.attempts)


async def _hold(db: Database, row: UUID, attempts: int, past_window: bool) -> AcceptedRow | None:
    """Raises the row's attempts before any work, unless it is beyond ingesting (spec 2.4)."""
    async with db.connection() as conn:
        if not past_window and attempts < CEILING:
            parameters = {"row": row, "attempts": attempts, "ceiling": CEILING}
            claimed = await (await conn.execute(_Q["claim_for_replay"], parameters)).fetchone()
            if claimed is None:
                return None
            attempts += 1
        held = await load_row(conn, row)
    if held is None or held.attempts != attempts:
        return None
    return held


async def _failed(db: Database, row: AcceptedRow, error: BaseException, *, unspent: int) -> TryOutcome:
    """Keeps a failed try. A failure at the ceiling ends the row in its finishing update."""
    log.warning("replay_failed", row=str(row.id), attempts=row.attempts, error=describe(error))
    try:
        if unspent < row.attempts == CEILING and not is_infrastructure(error):
            return await give_up(db, row, describe(error))
        async with db.connection() as conn:
            await record_failure(conn, row, error, spent=row.attempts, unspent=unspent)
    except Exception as unwritten:
        log.warning("failure_not_recorded", row=str(row.id), error=describe(unwritten))
    return TryOutcome.KEPT if must_end(row) else TryOutcome.FAILED


async def _close_never_accepted(db: Database, done: Round) -> None:
    """Nothing was promised for them: closed without a notice (spec 2.4)."""
    async with db.connection() as conn:
        done.never_accepted = (await conn.execute(_Q["close_never_accepted"])).rowcount


async def _audit(db: Database, done: Round) -> None:
    """One entry for each organization in which the round processed or gave up something."""
    by_organization: dict[UUID, Counter[str]] = {}
    for (organization_id, outcome), rows in done.outcomes.items():
        if outcome in _PROCESSED | _GAVE_UP:
            kind = "processed" if outcome in _PROCESSED else "gave_up"
            by_organization.setdefault(organization_id, Counter())[kind] += rows
    async with db.connection() as conn:
        for organization_id, counts in by_organization.items():
            await record(
                conn, organization_id=organization_id, action="webhook.replay_run", actor="webhook-replay",
                metadata=dict(counts),
            )  # fmt: skip


async def _one(conn: Connection, query: str) -> datetime:
    found = await (await conn.execute(_Q[query])).fetchone()
    assert found is not None and isinstance(found[0], datetime)
    return found[0]
