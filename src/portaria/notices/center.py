"""Opening, acknowledging, resolving and listing notices."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.notices")

Severity = Literal["info", "warning", "error"]
Status = Literal["open", "ack", "resolved"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice as it stands. Times are UTC; without an organization it is the operators'."""

    id: UUID
    organization_id: UUID | None
    kind: str
    severity: str
    title: str
    body: str
    resource_kind: str | None
    resource_id: str | None
    status: str
    occurrences: int
    first_at: datetime
    last_at: datetime
    resolved_at: datetime | None


@dataclass(frozen=True, slots=True)
class NoticeFilter:
    """Which notices; `None` is all."""

    statuses: Sequence[Status] | None = None
    kind: str | None = None


async def open_notice(
    conn: Connection,
    *,
    organization_id: UUID | None,
    kind: str,
    severity: Severity,
    title: str,
    body: str,
    resource_kind: str | None = None,
    resource_id: str | UUID | None = None,
) -> UUID:
    """Opens the notice, or counts one more of the live one with this title (spec 5). Returns its id."""
    opened = await conn.execute(
        _Q["open_notice"],
        {
            "organization_id": organization_id, "kind": kind, "severity": severity, "title": title,
            "body": body, "resource_kind": resource_kind,
            "resource_id": None if resource_id is None else str(resource_id),
        },
    )  # fmt: skip
    [(notice_id,)] = await opened.fetchall()
    return UUID(str(notice_id))


async def resolve_titled(conn: Connection, organization_id: UUID | None, titles: Sequence[str]) -> int:
    """Resolves the live notices with these titles, because what they told has ended. Returns how many."""
    parameters = {"organization_id": organization_id, "titles": list(titles)}
    return (await conn.execute(_Q["resolve_titled"], parameters)).rowcount


async def acknowledge_notice(conn: Connection, notice_id: UUID) -> bool:
    """Somebody has seen it. Whether this call changed it; one already seen or resolved stays as it is."""
    return (await conn.execute(_Q["acknowledge"], {"id": notice_id})).rowcount == 1


async def resolve_notice(conn: Connection, notice_id: UUID) -> bool:
    """It is dealt with. Whether this call changed it: of two tabs, both succeed and one says True."""
    return (await conn.execute(_Q["resolve"], {"id": notice_id})).rowcount == 1


async def find_notice(conn: Connection, notice_id: UUID) -> Notice | None:
    async with conn.cursor(row_factory=class_row(Notice)) as cursor:
        return await (await cursor.execute(_Q["find_notice"], {"id": notice_id})).fetchone()


async def list_notices(
    conn: Connection,
    organization_id: UUID,
    *,
    operator: bool,
    limit: int,
    filter: NoticeFilter = NoticeFilter(),
    after: tuple[datetime, UUID] | None = None,
) -> list[Notice]:
    """The organization's notices, for an `operator` also those of no organization; the newest first.

    `after` is the `last_at` and id of the last one already seen.

    What a notice speaks of is not looked at: one that points at a row since gone is listed all the same.
    """
    after_at, after_id = after or (None, None)
    async with conn.cursor(row_factory=class_row(Notice)) as cursor:
        await cursor.execute(
            _Q["list_notices"],
            {
                "organization_id": organization_id, "operator": operator, "limit": limit,
                "statuses": None if filter.statuses is None else list(filter.statuses),
                "kind": filter.kind, "after_at": after_at, "after_id": after_id,
            },
        )  # fmt: skip
        return await cursor.fetchall()


async def count_live(conn: Connection, organization_id: UUID, *, operator: bool) -> int:
    """How many are open or acknowledged: the badge."""
    parameters = {"organization_id": organization_id, "operator": operator}
    [(count,)] = await (await conn.execute(_Q["count_live"], parameters)).fetchall()
    return int(count)
