"""Passwords: argon2, off the event loop, a few at once."""

import asyncio
import secrets

from pwdlib import PasswordHash
from pwdlib.exceptions import UnknownHashError

from portaria.errors import Refusal

SHORTEST, LONGEST = 8, 1024


class Passwords:
    """Hashes and verifies. One hash takes 64 MiB and tens of milliseconds: at most `at_once` run together."""

    def __init__(self, at_once: int = 2) -> None:
        self._argon2 = PasswordHash.recommended()
        self._room = asyncio.Semaphore(at_once)
        self._nobody = self._argon2.hash(secrets.token_urlsafe(16))

    async def hash(self, password: str) -> str:
        """Raises a 422 `Refusal` for a password shorter than 8 or longer than 1,024 characters."""
        check_password(password)
        async with self._room:
            return await asyncio.to_thread(self._argon2.hash, password)

    async def verify(self, password: str, stored: str | None) -> tuple[bool, str | None]:
        """Whether `password` is the stored one, and a fresh hash where the stored one is outdated.

        Without a stored hash it takes as long and says no: time must not tell who has an account.
        """
        async with self._room:
            return await asyncio.to_thread(self._verify, password, stored)

    def _verify(self, password: str, stored: str | None) -> tuple[bool, str | None]:
        given = password[:LONGEST].encode(errors="replace")
        if stored is None or len(password) > LONGEST:
            self._argon2.verify(given, self._nobody)
            return False, None
        try:
            return self._argon2.verify_and_update(given, stored)
        except UnknownHashError:
            return False, None


def check_password(password: str) -> None:
    """Raises a 422 `Refusal` for what cannot be a new password."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise Refusal(422, "weak_password", f"A password has {SHORTEST} to {LONGEST} characters.")
    try:
        password.encode()
    except UnicodeEncodeError:
        raise Refusal(422, "weak_password", "A password is text.") from None


def make_password() -> str:
    """A password for somebody to be shown once: 20 characters, 120 bits."""
    return secrets.token_urlsafe(15)
