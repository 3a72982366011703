"""The archive as people look at it: what arrived, what became of it, its raw body (spec 5, arrivals)."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, Literal, get_args
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.intake")

ArrivalStatus = Literal["received", "processed", "error", "dead"]
_STATUSES: Final = get_args(ArrivalStatus)


@dataclass(frozen=True, slots=True)
class ArchivedArrival:
    """One archived delivery. Times are UTC, the body's size in bytes; `body_emptied_at`: body and headers
    were emptied by retention, or with the person they spoke of.
    """

    id: UUID
    organization_id: UUID | None
    channel_session_id: UUID | None
    provider: str
    status: str
    valid_signature: bool | None
    attempts: int
    error_message: str | None
    event_type: str | None
    external_id: str | None
    received_at: datetime
    processed_at: datetime | None
    last_attempt_at: datetime | None
    body_bytes: int
    body_emptied_at: datetime | None


@dataclass(frozen=True, slots=True)
class ArrivalInFull(ArchivedArrival):
    """With its headers as archived, and its raw body byte for byte."""

    headers: dict[str, str]
    raw_body: bytes


@dataclass(frozen=True, slots=True)
class ArrivalFilter:
    """Which arrivals, and before which one; `None` is all. `since` is included, `until` is not."""

    status: ArrivalStatus | None = None
    event_type: str | None = None
    external_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: UUID | None = None


async def list_arrivals(
    conn: Connection,
    organization_id: UUID | None,
    *,
    limit: int,
    operator: bool = False,
    filter: ArrivalFilter = ArrivalFilter(),
) -> list[ArchivedArrival]:
    """The newest first. `operator`: also those of no organization; no organization at all: everything
    the connection's role may see.
    """
    wanted: dict[str, Any] = {
        **asdict(filter), "limit": limit, "statuses": [filter.status] if filter.status else list(_STATUSES),
    }  # fmt: skip
    await conn.execute(_Q["walk_in_order"])
    async with conn.cursor(row_factory=class_row(ArchivedArrival)) as cursor:
        if filter.external_id is not None:
            whose = {
                "organization_id": organization_id, "everybodys": organization_id is None,
                "nobodys": operator,
            }  # fmt: skip
            return await (await cursor.execute(_Q["list_named_arrivals"], {**wanted, **whose})).fetchall()
        if organization_id is None:
            return await (await cursor.execute(_Q["list_all_arrivals"], wanted)).fetchall()
        theirs = {**wanted, "organization_id": organization_id, "nobodys": False}
        rows = await (await cursor.execute(_Q["list_arrivals"], theirs)).fetchall()
        if operator:
            nobodys = {**wanted, "organization_id": None, "nobodys": True}
            rows += await (await cursor.execute(_Q["list_arrivals"], nobodys)).fetchall()
    return sorted(rows, key=lambda row: row.id, reverse=True)[:limit]


async def show_arrival(conn: Connection, row: UUID) -> ArrivalInFull | None:
    """One arrival with headers and body, if the connection's role may see it."""
    async with conn.cursor(row_factory=class_row(ArrivalInFull)) as cursor:
        return await (await cursor.execute(_Q["show_arrival"], {"row": row})).fetchone()


async def replayable(
    conn: Connection, organization_id: UUID | None, *, status: ArrivalStatus, filter: ArrivalFilter
) -> list[UUID]:
    """Ids of the accepted rows that a replay by hand may take, oldest first: count them before."""
    parameters = {
        "organization_id": organization_id, "status": status, "since": filter.since, "until": filter.until,
    }  # fmt: skip
    return [row[0] for row in await (await conn.execute(_Q["replayable"], parameters)).fetchall()]
