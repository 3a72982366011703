"""The end of a row that cannot be ingested any more: at the ceiling, past the window, or its session
archived (spec 2.4). It dies only after its opt-out is recorded, and a person is told.
"""

import asyncio
from uuid import UUID

import structlog

from portaria.db.pool import Connection, Database
from portaria.intake import tell
from portaria.intake.accepted import AcceptedRow, TryOutcome, close, describe
from portaria.intake.ingest import (
    at_once,
    find_message,
    names,
    names_in,
    read_message,
    record_opt_out,
    run_effects,
)
from portaria.intake.json_body import InvalidJson
from portaria.intake.opt_out import asks_to_leave
from portaria.intake.providers import ContractError, NewMessage

# Effects that hang must leave time to close the row: they do not keep it alive.
_EFFECTS_WITHIN = 2.0
log = structlog.get_logger()


async def give_up(db: Database, row: AcceptedRow, last_error: str | None = None) -> TryOutcome:
    """Ends a row as the table in spec 2.4 says; `last_error` is kept with it.

    Raises when its opt-out or its closing cannot be written: it stays `received` then, beyond the
    ceiling too.
    """
    why = _why(row, last_error)
    async with db.connection() as conn:
        try:
            message, facts = read_message(row)
        except (ContractError, InvalidJson):
            return await _die(conn, row, why, names_in(row))
        found = await find_message(conn, row.organization_id, message.external_id)
        if message.direction == "inbound" and asks_to_leave(message.body):
            await at_once(lambda: record_opt_out(conn, row, facts, found[1] if found else None))
        if found is not None and (message.direction == "outbound" or found[3]):
            closed = await at_once(lambda: close(conn, row, "processed", None, **names(message)))
            return TryOutcome.DUPLICATE if closed else TryOutcome.SUPERSEDED
        if found is None or row.session_archived:
            return await _die(conn, row, why, names(message))
    return await _end_unattended(db, row, why, message, found[0])


async def _die(conn: Connection, row: AcceptedRow, why: str, called: dict[str, str | None]) -> TryOutcome:
    """Dead with the message outside the CRM: somebody must look at the provider's panel. Whoever
    archived the session does not want to know.
    """

    async def end() -> TryOutcome:
        async with conn.transaction():
            note = "canal_arquivado" if row.session_archived else why
            if not await close(conn, row, "dead", note, **called):
                return TryOutcome.SUPERSEDED
            if not row.session_archived:
                await tell.not_in_crm(conn, row.organization_id, row.id)
        return TryOutcome.DEAD

    return await at_once(end)


async def _end_unattended(
    db: Database, row: AcceptedRow, why: str, message: NewMessage, message_id: UUID
) -> TryOutcome:
    """In, without its dispatch: its effects run without it; what fails again is named in the notice."""
    status = "processed" if row.past_window else "dead"

    async def end() -> str:
        async with db.transaction() as conn:
            done = await run_effects(conn, row, message_id, dispatch=False, status=status, note=why)
            if done == "done":
                await tell.unattended(conn, row.organization_id, row.id, None)
        return done

    async def end_without_effects(error: Exception) -> str:
        async with db.transaction() as conn:
            note = f"{why}; effects: {describe(error)}"[:500]
            if not await close(conn, row, status, note, **names(message)):
                return "superseded"
            await tell.unattended(conn, row.organization_id, row.id, "oportunidade e eventos da mensagem")
        return "done"

    try:
        async with asyncio.timeout(_EFFECTS_WITHIN):
            done = await at_once(end)
    except Exception as error:
        log.warning("effects_failed_at_the_end", row=str(row.id), error=describe(error))
        failed = error
        done = await at_once(lambda: end_without_effects(failed))
    if done == "superseded":
        return TryOutcome.SUPERSEDED
    if done == "already":
        return TryOutcome.DUPLICATE
    return TryOutcome.LATE if row.past_window else TryOutcome.DEAD


def _why(row: AcceptedRow, last_error: str | None) -> str:
    why = "past the window of 6 hours" if row.past_window else f"gave up after {row.attempts} attempts"
    return f"{why}: {last_error}" if last_error else why
