"""Browser sessions on PostgreSQL, behind Litestar's session middleware.

Different from the framework's own server-side backend in what an attacker could use: an id that the
browser brings and we do not know is never adopted (fixation), `renew` gives a new id at sign-in, a
request that finishes after the sign-out does not bring the session back, the table holds only hashes
of ids, and a visitor without a session costs no row.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie, MutableScopeHeaders
from litestar.middleware.session.base import BaseBackendConfig, BaseSessionBackend
from litestar.types import Empty

from portaria.db.pool import Database
from portaria.db.queries import load_queries

if TYPE_CHECKING:
    from litestar.types import Message, Scopes, ScopeSession

_Q = load_queries("portaria.identity")
_STATE = "browser_session"
# A session in use is prolonged when this share of its life has passed, not at every request.
_PROLONG_AFTER = 0.1

AnyConnection = ASGIConnection[Any, Any, Any, Any]


@dataclass(slots=True)
class _Known:
    """What this request found: the id and the bytes in the table, and what becomes of them."""

    session_id: str | None
    data: bytes
    left_for: float
    renew: bool = False


class BrowserSessions:
    """The table. `lifetime`: seconds from the last use to the end."""

    def __init__(self, db: Database, lifetime: float) -> None:
        self._db = db
        self.lifetime = lifetime

    async def read(self, session_id: str) -> tuple[bytes, float] | None:
        """A live session's data, and the seconds it has left."""
        async with self._db.connection() as conn:
            return await (await conn.execute(_Q["session_read"], {"id_hash": _hash(session_id)})).fetchone()

    async def create(self, data: bytes, *, instead_of: str | None = None) -> str:
        """A new session's id; the one it replaces ends with it. Drops some ended ones too."""
        session_id = secrets.token_urlsafe(32)
        async with self._db.transaction() as conn:
            if instead_of is not None:
                await conn.execute(_Q["session_delete"], {"id_hash": _hash(instead_of)})
            await conn.execute(_Q["session_create"], self._values(session_id, data))
            await conn.execute(_Q["session_purge"])
        return session_id

    async def write(self, session_id: str, data: bytes) -> None:
        """Saves and prolongs a session; one that has ended meanwhile stays ended."""
        async with self._db.connection() as conn:
            await conn.execute(_Q["session_write"], self._values(session_id, data))

    async def end(self, session_id: str) -> None:
        async with self._db.connection() as conn:
            await conn.execute(_Q["session_delete"], {"id_hash": _hash(session_id)})

    def _values(self, session_id: str, data: bytes) -> dict[str, object]:
        return {"id_hash": _hash(session_id), "data": data, "lifetime": self.lifetime}


@dataclass
class BrowserSessionConfig(BaseBackendConfig["BrowserSessionBackend"]):
    """What the middleware needs. `secure`: the console is served over https, so the cookie is too."""

    sessions: BrowserSessions
    secure: bool
    scopes: "Scopes" = field(default_factory=lambda: set(BaseBackendConfig.scopes))
    path: str = "/"
    domain: str | None = None
    httponly: bool = True
    samesite: Literal["lax", "strict", "none"] = "lax"
    exclude: str | list[str] | None = None
    exclude_opt_key: str = "skip_session"

    def __post_init__(self) -> None:
        self._backend_class = BrowserSessionBackend
        # Browsers take a cookie of this prefix from this host alone, over https.
        self.key = "__Host-portaria" if self.secure else "portaria"
        self.max_age = int(self.sessions.lifetime)


class BrowserSessionBackend(BaseSessionBackend[BrowserSessionConfig]):
    """Loads and keeps `request.session`."""

    async def load_from_connection(self, connection: AnyConnection) -> dict[str, Any]:
        cookie = connection.cookies.get(self.config.key)
        found = await self.config.sessions.read(cookie) if cookie else None
        known = _Known(cookie, *found) if found else _Known(None, b"{}", 0)
        connection.state[_STATE] = known
        return self.deserialize_data(known.data)

    def get_session_id(self, connection: AnyConnection) -> str | None:
        return _known(connection).session_id

    async def store_in_message(
        self, scope_session: "ScopeSession", message: "Message", connection: AnyConnection
    ) -> None:
        known, sessions = _known(connection), self.config.sessions
        if scope_session is Empty or not scope_session:
            if known.session_id is not None:
                await sessions.end(known.session_id)
                self._set_cookie(message, "", max_age=0)
            return
        data = self.serialize_data(scope_session, connection.scope)
        if known.session_id is None or known.renew:
            session_id = await sessions.create(data, instead_of=known.session_id)
            self._set_cookie(message, session_id, max_age=self.config.max_age)
        elif data != known.data or known.left_for < sessions.lifetime * (1 - _PROLONG_AFTER):
            await sessions.write(known.session_id, data)
            self._set_cookie(message, known.session_id, max_age=self.config.max_age)

    def _set_cookie(self, message: "Message", value: str, *, max_age: int) -> None:
        c = self.config
        cookie = Cookie(
            key=c.key, value=value, max_age=max_age, path=c.path, domain=c.domain, secure=c.secure,
            httponly=c.httponly, samesite=c.samesite,
        )  # fmt: skip
        MutableScopeHeaders.from_message(message).add("Set-Cookie", cookie.to_header(header=""))


def renew_session(connection: AnyConnection) -> None:
    """Gives the session a new id with this answer: call it whenever somebody signs in."""
    _known(connection).renew = True


def _known(connection: AnyConnection) -> _Known:
    known = connection.state.get(_STATE)
    return known if isinstance(known, _Known) else _Known(None, b"{}", 0)


def _hash(session_id: str) -> bytes:
    return hashlib.sha256(session_id.encode(errors="replace")).digest()
