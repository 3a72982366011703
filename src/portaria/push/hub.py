"""Live signals: one listening connection per web process, many pages (server-sent events)."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import psycopg
import structlog
from psycopg import AsyncConnection

from portaria.db.pool import connection_options

log = structlog.get_logger()

CHANNEL: Final = "portaria_live"
BEAT: Final = 15.0
"""Seconds between comments that keep proxies from closing a quiet stream."""
LIFETIME: Final = 300.0
"""Seconds after which a page asks anew, so that whoever may no longer listen stops hearing."""

_WAITING: Final = 200
_RESYNC: Final = ("resync", "{}")


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who listens, and what they may know of: provider facts 7. The caller has asked the database."""

    organization_id: UUID
    user_id: UUID
    sees_every_lead: bool
    sees_unowned: bool
    is_operator: bool = False

    def may_know(self, signal: dict[str, Any]) -> bool:
        """Whether this signal is theirs. One without an organization is the operators'."""
        organization = signal.get("organization_id")
        if organization is None:
            return self.is_operator
        if organization != str(self.organization_id):
            return False
        kind = str(signal.get("type", ""))
        if self.sees_every_lead or not kind.startswith("lead."):
            return True
        owner, before = signal.get("owner_user_id"), signal.get("previous_owner_user_id")
        if str(self.user_id) in (owner, before):
            return True
        # Also when somebody takes one: it vanishes from the list of those without an owner.
        return self.sees_unowned and (owner is None or (kind == "lead.assigned" and before is None))


Feed = asyncio.Queue[tuple[str, str]]


class Hub:
    """Passes signals on to the pages that listen here. `run` it as a task of the web process."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pages: dict[Feed, Viewer] = {}
        self.listening = asyncio.Event()

    async def run(self) -> None:
        """Listens for ever; a lost connection is made anew, and every page told to read again."""
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                log.warning("live_connection_lost", error=type(error).__name__)
            finally:
                self.listening.clear()
            await asyncio.sleep(1.0)

    @contextmanager
    def page(self, viewer: Viewer) -> Iterator[Feed]:
        """A feed of (event, data) for one open page."""
        feed: Feed = asyncio.Queue(_WAITING)
        self._pages[feed] = viewer
        try:
            yield feed
        finally:
            del self._pages[feed]

    async def stream(self, viewer: Viewer) -> AsyncIterator[bytes]:
        """The page's server-sent events, for `LIFETIME`: first `resync`, as the page may have missed
        something; then `lead.*` and `notice.*` with the id of what changed."""
        ends = asyncio.get_running_loop().time() + LIFETIME
        with self.page(viewer) as feed:
            yield b"retry: 2000\n\n" + _event(*_RESYNC)
            while (left := ends - asyncio.get_running_loop().time()) > 0:
                try:
                    async with asyncio.timeout(min(BEAT, left)):
                        heard = await feed.get()
                except TimeoutError:
                    yield b": still here\n\n"
                else:
                    yield _event(*heard)

    async def _listen(self) -> None:
        options: dict[str, Any] = connection_options(self._url, "portaria live", statement_timeout=5.0)
        async with await AsyncConnection.connect(options.pop("conninfo"), **options) as conn:
            await conn.execute(f"LISTEN {CHANNEL}")
            self._tell_all(*_RESYNC)
            self.listening.set()
            while True:
                async for heard in conn.notifies(timeout=BEAT):
                    self._pass_on(heard.payload)
                # Nothing heard for a while: is anybody there?
                await conn.execute("SELECT 1")

    def _pass_on(self, payload: str) -> None:
        signal = json.loads(payload)
        kind = str(signal.get("type", ""))
        for feed, viewer in self._pages.items():
            if viewer.may_know(signal):
                mine = signal.get("owner_user_id") == str(viewer.user_id)
                _put(feed, kind, json.dumps({"type": kind, "id": signal.get("id"), "mine": mine}))

    def _tell_all(self, kind: str, data: str) -> None:
        for feed in self._pages:
            _put(feed, kind, data)


def _put(feed: Feed, kind: str, data: str) -> None:
    """A page too slow to hear everything reads everything again instead."""
    if feed.full():
        while not feed.empty():
            feed.get_nowait()
        kind, data = _RESYNC
    feed.put_nowait((kind, data))


def _event(kind: str, data: str) -> bytes:
    return f"event: {kind}\ndata: {data}\n\n".encode()
