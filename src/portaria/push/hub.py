"""Live signals: one connection per web process, many pages (server-sent events).

Notices are NOTIFYed: they are rare. A lead's facts are looked for, twice a second and only while a page
is open: a transaction that NOTIFYs holds a lock of the whole server through its commit, flush included,
so that every turn and every new lead of the installation would commit one after the other
(docs/rotation.md has the figures). A transaction may commit after one with a greater `seq`, so the last
half minute is read again each time, and what was told is remembered.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import psycopg
import structlog

from portaria.db.pool import Connection, connect
from portaria.db.queries import load_queries

_Q = load_queries("portaria.push")
log = structlog.get_logger()

CHANNEL: Final = "portaria_live"
EVERY: Final = 0.5
"""Seconds between two looks for new facts."""
BEAT: Final = 15.0
"""Seconds between comments that keep proxies from closing a quiet stream."""
LIFETIME: Final = 300.0
"""Seconds after which a page asks anew, so that whoever may no longer listen stops hearing."""

_WAITING: Final = 200
_WINDOW: Final = 30.0
_MOST: Final = 500
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
        self._told: dict[int, float] = {}
        self.listening = asyncio.Event()

    async def run(self) -> None:
        """Listens and looks for ever; a lost connection is made anew, and every page told to read again."""
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
        async with await connect(self._url, "portaria live", statement_timeout=5.0) as conn:
            await conn.execute(f"LISTEN {CHANNEL}")
            await self._look(conn, aloud=False)
            self._tell_all(*_RESYNC)
            self.listening.set()
            quiet = 0.0
            while True:
                async for heard in conn.notifies(timeout=EVERY):
                    self._pass_on(json.loads(heard.payload))
                quiet += EVERY
                if self._pages or quiet >= BEAT:  # also to learn that the connection is lost
                    await self._look(conn)
                    quiet = 0.0

    async def _look(self, conn: Connection, *, aloud: bool = True) -> None:
        """Passes on the facts of the last half minute that were not told yet."""
        now = time.monotonic()
        self._told = {seq: at for seq, at in self._told.items() if at > now - 2 * _WINDOW}
        organizations = list({viewer.organization_id for viewer in self._pages.values()})
        parameters = {"organizations": organizations, "window": _WINDOW, "most": _MOST}
        facts = await (await conn.execute(_Q["live_facts"], parameters)).fetchall()
        news = [(seq, signal) for seq, signal in facts if seq not in self._told]
        self._told.update((seq, now) for seq, _ in news)
        if not aloud:
            return
        if len(news) >= _MOST:
            self._tell_all(*_RESYNC)
            return
        for _, signal in news:
            self._pass_on(signal)

    def _pass_on(self, signal: dict[str, Any]) -> None:
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
