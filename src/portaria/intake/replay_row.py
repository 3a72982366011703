"""One row of a replay round (spec 2.4): claimed, tried within its time, its failure kept."""

import asyncio
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import structlog

from portaria.db.pool import Database
from portaria.db.queries import load_queries
from portaria.db.sqlstate import is_infrastructure
from portaria.intake.accepted import CEILING, AcceptedRow, TryOutcome, describe, load_row, record_failure
from portaria.intake.give_up import give_up
from portaria.intake.ingest import ingest
from portaria.telemetry import TRIES

_Q = load_queries("portaria.intake")
# With these a round's last row ends within the time of the round's lock: 20 + 15 + 3 + 1 < 40 s.
_ENDING_SECONDS = 3.0
_RECORDING_SECONDS = 1.0
log = structlog.get_logger()


class Candidate(NamedTuple):
    """A row as it was selected: whoever finds it otherwise leaves it alone."""

    id: UUID
    attempts: int
    tried_at: datetime | None
    past_window: bool

    @property
    def is_over(self) -> bool:
        """Beyond ingesting as it was found: its last try is spent, or it is too late."""
        return self.past_window or self.attempts >= CEILING


async def replay_row(db: Database, candidate: Candidate, seconds: float) -> tuple[UUID, TryOutcome] | None:
    """Whose row it was and how its try ended; None when it was not to be had."""
    row: AcceptedRow | None = None
    ends = candidate.is_over
    try:
        async with asyncio.timeout(seconds):
            row = await _hold(db, candidate)
            if row is None:
                return None
            ends = ends or row.session_archived
            outcome = await (give_up(db, row) if ends else ingest(db, row, again=True))
    except Exception as error:
        if row is None:
            log.warning("replay_not_claimed", row=str(candidate.id), error=describe(error))
            return None
        outcome = await _failed(db, row, error, before=candidate.attempts, ends=ends)
    TRIES.labels("replay", outcome).inc()
    log.info(
        "message_" + outcome, row=str(row.id), organization=str(row.organization_id), attempts=row.attempts
    )
    return row.organization_id, outcome


async def _hold(db: Database, candidate: Candidate) -> AcceptedRow | None:
    """Raises the row's attempts before any work, unless it is beyond ingesting (spec 2.4)."""
    async with db.connection() as conn:
        if candidate.is_over:
            row = await load_row(conn, candidate.id)
            same = row and (row.attempts, row.tried_at) == (candidate.attempts, candidate.tried_at)
            return row if same else None
        parameters = {
            "row": candidate.id, "attempts": candidate.attempts, "tried_at": candidate.tried_at,
        }  # fmt: skip
        found = await (await conn.execute(_Q["claim_for_replay"], parameters)).fetchone()
        return None if found is None else AcceptedRow(*found)


async def _failed(
    db: Database, row: AcceptedRow, error: BaseException, *, before: int, ends: bool
) -> TryOutcome:
    """Keeps a failed try. A failure at the ceiling ends the row in its finishing update."""
    log.warning("replay_failed", row=str(row.id), attempts=row.attempts, error=describe(error))
    unspent = before
    if before < row.attempts == CEILING and not ends and not is_infrastructure(error):
        ends = True
        try:
            async with asyncio.timeout(_ENDING_SECONDS):
                return await give_up(db, row, describe(error))
        except Exception as unfinished:
            error, unspent = unfinished, row.attempts
    try:
        async with asyncio.timeout(_RECORDING_SECONDS), db.connection() as conn:
            await record_failure(conn, row, error, spent=row.attempts, unspent=unspent)
    except Exception as unwritten:
        log.warning("failure_not_recorded", row=str(row.id), error=describe(unwritten))
    return TryOutcome.KEPT if ends else TryOutcome.FAILED
