"""Receiving an event: written down with its job in one statement, or known already (spec 3)."""

from enum import Enum

from portaria.accounts.envelope import parse
from portaria.db.pool import Database
from portaria.db.queries import load_queries
from portaria.ids import uuid7

_Q = load_queries("portaria.accounts")


class Received(Enum):
    """What became of a delivery."""

    accepted = 202
    known = 200


async def receive_event(db: Database, raw: bytes) -> Received:
    """Stores the event in `raw` and its job, unless its `event_id` is known.

    Raises Refusal 422 `invalid_payload`; a database error means that nothing was promised.
    """
    envelope = parse(raw)
    parameters = {
        "id": uuid7(), "event_id": envelope.event_id, "event_type": envelope.event_type,
        "occurred_at": envelope.occurred_at, "payload": envelope.payload,
    }  # fmt: skip
    async with db.connection() as conn:
        [(new,)] = await (await conn.execute(_Q["receive"], parameters)).fetchall()
    return Received.accepted if new else Received.known
