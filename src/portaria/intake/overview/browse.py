"""The archive a page at a time: filters, and a walk that ends after so many rows."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.intake.overview")

Status = Literal["received", "pending", "processed", "error", "dead"]

_WALK: Final = 20_000
_WALK_IN_BODIES: Final = 2_000
"""Rows that one page looks at: in columns, and in raw bodies."""

_STATUSES: Final = ("processed", "error", "dead", "received")
_FIRST, _LAST = UUID(int=0), UUID(int=(1 << 128) - 1)


@dataclass(frozen=True, slots=True)
class Browse:
    """Which arrivals; None is all. `pending`: accepted and not closed. `text` is sought in the raw body,
    byte for byte. `since` is included, `until` is not. `nobodys`: those of no organization instead.
    """

    status: Status | None = None
    event_type: str | None = None
    external_id: str | None = None
    channel_session_id: UUID | None = None
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    nobodys: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """An arrival in a list. Times are UTC, the body's size in bytes."""

    id: UUID
    organization_id: UUID | None
    channel_session_id: UUID | None
    channel_name: str | None
    provider: str
    status: str
    valid_signature: bool | None
    attempts: int
    error_message: str | None
    event_type: str | None
    external_id: str | None
    received_at: datetime
    processed_at: datetime | None
    body_bytes: int

    @property
    def standing(self) -> str:
        """The status as people read it: what was accepted and is not closed is pending."""
        return "pending" if self.status == "received" and self.valid_signature else self.status


@dataclass(frozen=True, slots=True)
class Found:
    """A page: its rows, and the id before which the search goes on, if there is more to look at.
    `stopped`: it goes on because the walk ended, not because the page is full.
    """

    rows: list[Listed]
    before: UUID | None
    stopped: bool = False


async def browse_arrivals(
    conn: Connection, organization_id: UUID, wanted: Browse, *, limit: int, before: UUID | None = None
) -> Found:
    """The arrivals, the newest first, as far as the connection's role may see them. Those of one id of the
    provider's have an index: no walk.
    """
    query = "browse_named" if wanted.external_id else "browse"
    filtered = any((wanted.event_type, wanted.channel_session_id, wanted.text))
    walk = (_WALK_IN_BODIES if wanted.text else _WALK) if filtered else limit + 1
    parameters: dict[str, Any] = {
        **_bounds(organization_id, wanted, before), "walk": walk, "limit": limit + 1,
        "event_type": wanted.event_type, "external_id": wanted.external_id,
        "channel_session_id": wanted.channel_session_id,
        "text": wanted.text.encode(errors="replace") if wanted.text else None,
    }  # fmt: skip
    await conn.execute(_Q["walk_in_order"])
    async with conn.cursor(row_factory=class_row(Listed)) as cursor:
        rows = await (await cursor.execute(_Q[query], parameters)).fetchall()
    if len(rows) > limit:
        return Found(rows[:limit], rows[limit - 1].id)
    if wanted.external_id or not filtered:
        return Found(rows, None)
    ended = await (await conn.execute(_Q["walked_to"], parameters)).fetchone()
    return Found(rows, ended[0] if ended else None, stopped=ended is not None)


async def count_replayable(conn: Connection, organization_id: UUID, status: str, wanted: Browse) -> int:
    """How many accepted messages of this status, and of `wanted`'s time, a replay by filter would take."""
    parameters = {**_bounds(organization_id, wanted, None), "status": status}
    [(count,)] = await (await conn.execute(_Q["count_replayable"], parameters)).fetchall()
    return int(count)


async def replayable_after(
    conn: Connection, organization_id: UUID, status: str, wanted: Browse, *, after: UUID | None, limit: int
) -> list[UUID]:
    """The next of them, the oldest first."""
    bounds = _bounds(organization_id, wanted, None)
    parameters = {**bounds, "status": status, "after": after or _below(bounds["from"]), "limit": limit}
    return [row[0] for row in await (await conn.execute(_Q["replayable_after"], parameters)).fetchall()]


def _bounds(organization_id: UUID, wanted: Browse, before: UUID | None) -> dict[str, Any]:
    """Ids are by time: a moment is a place in the index."""
    until = _id_at(wanted.until) if wanted.until else _LAST
    statuses = (
        _STATUSES
        if wanted.status is None
        else ("received",)
        if wanted.status == "pending"
        else (wanted.status,)
    )
    return {
        "organization_id": None if wanted.nobodys else organization_id, "nobodys": wanted.nobodys,
        "statuses": list(statuses), "pending": wanted.status == "pending",
        "before": min(before or _LAST, until), "from": _id_at(wanted.since) if wanted.since else _FIRST,
    }  # fmt: skip


def _id_at(moment: datetime) -> UUID:
    """The smallest UUIDv7 of that millisecond."""
    milliseconds = max(0, int(moment.astimezone(UTC).timestamp() * 1000))
    return UUID(int=(milliseconds & ((1 << 48) - 1)) << 80)


def _below(row: UUID) -> UUID:
    return UUID(int=max(0, row.int - 1))
