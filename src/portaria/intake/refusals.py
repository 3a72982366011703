"""Deliveries refused before the archive leave no row: they are counted, and a person is told.

Anybody can send these, so a notice is written at most once a minute per title and process (spec 2.2).
"""

import asyncio
import time
from uuid import UUID

import structlog

from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.intake import tell
from portaria.intake.accepted import describe

_EVERY = 60.0
log = structlog.get_logger()


class RefusalNotices:
    """Counts refusals and opens «Uma entrega foi recusada pelo tamanho ou formato»."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._counted = 0
        self._told_at = float("-inf")
        self._telling: asyncio.Task[None] | None = None

    def count(self, organization_id: UUID | None, refusal: Refusal) -> None:
        """Notes one refusal; returns at once."""
        self._counted += 1
        log.warning("delivery_refused", status=refusal.status, code=refusal.code)
        if time.monotonic() - self._told_at >= _EVERY:
            self._told_at = time.monotonic()
            times, self._counted = self._counted, 0
            self._telling = asyncio.create_task(self._tell(organization_id, refusal, times))

    async def stop(self) -> None:
        if self._telling is not None:
            await asyncio.gather(self._telling, return_exceptions=True)

    async def _tell(self, organization_id: UUID | None, refusal: Refusal, times: int) -> None:
        why = {413: "O corpo passou do tamanho permitido.", 415: "O corpo veio compactado."}[refusal.status]
        try:
            async with self._db.connection() as conn:
                await tell.delivery_refused(conn, organization_id, why, times)
        except Exception as error:
            log.warning("notice_not_written", error=describe(error))
