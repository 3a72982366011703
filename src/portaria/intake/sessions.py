"""Which channel session an arrival belongs to (spec 2.1), and the secrets its provider signs with.

The table is cached for a few seconds and dropped at once on NOTIFY. Only sessions that exist are kept:
a 404 from memory would end a provider's deliveries for good.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import structlog

from portaria.db.pool import Connection, Database, connection_options
from portaria.db.queries import load_queries
from portaria.identity.secret_box import SecretBox, SecretUnreadable
from portaria.intake.phones import search_variants
from portaria.intake.providers import AccountRef

_Q = load_queries("portaria.intake")
_CACHED_AT_MOST = 10_000
SHORTEST_SECRET = 16
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Secrets:
    """The live secrets, or why there is none: the fault is ours then."""

    live: tuple[bytes, ...]
    fault: str | None = None


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
        return Secrets((), "too short")
    both = [current] + ([previous] if previous and len(previous) >= SHORTEST_SECRET else [])
    return Secrets(tuple(s.encode() for s in both))


class SessionDirectory:
    """Looks sessions up; a miss always asks the database. Raises what the database raises."""

    def __init__(self, db: Database, box: SecretBox, *, ttl: float) -> None:
        self._db, self._box, self._ttl = db, box, ttl
        self._cache: dict[str, tuple[float, Session]] = {}
        self._listening: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._listening = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    async def by_token(self, token: str) -> Session | None:
        """The session of a path token, archived ones too."""
        kept = self._cache.get(token)
        if kept is not None and kept[0] > time.monotonic():
            return kept[1]
        if "\x00" in token:
            return None
        async with self._db.connection() as conn:
            row = await (await conn.execute(_Q["session_by_token"], {"token": token})).fetchone()
        if row is None:
            self._cache.pop(token, None)
            return None
        session = self._session(row)
        if len(self._cache) >= _CACHED_AT_MOST:
            self._cache.clear()
        self._cache[token] = (time.monotonic() + self._ttl, session)
        return session

    async def by_account(self, ref: AccountRef, providers: Sequence[str]) -> list[Session]:
        """Live sessions that the account named in a body picks: none or one of each provider (spec 2.1)."""
        async with self._db.connection() as conn:
            if ref.account_id is not None:
                return await self._find(
                    conn, "live_sessions_by_account", providers=list(providers), account_id=ref.account_id
                )
            if ref.phone_number is not None:
                phones = search_variants(ref.phone_number)
                found = await self._find(
                    conn, "live_sessions_by_phone", providers=list(providers), phones=phones
                )
                if found:
                    return found
            return [s for s in await self._by_profile(conn, ref, providers) if s.phone_number is None]

    async def belongs(self, session: Session, ref: AccountRef) -> bool:
        """Whether the account in a body is the session's own; the token decides, the body must agree."""
        if ref.account_id is not None:
            return ref.account_id == session.account_id
        if session.phone_number is not None:
            return ref.phone_number is not None and session.phone_number in search_variants(ref.phone_number)
        if ref.profile_id is None or ref.profile_id != session.profile_id:
            return False
        async with self._db.connection() as conn:
            return [s.id for s in await self._by_profile(conn, ref, [session.provider])] == [session.id]

    async def _by_profile(
        self, conn: Connection, ref: AccountRef, providers: Sequence[str]
    ) -> list[Session]:
        """A profile picks a session only if exactly one live session has it."""
        if ref.profile_id is None:
            return []
        found = await self._find(
            conn, "live_sessions_by_profile", providers=list(providers), profile_id=ref.profile_id
        )
        return found if len(found) == 1 else []

    async def _find(self, conn: Connection, query: str, **params: object) -> list[Session]:
        return [self._session(row) async for row in await conn.execute(_Q[query], params)]

    def _session(self, row: tuple[Any, ...]) -> Session:
        *known, current, previous = row
        secrets: Secrets
        try:
            secrets = usable_secrets(self._open(current), self._open(previous))
        except SecretUnreadable:
            secrets = Secrets((), "not decryptable")
        return Session(known[0], known[1], known[2], known[3], known[4], known[5], known[6], secrets)

    def _open(self, ciphertext: bytes | None) -> str | None:
        return None if ciphertext is None else self._box.decrypt(ciphertext)

    async def _listen(self) -> None:
        """Drops the cache on every change, and whenever the listening connection had to be made anew."""
        options = connection_options(self._db.url, "portaria sessions")
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(**options) as conn:
                    await conn.execute("LISTEN portaria_channel_sessions")
                    self._cache.clear()
                    async for _change in conn.notifies():
                        self._cache.clear()
            except psycopg.Error as error:
                log.warning("session_listen_lost", error=type(error).__name__)
            self._cache.clear()
            await asyncio.sleep(1)
