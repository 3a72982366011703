"""Archive and accept, the two writes before the answer (spec 2.2).

[abrirArquivoDoWebhook, aceitarEntrada]
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from portaria.db.arrays import ByteaArray, TextArray, UuidArray
from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.intake")

_KEPT_OUT = frozenset({b"authorization", b"cookie", b"x-api-key", b"proxy-authorization"})


class Arrival(NamedTuple):
    """What came: the raw body byte for byte, and what the route knew. `headers` is a JSON text."""

    id: UUID
    provider: str
    organization_id: UUID | None
    channel_session_id: UUID | None
    headers: str
    raw_body: bytes


class Acceptance(NamedTuple):
    """The mark of a row, with the organization and session where the route did not know them."""

    id: UUID
    organization_id: UUID
    channel_session_id: UUID


async def archive(conn: Connection, rows: Sequence[Arrival]) -> Sequence[bool]:
    """Writes what arrived. Repeating it meets its own rows (`ON CONFLICT (id) DO NOTHING`)."""
    await conn.execute(
        _Q["archive"],
        (
            UuidArray.of(r.id for r in rows),
            UuidArray.of(r.organization_id for r in rows),
            UuidArray.of(r.channel_session_id for r in rows),
            TextArray.of(r.provider for r in rows),
            TextArray.of(r.headers for r in rows),
            ByteaArray.of(r.raw_body for r in rows),
        ),
    )
    return [True] * len(rows)


async def accept(conn: Connection, rows: Sequence[Acceptance]) -> Sequence[bool]:
    """Marks rows as accepted; true where the update returned the row's id."""
    cursor = await conn.execute(
        _Q["accept"],
        (
            UuidArray.of(r.id for r in rows),
            UuidArray.of(r.organization_id for r in rows),
            UuidArray.of(r.channel_session_id for r in rows),
        ),
    )
    if cursor.rowcount == len(rows):
        return [True] * len(rows)  # nearly always; reading the ids costs more than all else here
    marked = {row[0] for row in await cursor.fetchall()}
    return [r.id in marked for r in rows]


def kept_headers(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers as archived: without credentials, the signature stays; odd bytes as U+FFFD."""
    kept: dict[str, str] = {}
    for name, value in headers:
        key = _kept_name(name)
        if key is not None:
            text = value.decode("utf-8", "replace")
            if "\x00" in text:
                text = text.replace("\x00", "\ufffd")
            kept[key] = f"{kept[key]}, {text}" if key in kept else text
    return kept


@lru_cache(maxsize=256)
def _kept_name(name: bytes) -> str | None:
    """A header's name as archived; None for one that carries credentials. Names repeat, values do not."""
    lower = name.lower()
    return None if lower in _KEPT_OUT else lower.decode("ascii", "replace")
