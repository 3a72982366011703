"""The answers after the archive that are no acceptance: refused, ignored, our fault, processed first
(spec 2.2). The row's closing is written before the answer; when it cannot be, the answer is a 503.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import structlog

from portaria.asgi import Answer, unavailable
from portaria.db.pool import Database, in_time
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.intake import tell
from portaria.intake.accepted import AcceptedRow, TryOutcome, describe
from portaria.intake.apply import SyncArrival, apply_event, close_unaccepted
from portaria.intake.ingest import ingest
from portaria.intake.providers import ContractError, Kind
from portaria.intake.sessions import Session
from portaria.intake.verdict import (
    Ignored,
    NewMessageArrived,
    NotJson,
    OurFault,
    ProcessFirst,
    Refused,
    Verdict,
)

_Q = load_queries("portaria.intake")
_FAIL_WITHIN: Final = 1.0
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Closing:
    """What the row becomes."""

    status: str
    reason: str
    valid_signature: bool | None
    event_type: str | None = None
    external_id: str | None = None
    session: Session | None = None


async def settle(db: Database, row: UUID, verdict: Verdict, raw: bytes, *, within: float) -> Answer:
    """Closes the row and answers, in about `within` seconds. Raises Refusal for 400, 401, 500 and 503."""
    match verdict:
        case OurFault(reason, session):
            await _our_fault(db, row, reason, session, within)
            raise unavailable("The secret of this channel cannot be read.", 60)
        case Refused():
            await _close(db, row, _Closing("error", "signature missing or wrong", False), within)
            raise Refusal(401, "invalid_signature", "The signature is missing or wrong.")
        case NotJson(detail):
            await _close(db, row, _Closing("error", f"invalid_json: {detail}", True), within)
            raise Refusal(400, "invalid_json", f"The body is not a JSON object: {detail}.")
        case Ignored():
            closing = _Closing(
                "processed", verdict.reason, verdict.signed, verdict.event_type, verdict.external_id,
                verdict.session,
            )  # fmt: skip
            await _close(db, row, closing, within)
            return Answer(200, {"status": "ignored", "reason": verdict.reason, "id": str(row)})
        case ProcessFirst():
            arrival = SyncArrival(row, verdict.session, verdict.provider, verdict.body)
            return await _process(db, arrival, raw, within)
        case NewMessageArrived():
            raise AssertionError("a new message is accepted, not settled")


async def _close(db: Database, row: UUID, closing: _Closing, within: float) -> None:
    try:
        await in_time(_write_closing(db, row, closing), within)
    except Exception as error:
        log.warning("row_not_closed", row=str(row), error=describe(error))
        raise unavailable("The delivery could not be recorded.") from None


async def _write_closing(db: Database, row: UUID, closing: _Closing) -> None:
    session = closing.session
    parameters = {
        "id": row, "status": closing.status, "reason": closing.reason,
        "valid_signature": closing.valid_signature, "event_type": closing.event_type,
        "external_id": closing.external_id,
        "organization_id": session and session.organization_id, "channel_session_id": session and session.id,
        "provider": session and session.provider,
    }  # fmt: skip
    async with db.connection() as conn:
        await conn.execute(_Q["close_unaccepted"], parameters)


async def _our_fault(db: Database, row: UUID, reason: str, session: Session | None, within: float) -> None:
    """A 4xx would end the provider's deliveries for good, so: 503, a closed row, and a person is told."""
    log.error("channel_secret_unreadable", row=str(row), reason=reason)
    closing = _Closing("error", f"channel secret {reason}", None, session=session)
    await _close(db, row, closing, within)
    try:
        await in_time(_tell(db, session, reason), within)
    except Exception as error:
        log.warning("notice_not_written", row=str(row), error=describe(error))


async def _tell(db: Database, session: Session | None, reason: str) -> None:
    async with db.connection() as conn:
        await tell.secret_unreadable(
            conn, session.organization_id if session else None, session.id if session else None, reason
        )


async def _process(db: Database, arrival: SyncArrival, raw: bytes, within: float) -> Answer:
    """Applies the event before the answer; its write fails: 500, and the row keeps why."""
    new_message = arrival.provider.kind(arrival.body) is Kind.NEW_MESSAGE
    try:
        outcome = await in_time(
            _ingest_now(db, arrival, raw) if new_message else apply_event(db, arrival), within
        )
    except ContractError as error:
        await _fail(db, arrival, f"contract: {', '.join(error.fields)}")
        outcome = TryOutcome.CONTRACT
    except Exception as error:
        log.warning("event_not_applied", row=str(arrival.row), error=describe(error))
        await _fail(db, arrival, describe(error))
        raise Refusal(500, "not_processed", "The event could not be processed; deliver it again.") from None
    log.info("event_processed", row=str(arrival.row), outcome=outcome)
    if outcome == TryOutcome.CONTRACT:
        return Answer(200, {"status": "error", "reason": "contract", "id": str(arrival.row)})
    return Answer(200, {"status": "processed", "id": str(arrival.row)})


async def _ingest_now(db: Database, arrival: SyncArrival, raw: bytes) -> str:
    """A message of the social channel: the same ingestion, before its answer."""
    session = arrival.session
    async with db.connection() as conn:
        await conn.execute(
            _Q["claim_synchronous"],
            {
                "id": arrival.row, "organization_id": session.organization_id,
                "channel_session_id": session.id, "provider": session.provider,
            },
        )  # fmt: skip
    row = AcceptedRow(arrival.row, session.organization_id, session.id, session.provider, raw)
    outcome = await ingest(db, row, again=True)
    if outcome is TryOutcome.SUPERSEDED:
        raise RuntimeError("the row was closed by somebody else")
    return outcome


async def _fail(db: Database, arrival: SyncArrival, reason: str) -> None:
    try:
        await in_time(_write_failure(db, arrival, reason), _FAIL_WITHIN)
    except Exception as error:
        log.warning("row_not_closed", row=str(arrival.row), error=describe(error))


async def _write_failure(db: Database, arrival: SyncArrival, reason: str) -> None:
    async with db.connection() as conn:
        await close_unaccepted(conn, arrival, status="error", reason=reason)
