"""The archived deliveries that speak of a person: found by walking the archive, a stretch at a time."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from portaria.crm.erasure.person import Person
from portaria.crm.erasure.traces import speaks_of
from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.crm.erasure")
_STRETCH: Final = 2000
_BYTES_AT_ONCE: Final = 8 * 1024 * 1024
_FIRST, _LAST = UUID(int=0), UUID(int=(1 << 128) - 1)
_FINISHED: Final = ("processed", "error", "dead")

Walked = Callable[[], None]
"""Called after each stretch."""


async def sift(conn: Connection, organization_id: UUID, person: Person, walked: Walked) -> set[UUID]:
    """Finished arrivals of the organization, and of none, that speak of the person. `conn` is in
    autocommit: no statement of this is long, and none holds a lock.
    """
    found = set(person.submissions)
    for whose in ("", "_of_nobody"):
        for status in _FINISHED:
            parameters = {
                "organization_id": organization_id, "status": status, "rows": _STRETCH,
                "ids": list(person.ids), "needles": person.needles,
            }  # fmt: skip
            async for after, until in _stretches(conn, f"stretch{whose}", parameters, walked):
                rows = await (
                    await conn.execute(_Q[f"suspects{whose}"], {**parameters, "after": after, "until": until})
                ).fetchall()
                theirs, _ = await _look_at(conn, person, rows)
                found |= theirs
    return found


async def count_stretches(conn: Connection, organization_id: UUID) -> int:
    """How often `sift` will call `walked`, more or less."""
    parameters = {"organization_id": organization_id, "rows": _STRETCH}
    [(count,)] = await (await conn.execute(_Q["stretches"], parameters)).fetchall()
    return int(count)


async def sift_recent(
    conn: Connection, organization_id: UUID, person: Person, since: datetime
) -> tuple[set[UUID], set[UUID]]:
    """The same among what finished after `since`, and what of theirs is still pending."""
    parameters = {
        "organization_id": organization_id, "since": since,
        "ids": list(person.ids), "needles": person.needles,
    }  # fmt: skip
    rows = await (await conn.execute(_Q["recent"], parameters)).fetchall()
    return await _look_at(conn, person, rows)


async def _stretches(
    conn: Connection, query: str, parameters: dict[str, Any], walked: Walked
) -> AsyncIterator[tuple[UUID, UUID]]:
    after = _FIRST
    while after != _LAST:
        end = await (await conn.execute(_Q[query], {**parameters, "after": after})).fetchone()
        until = _LAST if end is None else end[0]
        yield after, until
        walked()
        after = until


async def _look_at(
    conn: Connection, person: Person, rows: Iterable[tuple[Any, ...]]
) -> tuple[set[UUID], set[UUID]]:
    """Which of these rows speak of the person: the finished ones, and the pending ones."""
    finished: set[UUID] = set()
    pending: set[UUID] = set()
    for some in _portions(rows):
        bodies = await (await conn.execute(_Q["bodies"], {"rows": some})).fetchall()
        for row, external_id, is_pending, raw in bodies:
            if row in person.submissions or external_id in person.ids or speaks_of(person, bytes(raw)):
                (pending if is_pending else finished).add(row)
    return finished, pending


def _portions(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[UUID]]:
    """Ids whose bodies together are not too much to hold."""
    some: list[UUID] = []
    size = 0
    for row, octets in rows:
        some.append(row)
        size += octets
        if size >= _BYTES_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some
