"""Signing in with e-mail and password, for a token or a browser session alike."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.identity.passwords import Passwords
from portaria.identity.throttle import Throttle
from portaria.identity.wording import clean_email

_Q = load_queries("portaria.identity")


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Proof of a sign-in: whose, and at which `sessions_epoch`. Older than the user's, it has ended."""

    user_id: UUID
    epoch: int


async def sign_in(
    conn: Connection, passwords: Passwords, throttle: Throttle, *, email: str, password: str, address: str
) -> SignedIn:
    """Checks e-mail and password. `conn` is in autocommit; `address` is the client's.

    Raises `Refusal`: 401 `invalid_credentials` for an unknown e-mail and a wrong password alike, 429
    `too_many_attempts` with `Retry-After` after too many of them.
    """
    await throttle.take(conn, email, address)
    found = await _credentials(conn, email)
    good, fresh_hash = await passwords.verify(password, found["password_hash"] if found else None)
    if not found or not good:
        raise Refusal(401, "invalid_credentials", "The e-mail or the password is wrong.")
    await throttle.give_back(conn, email, address)
    if fresh_hash:
        await conn.execute(
            _Q["rehash_password"],
            {"user_id": found["id"], "old_hash": found["password_hash"], "new_hash": fresh_hash},
        )
    return SignedIn(found["id"], found["sessions_epoch"])


async def change_password(
    conn: Connection, passwords: Passwords, user_id: UUID, *, current: str, new: str
) -> SignedIn:
    """Sets a new password and ends every other sign-in; the returned one is good for the caller.

    Raises a 403 `Refusal` `wrong_password` when `current` is not the user's, 422 for a weak `new` one.
    """
    async with conn.cursor(row_factory=dict_row) as cursor:
        found = await (await cursor.execute(_Q["credentials_by_id"], {"user_id": user_id})).fetchone()
    good, _ = await passwords.verify(current, found["password_hash"] if found else None)
    if not good:
        raise Refusal(403, "wrong_password", "The current password is wrong.")
    return await set_password(conn, user_id, await passwords.hash(new))


async def set_password(conn: Connection, user_id: UUID, password_hash: str) -> SignedIn:
    """Sets the password and ends every sign-in. Raises a 404 `Refusal` for an unknown user."""
    return await _new_epoch(conn, "set_password", user_id, password_hash=password_hash)


async def sign_out_everywhere(conn: Connection, user_id: UUID) -> SignedIn:
    """Ends every token and browser session of the user; the returned sign-in is good for the caller."""
    return await _new_epoch(conn, "sign_out_everywhere", user_id)


async def _new_epoch(conn: Connection, query: str, user_id: UUID, **values: str) -> SignedIn:
    row = await (await conn.execute(_Q[query], {"user_id": user_id, **values})).fetchone()
    if row is None:
        raise Refusal(404, "user_not_found", "There is no such user.")
    return SignedIn(user_id, row[0])


async def _credentials(conn: Connection, email: str) -> dict[str, Any] | None:
    try:
        email = clean_email(email)
    except Refusal:
        return None
    async with conn.cursor(row_factory=dict_row) as cursor:
        return await (await cursor.execute(_Q["credentials"], {"email": email})).fetchone()
