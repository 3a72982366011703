"""Who may tell us events: a Bearer token, and a signature where a secret is set (spec 3).

Everything is compared as bytes and in constant time: any bytes at all may come, and what does not match
is refused, never an exception.
"""

import base64
import binascii
import hmac
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

Headers = Sequence[tuple[bytes, bytes]]

_OWS: Final = b" \t"
_TOLERANCE: Final = 300


class BadSecret(ValueError):
    """A configured secret cannot be one; the message names the rule, never the secret."""


class Tokens:
    """The live tokens: the current one, and the previous one during a rotation. Empty ones are none."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self._accepted = [form for token in tokens if token.strip() for form in _forms(token.strip())]

    def match(self, headers: Headers) -> bool:
        """Whether `Authorization` carries a live token.

        The rule of spacing (RFC 9110): the scheme in any case, then one or more spaces, then the token to
        the end of the value; spaces and tabs around the whole value are not part of it. A tab between
        scheme and token, a bare scheme, a list, and a repeated header are refused.
        """
        given = values(headers, b"authorization")
        if len(given) != 1:
            return False
        scheme, _, token = given[0].strip(_OWS).partition(b" ")
        token = token.lstrip(b" ")
        matches = False
        for accepted in self._accepted:
            matches |= hmac.compare_digest(accepted, token)
        return matches and scheme.lower() == b"bearer"


class Signatures:
    """Standard Webhooks signatures under the live secrets; `on` only if there is one (provider facts 4)."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Raises BadSecret for one that is not `whsec_` and base64 of at least 24 bytes."""
        self._keys = [_key(secret.strip()) for secret in secrets if secret.strip()]

    @property
    def on(self) -> bool:
        return bool(self._keys)

    def match(self, headers: Headers, raw: bytes, now: float) -> bool:
        """Whether `raw` is signed by a live secret, not more than 5 minutes before or after `now`.

        The timestamp is in Unix seconds; milliseconds are 50 thousand years away and refused.
        """
        names = (b"webhook-id", b"webhook-timestamp", b"webhook-signature")
        found = [values(headers, name) for name in names]
        if any(len(each) != 1 or not each[0] for each in found):
            return False
        message_id, timestamp, signatures = (each[0].strip(_OWS) for each in found)
        if not (timestamp.isdigit() and len(timestamp) <= 12 and abs(int(timestamp) - now) <= _TOLERANCE):
            return False
        signed = b"%b.%b.%b" % (message_id, timestamp, raw)
        expected = [b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256")) for key in self._keys]
        matches = False
        for given in signatures.split(b" "):
            for one in expected:
                matches |= hmac.compare_digest(one, given)
        return matches


def values(headers: Headers, name: bytes) -> list[bytes]:
    """Every value of the header `name` (in lower case)."""
    return [value for key, value in headers if key.lower() == name]


def _forms(token: str) -> set[bytes]:
    """A token as bytes: senders write what is not ASCII as UTF-8 or, the older way, as Latin-1."""
    forms = {token.encode("utf-8", "surrogateescape")}
    with suppress(UnicodeEncodeError):
        forms.add(token.encode("latin-1"))
    return forms


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) < 24:
        raise BadSecret("a signature secret is whsec_ and the base64 of at least 24 random bytes")
    return key
