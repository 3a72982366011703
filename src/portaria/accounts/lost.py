"""Deliveries refused for another reason than their content: the sender gives up at its third failed try,
so the event may be lost. Counted and logged at once; people are told as soon as the database answers.

If the process dies first, only the log says so (spec 3).
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Final, Literal

import structlog

from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.notices import open_notice

_AGAIN: Final = 1.0
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Kind:
    kind: str
    severity: Literal["warning", "error"]
    title: str
    why: str


_FORMAT: Final = _Kind(
    "delivery_refused",
    "warning",
    "Uma entrega foi recusada pelo tamanho ou formato",
    "O corpo de um evento do accounts passou do tamanho permitido ou veio compactado.",
)
_AWAY: Final = _Kind(
    "incoming_event_failed",
    "error",
    "Um evento do accounts não foi processado",
    "Um evento do accounts não pôde ser gravado porque o banco de dados não respondeu a tempo.",
)
_BY_STATUS: Final = {413: _FORMAT, 415: _FORMAT, 408: _AWAY, 500: _AWAY, 503: _AWAY}


class LostDeliveries:
    """Counts what may be lost, and tells: at most one write per title in `every` seconds."""

    def __init__(self, db: Database, *, every: float = 60.0) -> None:
        self._db, self._every = db, every
        self._untold: dict[_Kind, int] = {}
        self._told_at: dict[_Kind, float] = {}
        self._telling: asyncio.Task[None] | None = None

    def note(self, refusal: Refusal) -> None:
        """Notes a refusal, if it is one of these; returns at once."""
        kind = _BY_STATUS.get(refusal.status)
        if kind is None:
            return
        _log.warning("incoming_event_may_be_lost", status=refusal.status, code=refusal.code)
        self._untold[kind] = self._untold.get(kind, 0) + 1
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())

    async def stop(self) -> None:
        """A last try to tell what is not told yet."""
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)
        for kind in list(self._untold):
            await asyncio.wait({asyncio.ensure_future(self._write(kind))}, timeout=2.0)

    async def _tell(self) -> None:
        while self._untold:
            for kind in list(self._untold):
                if time.monotonic() - self._told_at.get(kind, float("-inf")) >= self._every:
                    await self._write(kind)
            await asyncio.sleep(min(_AGAIN, self._every))

    async def _write(self, kind: _Kind) -> None:
        times = self._untold[kind]
        try:
            async with self._db.connection() as conn:
                await open_notice(
                    conn, organization_id=None, kind=kind.kind, severity=kind.severity, title=kind.title,
                    body=f"{kind.why} Recusas desde o último aviso: {times}. O accounts desiste na terceira"
                    " tentativa: confira nele os eventos que faltam e peça o reenvio.",
                )  # fmt: skip
        except Exception as error:
            _log.warning("notice_not_written", error=repr(error))
            return
        self._told_at[kind] = time.monotonic()
        self._untold[kind] -= times
        if self._untold[kind] == 0:
            del self._untold[kind]
