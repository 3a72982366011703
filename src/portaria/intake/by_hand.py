"""Replay by hand of an accepted row, from console, API and command line (spec 2.5).

In a claim of its own and outside the window; over 6 h it ingests with effects but without the
dispatch. It starts the attempts anew, repeats no effect, and is audited.
"""

import asyncio
from dataclasses import dataclass
from uuid import UUID

import structlog
from psycopg.errors import CheckViolation

from portaria.audit import record
from portaria.db.pool import Database
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.intake.accepted import AcceptedRow, TryOutcome, describe, load_row, record_failure
from portaria.intake.arrivals import ArrivalInFull, show_arrival
from portaria.intake.ingest import ingest
from portaria.intake.json_body import InvalidJson, parse_object
from portaria.intake.providers import provider_for
from portaria.intake.retention import emptied_at
from portaria.intake.verdict import answers_first
from portaria.telemetry import TRIES

_Q = load_queries("portaria.intake")
# Well below the minute for which a claim by hand is left alone by the cron.
_ROW_SECONDS = 15.0
# Signed, but never accepted: another account's.
_NOT_OURS = "conta_desconhecida"
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Replayed:
    """How the try ended, and what went wrong when it failed."""

    outcome: TryOutcome
    error: str | None = None


async def replay_by_hand(db: Database, row: UUID, *, actor: str, organization_id: UUID | None) -> Replayed:
    """One try of an accepted row, now. `organization_id`: whose rows the actor may replay, None for all.

    Raises Refusal: 404 unknown, 409 for what cannot be replayed or is being tried this moment.
    """
    async with db.connection() as conn:
        arrival = await show_arrival(conn, row)
        emptied = await emptied_at(conn, row)
    if arrival is None or (organization_id is not None and arrival.organization_id != organization_id):
        raise Refusal(404, "not_found", "There is no such arrival.")
    if emptied is not None:
        raise _emptied()
    _check(arrival)
    try:
        held = await _claim(db, arrival, actor)
    except CheckViolation:  # emptied a moment ago: the database lets no such row be pending
        raise _emptied() from None
    try:
        async with asyncio.timeout(_ROW_SECONDS):
            dispatch = not (held.past_window or held.session_archived)
            replayed = Replayed(await ingest(db, held, again=True, dispatch=dispatch))
    except Exception as error:
        replayed = Replayed(TryOutcome.FAILED, describe(error))
        await _keep(db, held, error)
    TRIES.labels("hand", replayed.outcome).inc()
    log.info("message_" + replayed.outcome, row=str(row), actor=actor, error=replayed.error)
    return replayed


def _check(arrival: ArrivalInFull) -> None:
    """Only what was accepted, and is absorbed by the database when repeated, may be ingested again."""
    if not arrival.valid_signature:
        raise Refusal(409, "not_accepted", "The signature of this arrival is not proven.")
    if None in (arrival.organization_id, arrival.channel_session_id) or arrival.error_message == _NOT_OURS:
        raise Refusal(409, "not_accepted", "This arrival belongs to no channel of ours.")
    try:
        kind = provider_for(arrival.provider).kind(parse_object(arrival.raw_body))
    except (KeyError, InvalidJson):
        raise Refusal(409, "not_a_message", "This arrival holds no message to replay.") from None
    if not answers_first(arrival.provider, kind):
        raise Refusal(409, "synchronous_event", "Only new messages of the official number can be replayed.")


def _emptied() -> Refusal:
    return Refusal(409, "body_emptied", "This arrival's body was emptied: there is nothing to replay.")


async def _claim(db: Database, arrival: ArrivalInFull, actor: str) -> AcceptedRow:
    busy = Refusal(409, "busy", "This arrival is being tried at this moment.")
    async with db.transaction() as conn:
        if (await (await conn.execute(_Q["claim_by_hand"], {"row": arrival.id})).fetchone()) is None:
            raise busy
        await record(
            conn, organization_id=arrival.organization_id, action="webhook.replayed", actor=actor,
            resource_kind="webhook_event", resource_id=arrival.id,
            metadata={"status": arrival.status, "attempts": arrival.attempts},
        )  # fmt: skip
        held = await load_row(conn, arrival.id)
        if held is None:
            raise busy
    return held


async def _keep(db: Database, row: AcceptedRow, error: Exception) -> None:
    try:
        async with db.connection() as conn:
            await record_failure(conn, row, error, spent=1, unspent=0)
    except Exception as unwritten:
        log.warning("failure_not_recorded", row=str(row.id), error=describe(unwritten))
