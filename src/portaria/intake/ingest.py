"""Ingestion: one function for the first attempt and every replay (spec 2.3).

[processarEntradaAceita → processarEventoAceito] It does not check the signature again: the mark is
the proof. Three transactions, each a single statement, so that a frozen process holds no lock:
T1 contact, conversation, message, stamp; T2 the opt-out; T3 the effects and the row's closing.
First attempts take many rows at once through T1 and T3, in one statement (decision 11).
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar
from uuid import UUID

import psycopg

from portaria.db.arrays import TextArray, UuidArray
from portaria.db.pool import Connection, Database
from portaria.db.queries import load_queries
from portaria.db.sqlstate import is_retryable_at_once
from portaria.ids import uuid7
from portaria.intake import tell
from portaria.intake.accepted import AcceptedRow, TryOutcome, close
from portaria.intake.json_body import InvalidJson, parse_object
from portaria.intake.opt_out import asks_to_leave
from portaria.intake.phones import search_variants
from portaria.intake.providers import ContractError, NewMessage, provider_for

_Q = load_queries("portaria.intake")
_T = TypeVar("_T")
_AT_ONCE = 3
_KIND_LENGTH = 50
PREVIEW_LENGTH = 160
_READ_A_TURN = 4
"""Messages read in one turn of the event loop, about 2 ms: answers wait for it."""


async def ingest(db: Database, row: AcceptedRow, *, again: bool, dispatch: bool = True) -> TryOutcome:
    """Takes an accepted row to its effects and closes it. Whatever it raises is a failed try.

    `again`: a replay, which takes up a duplicate whose effects are missing. `dispatch`: whether an
    agent may still answer. SUPERSEDED when the row was no longer this try's.
    """
    try:
        message, facts = read_message(row)
    except (ContractError, InvalidJson) as error:
        async with db.connection() as conn:
            return await _break_contract(conn, row, error)
    async with db.connection() as conn:
        first = await at_once(lambda: _t1(conn, row, facts))
        if first.outcome == "superseded":
            return TryOutcome.SUPERSEDED
        if first.outcome == "no_anchor":
            return await _break_contract(conn, row, ContractError(*_ANCHORS[message.direction]))
        duplicate = first.outcome == "duplicate"
        if message.direction == "outbound" or (duplicate and (first.dispatched or not again)):
            closed = await at_once(lambda: close(conn, row, "processed", None, **names(message)))
            if not closed:
                return TryOutcome.SUPERSEDED
            return TryOutcome.DUPLICATE if duplicate else TryOutcome.INGESTED
        if duplicate:
            await at_once(lambda: _restamp(conn, row, first.message_id, preview(message)))
        if asks_to_leave(message.body):
            await at_once(lambda: record_opt_out(conn, row, facts, first.contact_id))
        done = await at_once(
            lambda: run_effects(conn, row, first.message_id, dispatch=dispatch, status="processed")
        )
        return TryOutcome.SUPERSEDED if done == "superseded" else TryOutcome.INGESTED


async def ingest_together(
    db: Database, rows: Sequence[AcceptedRow], *, lock_wait: float = 0.25
) -> Mapping[UUID, TryOutcome]:
    """First attempts of many rows in one transaction. Those that are not in the result break the contract,
    ask to leave, or write in a thread that is locked: they are to be tried alone.

    Raises what the database raises, for a row's lock that was not to be had in `lock_wait` seconds too. Each
    row may be tried alone then: a transaction that was committed unheard left none of them open.
    """
    ready: list[tuple[AcceptedRow, str]] = []
    for number, row in enumerate(rows, 1):
        with suppress(ContractError, InvalidJson):
            message, facts = read_message(row)
            if message.direction == "outbound" or not asks_to_leave(message.body):
                ready.append((row, facts))
        if number % _READ_A_TURN == 0:
            await asyncio.sleep(0)
    if not ready:
        return {}
    parameters = (
        UuidArray.of(row.id for row, _facts in ready),
        UuidArray.of(row.organization_id for row, _facts in ready),
        UuidArray.of(row.session_id for row, _facts in ready),
        TextArray.of(_lead_source(row) for row, _facts in ready),
        TextArray.of(facts for _row, facts in ready),
        f"{int(lock_wait * 1000)}ms",
    )
    async with db.connection() as conn:
        done = await (await conn.execute(_Q["ingest_together"], parameters)).fetchall()
    return {row: TryOutcome(outcome) for row, outcome in done}


def read_message(row: AcceptedRow) -> tuple[NewMessage, str]:
    """The new message in a row's raw body, and its facts for the database as a JSON text.

    Raises ContractError or InvalidJson.
    """
    provider, body = provider_for(row.provider), parse_object(row.raw_body)
    message = provider.parse(body)
    if not isinstance(message, NewMessage):
        raise ContractError("event")
    facts = {
        "id": str(uuid7()),
        "direction": message.direction,
        "external_id": message.external_id,
        "provider_conversation_id": message.provider_conversation_id,
        "type": message.type,
        "body": message.body,
        "preview": preview(message),
        "attachments": message.attachments,
        "metadata": _metadata(message),
        "sent_at": message.sent_at.isoformat(),
        "phone": message.phone,
        "phone_spellings": search_variants(message.phone) if message.phone else [],
        "identities": _identities(message, provider.account(body).account_id),
        "name": message.name,
        "username": message.username,
    }
    return message, json.dumps(facts)


def _identities(message: NewMessage, account_id: str | None) -> list[dict[str, str]]:
    """Ids that prove who it is. A social user's id is its network's, and counts for one account alone."""
    found = []
    if message.business_scoped_id:
        found.append({"kind": "business_scoped_id", "value": message.business_scoped_id})
    if message.channel_user:
        network = (message.platform or "social")[:_KIND_LENGTH]
        found.append({"kind": network, "value": f"{account_id}/{message.channel_user}"})
    return found


def preview(message: NewMessage) -> str:
    """The line a list of conversations shows: the text cut, or what kind of message it was."""
    return message.body[:PREVIEW_LENGTH] if message.body else f"[{message.type}]"


def _metadata(message: NewMessage) -> dict[str, object]:
    known = {
        "referral": message.referral,
        "unsupported": message.unsupported or None,
        "parent_business_scoped_id": message.parent_business_scoped_id,
    }
    return {key: value for key, value in known.items() if value is not None}


_ANCHORS: Mapping[str, tuple[str, ...]] = {
    "inbound": ("message.sender.businessScopedUserId", "message.sender.phoneNumber"),
    "outbound": ("conversation.participantId",),
}


class _First(NamedTuple):
    """What T1 came to. `dispatched`: the effects of a duplicate are complete."""

    outcome: str
    message_id: UUID | None
    contact_id: UUID | None
    dispatched: bool


async def _t1(conn: Connection, row: AcceptedRow, facts: str) -> _First:
    cursor = await conn.execute(
        _Q["ingest_message"],
        {
            **row.try_, "organization_id": row.organization_id, "session_id": row.session_id,
            "message": facts,
        },
    )  # fmt: skip
    [found] = await cursor.fetchall()
    return _First(*found)


async def _restamp(conn: Connection, row: AcceptedRow, message_id: UUID | None, line: str) -> None:
    parameters = {"organization_id": row.organization_id, "message_id": message_id, "preview": line}
    await conn.execute(_Q["restamp_message"], parameters)


async def record_opt_out(conn: Connection, row: AcceptedRow, facts: str, contact_id: UUID | None) -> None:
    """T2, committed by itself: whoever asked to leave must not become a new opportunity in T3."""
    await conn.execute(
        _Q["record_opt_out"],
        {
            "organization_id": row.organization_id, "session_id": row.session_id,
            "contact_id": contact_id, "message": facts,
        },
    )  # fmt: skip


async def run_effects(
    conn: Connection,
    row: AcceptedRow,
    message_id: UUID | None,
    *,
    dispatch: bool,
    status: str,
    note: str | None = None,
) -> str:
    """T3. Returns 'done', 'already' or 'superseded'."""
    cursor = await conn.execute(
        _Q["message_effects"],
        {
            **row.try_, "organization_id": row.organization_id, "message_id": message_id,
            "dispatch": dispatch, "status": status, "note": note,
            "lead_source": _lead_source(row),
        },
    )  # fmt: skip
    [(done,)] = await cursor.fetchall()
    return str(done)


def _lead_source(row: AcceptedRow) -> str:
    return "whatsapp" if row.provider == "zernio" else "api"


async def _break_contract(
    conn: Connection, row: AcceptedRow, error: ContractError | InvalidJson
) -> TryOutcome:
    """Closes the row as `error`, with a notice, so that no message vanishes in silence."""
    fields = error.fields if isinstance(error, ContractError) else ("body",)

    async def end() -> TryOutcome:
        async with conn.transaction():
            if not await close(conn, row, "error", f"contract: {', '.join(fields)}", **names_in(row)):
                return TryOutcome.SUPERSEDED
            await tell.out_of_contract(conn, row.organization_id, row.id, fields)
        return TryOutcome.CONTRACT

    return await at_once(end)


def names(message: NewMessage) -> dict[str, str | None]:
    """What the closing update calls a message."""
    event = "message.received" if message.direction == "inbound" else "message.sent"
    return {"event_type": event, "external_id": message.external_id}


def names_in(row: AcceptedRow) -> dict[str, str | None]:
    """The same out of a body that breaks the contract, as far as it can be read."""
    try:
        body = parse_object(row.raw_body)
    except InvalidJson:
        return {}
    provider = provider_for(row.provider)
    return {"event_type": provider.event_type(body) or None, "external_id": provider.external_id(body)}


async def at_once(work: Callable[[], Awaitable[_T]]) -> _T:
    """Serialization failures and deadlocks are tried again at once, three times, within the attempt."""
    for _try in range(_AT_ONCE):
        try:
            return await work()
        except psycopg.Error as error:
            if not is_retryable_at_once(error):
                raise
    return await work()


async def find_message(
    conn: Connection, organization_id: UUID, external_id: str
) -> tuple[UUID, UUID, str, bool] | None:
    """A message by its external id: its id, its contact, its direction, whether its effects are complete."""
    found = await (
        await conn.execute(
            _Q["find_message"], {"organization_id": organization_id, "external_id": external_id}
        )
    ).fetchone()
    return None if found is None else (found[0], found[1], found[2], found[3])
