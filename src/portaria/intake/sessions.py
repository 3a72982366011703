"""Which channel session an arrival belongs to (spec 2.1), and the secrets its provider signs with.

The table is cached for a few seconds and dropped at once on NOTIFY. Only sessions that exist are kept:
a 404 from memory would end a provider's deliveries for good.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

import structlog

from portaria.db.pool import Database, connect, in_time
from portaria.db.queries import load_queries
from portaria.identity.secret_box import SecretBox, SecretUnreadable
from portaria.intake.phones import search_variants
from portaria.intake.providers import AccountRef

_Q = load_queries("portaria.intake")
_CACHED_AT_MOST = 10_000
_QUIET = 15.0
SHORTEST_SECRET = 16
_TOO_SHORT, _UNREADABLE = "too short", "not decryptable"
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Secrets:
    """The live secrets. `fault`: why there is none; `previous_fault`: why an older one cannot be tried."""

    live: tuple[bytes, ...]
    fault: str | None = None
    previous_fault: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """One connected number or account, as intake needs it."""

    organization_id: UUID
    id: UUID
    provider: str
    account_id: str
    phone_number: str | None
    profile_id: str | None
    archived: bool
    secrets: Secrets


def usable_secrets(current: str | None, previous: str | None = None) -> Secrets:
    """Secrets shorter than 16 characters do not count; without a current one nothing is verified."""
    if not current:
        return Secrets((), "missing")
    if len(current) < SHORTEST_SECRET:
        return Secrets((), _TOO_SHORT)
    if not previous:
        return Secrets((current.encode(),))
    if len(previous) < SHORTEST_SECRET:
        return Secrets((current.encode(),), previous_fault=_TOO_SHORT)
    return Secrets((current.encode(), previous.encode()))


class SessionDirectory:
    """Looks sessions up; what is not kept is asked of the database.

    The lookups raise what the database raises, and TimeoutError after `within` seconds.
    """

    def __init__(self, db: Database, box: SecretBox, *, ttl: float) -> None:
        self._db, self._box, self._ttl = db, box, ttl
        self._cache: dict[str, tuple[float, list[Session]]] = {}
        self._changes = 0
        self._asked: dict[str, asyncio.Task[list[Session]]] = {}
        self._listening: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._listening = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    async def by_token(self, token: str, *, within: float) -> Session | None:
        """The session of a path token, archived ones too."""
        kept = self._recall(token)
        if kept is None and "\x00" not in token:
            kept = await self._ask(token, within, lambda: self._find("session_by_token", token=token))
        return kept[0] if kept else None

    async def by_account(
        self, ref: AccountRef, providers: Sequence[str], *, within: float, fresh: bool = False
    ) -> list[Session]:
        """Live sessions that the account named in a body picks: none or one of each provider (spec 2.1).

        `fresh`: not from memory, for who would else ignore the event for good.
        """
        if ref.account_id is None:
            return await in_time(self._by_number(ref, list(providers)), within)
        key = f"account/{ref.account_id}"  # no token holds a slash
        kept = None if fresh else self._recall(key)
        if kept is None:
            if fresh:
                self._asked.pop(key, None)
            kept = await self._ask(
                key,
                within,
                lambda: self._find(
                    "live_sessions_by_account", providers=list(providers), account_id=ref.account_id
                ),
            )
        return kept

    async def belongs(
        self, session: Session, ref: AccountRef, providers: Sequence[str], *, within: float
    ) -> bool:
        """Whether the account in a body is the session's own; the token decides, the body must agree."""
        if ref.account_id is not None:
            return ref.account_id == session.account_id
        picked = await self.by_account(ref, providers, within=within)
        return any(s.id == session.id for s in picked)

    def _recall(self, key: str) -> list[Session] | None:
        kept = self._cache.get(key)
        return kept[1] if kept is not None and kept[0] > time.monotonic() else None

    async def _ask(
        self, key: str, within: float, query: Callable[[], Coroutine[Any, Any, list[Session]]]
    ) -> list[Session]:
        """Whoever asks the same while nobody has been answered gets that answer: when a session is forgotten
        under load, thousands want it at once. Not the answer that there is none, which may be older.
        """
        ends = time.monotonic() + within
        asked = self._asked.get(key)
        if asked is not None and (found := await asyncio.wait_for(asyncio.shield(asked), within)):
            return found
        asked = asyncio.create_task(self._look_up(key, query(), ends - time.monotonic()))
        self._asked.setdefault(key, asked)
        asked.add_done_callback(partial(self._answered, key))
        return await asyncio.shield(asked)

    async def _look_up(
        self, key: str, query: Coroutine[Any, Any, list[Session]], within: float
    ) -> list[Session]:
        """Keeps what was found, unless it may be older than a change that was heard meanwhile."""
        changes = self._changes
        found = await in_time(query, within)
        if found and changes == self._changes:
            if len(self._cache) >= _CACHED_AT_MOST:
                self._cache.clear()
            self._cache[key] = (time.monotonic() + self._ttl, found)
        return found

    def _answered(self, key: str, asked: "asyncio.Task[list[Session]]") -> None:
        if self._asked.get(key) is asked:
            del self._asked[key]
        if not asked.cancelled():
            asked.exception()  # known by those who still wait, if any do

    async def _by_number(self, ref: AccountRef, providers: list[str]) -> list[Session]:
        for phone in search_variants(ref.phone_number) if ref.phone_number else []:
            # The exact spelling first: a line's other spelling must not take its events.
            found = await self._find("live_sessions_by_phone", providers=providers, phones=[phone])
            if found:
                return found
        if ref.profile_id is None:
            return []
        found = await self._find("live_sessions_by_profile", providers=providers, profile_id=ref.profile_id)
        # A profile picks a session only if exactly one live session has it, and only where it has no phone.
        return [s for s in found if s.phone_number is None] if len(found) == 1 else []

    async def _find(self, query: str, **params: object) -> list[Session]:
        async with self._db.connection() as conn:
            return [self._session(row) async for row in await conn.execute(_Q[query], params)]

    def _session(self, row: tuple[Any, ...]) -> Session:
        *known, current, previous = row
        organization_id, made, provider, account_id, phone_number, profile_id, archived = known
        secrets = self._secrets(current, previous)
        return Session(
            organization_id, made, provider, account_id, phone_number, profile_id, archived, secrets
        )

    def _secrets(self, current: bytes | None, previous: bytes | None) -> Secrets:
        try:
            opened = self._open(current)
        except SecretUnreadable:
            return Secrets((), _UNREADABLE)
        try:
            return usable_secrets(opened, self._open(previous))
        except SecretUnreadable:
            return replace(usable_secrets(opened), previous_fault=_UNREADABLE)

    def _open(self, ciphertext: bytes | None) -> str | None:
        return None if ciphertext is None else self._box.decrypt(ciphertext)

    def _forget(self) -> None:
        self._changes += 1
        self._cache.clear()
        self._asked.clear()  # what was asked before the change may be answered from before it

    async def _listen(self) -> None:
        """Drops the cache on every change, and whenever the listening connection had to be made anew."""
        while True:
            try:
                async with await connect(self._db.url, "portaria sessions", statement_timeout=5.0) as conn:
                    await conn.execute("LISTEN portaria_channel_sessions")
                    self._forget()
                    while True:
                        async for _change in conn.notifies(timeout=_QUIET):
                            self._forget()
                        await conn.execute("SELECT 1")  # nothing heard for a while: is anybody there?
            except Exception as error:
                log.warning("session_listen_lost", error=type(error).__name__)
            self._forget()
            await asyncio.sleep(1)
