"""Events that are processed before their answer (spec 2.2): outcomes, edits, deletes, number states,
template reviews, connection. Each is applied, and its row closed, in one transaction.

What is older than what is already there by the provider's time changes nothing.
"""

import json
from dataclasses import dataclass
from uuid import UUID

from portaria.db.pool import Connection, Database
from portaria.db.queries import load_queries
from portaria.intake import tell
from portaria.intake.ingest import PREVIEW_LENGTH
from portaria.intake.providers import (
    Body,
    ContractError,
    Delete,
    Edit,
    Fact,
    NumberState,
    Outcome,
    Provider,
    TemplateReview,
)
from portaria.intake.providers import (
    Connection as ConnectionChange,
)
from portaria.intake.sessions import Session
from portaria.notices import open_notice, resolve_titled

_Q = load_queries("portaria.intake")

_TROUBLE = {
    "declined": "O provedor recusou o número",
    "action_required": "O provedor pede uma ação para o número",
    "verification_required": "O provedor pede a verificação do número",
    "suspended": "O provedor suspendeu o número",
    "released": "O provedor liberou o número: ele não é mais seu",
    "disconnected": "A conta foi desconectada do provedor",
}
_ENDS = {
    "activated": ("declined", "action_required", "verification_required"),
    "reactivated": ("suspended",),
    "connected": ("disconnected",),
}
_REVIEW_NEEDS_ACTION = frozenset({"REJECTED", "PAUSED", "DISABLED"})
_REVIEW_STATES = ("REJECTED", "PENDING", "PAUSED", "DISABLED", "IN_APPEAL", "PENDING_DELETION")

APPLIED, STALE, UNKNOWN_MESSAGE = "applied", "stale", "unknown_message"


@dataclass(frozen=True, slots=True)
class SyncArrival:
    """An archived row whose event must be applied before its answer."""

    row: UUID
    session: Session
    provider: Provider
    body: Body


async def apply_event(db: Database, arrival: SyncArrival) -> str:
    """Applies the event and closes the row. Returns APPLIED, STALE or UNKNOWN_MESSAGE.

    Raises ContractError for a body that breaks the contract, and what the database raises.
    """
    fact = arrival.provider.parse(arrival.body)
    async with db.transaction() as conn:
        outcome = await _apply(conn, arrival.session, fact)
        await close_unaccepted(
            conn, arrival, status="processed", reason=None if outcome == APPLIED else outcome
        )
    return outcome


async def close_unaccepted(
    conn: Connection, arrival: SyncArrival, *, status: str, reason: str | None
) -> None:
    """The row's closing update; only here does such a row get its mark."""
    provider, session = arrival.provider, arrival.session
    await conn.execute(
        _Q["close_unaccepted"],
        {
            "id": arrival.row, "status": status, "valid_signature": True, "reason": reason,
            "event_type": provider.event_type(arrival.body) or None,
            "external_id": provider.external_id(arrival.body),
            "organization_id": session.organization_id, "channel_session_id": session.id,
            "provider": session.provider,
        },
    )  # fmt: skip


async def _apply(conn: Connection, session: Session, fact: Fact) -> str:
    match fact:
        case Outcome():
            return await _outcome(conn, session.organization_id, fact)
        case Edit():
            return await _change_text(conn, session.organization_id, "apply_edit", fact, fact.body)
        case Delete():
            return await _change_text(conn, session.organization_id, "apply_delete", fact, None)
        case NumberState():
            return await _state(conn, session, fact.state, fact, fact.phone_number)
        case ConnectionChange():
            state = "connected" if fact.connected else "disconnected"
            return await _state(conn, session, state, fact, None)
        case TemplateReview():
            return await _review(conn, session, fact)
        case _:
            raise ContractError("event")


