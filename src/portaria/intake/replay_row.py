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
from portaria.intake.give_up import give_up, must_end
from portaria.intake.ingest import ingest
from portaria.telemetry import TRIES

_Q = load_queries("portaria.intake")
# A round's last row, its try and its finishing update must fit into the time of the round's lock.
_FINISHING_SECONDS = 4.0
log = structlog.get_logger()


class Candidate(NamedTuple):
    """A row as it was selected: whoever finds it otherwise leaves it alone."""

    id: UUID
    attempts: int
    tried_at: datetime | None
    past_window: bool


async def replay_row(db: Database, candidate: Candidate, seconds: float) -> tuple[UUID, TryOutcome] | None:
    """Whose row it was and how its try ended; None when it was not to be had."""
    row: AcceptedRow | None = None
    try:
        async with asyncio.timeout(seconds):
            row = await _hold(db, candidate)
            if row is None:
                return None
            outcome = await (give_up(db, row) if must_end(row) else ingest(db, row, again=True))
    except Exception as error:
        if row is None:
            log.warning("replay_not_claimed", row=str(candidate.id), error=describe(error))
            return None
        outcome = await _failed(db, row, error, before=candidate.attempts)
    TRIES.labels("replay", outcome).inc()
    log.info(
        "message_" + outcome, row=str(row.id), organization=str(row.organization_id), attempts=row.attempts
    )
    return row.organization_id, outcome


async def _hold(db: Database, candidate: Candidate) -> AcceptedRow | None:
    """Raises the row's attempts before any work, unless it is beyond ingesting (spec 2.4)."""
    async with db.connection() as conn:
        if candidate.past_window or candidate.attempts >= CEILING:
            row = await load_row(conn, candidate.id)
            same = row and (row.attempts, row.tried_at) == (candidate.attempts, candidate.tried_at)
            return row if same else None
        parameters = {
            "row": candidate.id, "attempts": candidate.attempts, "tried_at": candidate.tried_at,
        }  # fmt: skip
        found = await (await conn.execute(_Q["claim_for_replay"], parameters)).fetchone()
        return None if found is None else AcceptedRow(*found)


async def _failed(db: Database, row: AcceptedRow, error: BaseException, *, before: int) -> TryOutcome:
    """Keeps a failed try. A failure at the ceiling ends the row in its finishing update."""
    log.warning("replay_failed", row=str(row.id), attempts=row.attempts, error=describe(error))
    unspent = before
    try:
        async with asyncio.timeout(_FINISHING_SECONDS):
            if before < row.attempts == CEILING and not is_infrastructure(error):
                try:
                    return await give_up(db, row, describe(error))
                except Exception as unfinished:
                    error, unspent = unfinished, row.attempts
            async with db.connection() as conn:
                await record_failure(conn, row, error, spent=row.attempts, unspent=unspent)
    except Exception as unwritten:
        log.warning("failure_not_recorded", row=str(row.id), error=describe(unwritten))
    return TryOutcome.KEPT if must_end(row) else TryOutcome.FAILED
