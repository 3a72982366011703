"""Signatures over raw bytes, compared in constant time."""

import hmac
from collections.abc import Sequence


def is_hex_hmac_sha256(given: bytes, raw: bytes, secrets: Sequence[bytes]) -> bool:
    """Whether `given` is the hex HMAC-SHA256 of `raw` under one of the secrets.

    A `sha256=` prefix and upper case are accepted. Every secret is tried, whichever matches; an empty
    one never does. Any bytes at all may be given: what is no signature is False, never an exception.
    """
    claimed = given.strip().lower().removeprefix(b"sha256=")
    matches = False
    for secret in secrets:
        expected = hmac.digest(secret, raw, "sha256").hex().encode()
        matches |= hmac.compare_digest(expected, claimed) and secret != b""
    return matches
