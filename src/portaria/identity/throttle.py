"""How often a wrong password may be tried: counted on PostgreSQL, so that every web process agrees.

Three counts, each of failures within one window: of one address for one e-mail, of one e-mail from
anywhere, of one address for anybody. The second bounds a guess spread over many addresses; it is wider
than the first, so that one stranger cannot lock a person out.
"""

import hashlib
import ipaddress
from dataclasses import dataclass

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal

_Q = load_queries("portaria.identity")


@dataclass(frozen=True, slots=True)
class ThrottleLimits:
    """Failures within `window` seconds before further tries are refused."""

    window: float = 900.0
    per_email_and_address: int = 10
    per_email: int = 50
    per_address: int = 100


class Throttle:
    """The sign-in throttle. `take` before a try; `give_back` when it turned out to be good."""

    def __init__(self, limits: ThrottleLimits = ThrottleLimits()) -> None:
        self.limits = limits

    async def take(self, conn: Connection, email: str, address: str) -> None:
        """Counts this try as a failure ahead of it. Raises a 429 `Refusal` with `Retry-After`.

        A refused try is not counted. `conn` is in autocommit: the count must stand whatever follows.
        """
        limits = self.limits
        parameters = {
            "keys": list(_keys(email, address)), "window": limits.window,
            "limits": [limits.per_email_and_address, limits.per_email, limits.per_address],
        }  # fmt: skip
        [(wait,)] = await (await conn.execute(_Q["throttle_take"], parameters)).fetchall()
        if wait > 0:
            raise Refusal(
                429,
                "too_many_attempts",
                "Too many wrong passwords: try again later.",
                {"Retry-After": str(int(wait) + 1)},
            )

    async def give_back(self, conn: Connection, email: str, address: str) -> None:
        """The try was good: it counts nowhere, and the pair starts anew. Drops some ended counts too."""
        keys = _keys(email, address)
        await conn.execute(_Q["throttle_forget"], {"key": keys[0]})
        await conn.execute(_Q["throttle_give_back"], {"keys": list(keys[1:])})
        await conn.execute(_Q["throttle_purge"])


def _keys(email: str, address: str) -> tuple[bytes, bytes, bytes]:
    email, address = email.strip().lower(), _network(address)
    names = (f"pair\n{email}\n{address}", f"email\n{email}", f"address\n{address}")
    pair, one_email, one_address = (hashlib.sha256(n.encode(errors="replace")).digest() for n in names)
    return pair, one_email, one_address


def _network(address: str) -> str:
    """One subscriber's addresses as one: an IPv6 network of 64 bits, a single IPv4 address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