async def _outcome(conn: Connection, organization_id: UUID, fact: Outcome) -> str:
    """An outcome never lowers an earlier one: sent < delivered < read; failed does not undo read."""
    parameters = {
        "organization_id": organization_id, "external_id": fact.external_id, "status": fact.status,
        "at": fact.at, "error": None if fact.error is None else json.dumps(fact.error),
    }  # fmt: skip
    applied = (await conn.execute(_Q["apply_outcome"], parameters)).rowcount
    return APPLIED if applied else await _missed(conn, organization_id, fact.external_id)


async def _change_text(
    conn: Connection, organization_id: UUID, query: str, fact: Edit | Delete, text: str | None
) -> str:
    """The newest edit counts; a delete keeps the text. The list's preview follows."""
    parameters = {
        "organization_id": organization_id, "external_id": fact.external_id, "at": fact.at, "body": text,
    }  # fmt: skip
    found = await (await conn.execute(_Q[query], parameters)).fetchone()
    if found is None:
        return await _missed(conn, organization_id, fact.external_id)
    _message, conversation_id, sent_at, deleted = found
    await conn.execute(
        _Q["preview_of_change"],
        {
            "organization_id": organization_id, "conversation_id": conversation_id, "sent_at": sent_at,
            "preview": None if text is None or deleted else text[:PREVIEW_LENGTH],
        },
    )  # fmt: skip
    return APPLIED


async def _missed(conn: Connection, organization_id: UUID, external_id: str) -> str:
    parameters = {"organization_id": organization_id, "external_id": external_id}
    found = await (await conn.execute(_Q["message_exists"], parameters)).fetchone()
    return STALE if found and found[0] else UNKNOWN_MESSAGE


async def _state(
    conn: Connection, session: Session, state: str, fact: NumberState | ConnectionChange, named: str | None
) -> str:
    """The session's state by the provider's time, with the notices it opens and ends (spec 5).

    The session's own spelling of the phone comes first: what ends a notice must find its title.
    """
    phone = session.phone_number or named or session.account_id
    parameters = {
        "organization_id": session.organization_id, "session_id": session.id, "state": state, "at": fact.at,
    }  # fmt: skip
    if (await conn.execute(_Q["apply_session_state"], parameters)).rowcount == 0:
        return STALE
    if state in _ENDS:
        titles = [tell.number_title(phone, ended) for ended in _ENDS[state]]
        await resolve_titled(conn, session.organization_id, titles)
    if state in _TROUBLE:
        reason = f" Motivo informado: {fact.reason}." if fact.reason else ""
        await open_notice(
            conn, organization_id=session.organization_id, kind="channel_number_alert", severity="error",
            title=tell.number_title(phone, state),
            body=f"{_TROUBLE[state]}.{reason} Resolva no painel do provedor.",
            resource_kind="channel_session", resource_id=session.id,
        )  # fmt: skip
    return APPLIED


async def _review(conn: Connection, session: Session, fact: TemplateReview) -> str:
    parameters = {
        "organization_id": session.organization_id, "session_id": session.id,
        "template_id": fact.template_id, "name": fact.name, "language": fact.language,
        "status": fact.status, "reason": fact.reason, "at": fact.at,
    }  # fmt: skip
    if (await conn.execute(_Q["apply_template_review"], parameters)).rowcount == 0:
        return STALE
    if fact.status == "APPROVED":
        titles = [tell.template_title(fact.name, status) for status in _REVIEW_STATES]
        await resolve_titled(conn, session.organization_id, titles)
        return APPLIED
    reason = f" Motivo informado: {fact.reason}." if fact.reason else ""
    await open_notice(
        conn, organization_id=session.organization_id, kind="channel_template_review",
        severity="warning" if fact.status in _REVIEW_NEEDS_ACTION else "info",
        title=tell.template_title(fact.name, fact.status),
        body=f"O provedor mudou a situação do modelo.{reason} Veja o modelo no painel do provedor.",
        resource_kind="channel_session", resource_id=session.id,
    )  # fmt: skip
    return APPLIED
