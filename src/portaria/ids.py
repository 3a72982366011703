"""Ids made by the application: UUIDv7, so that new rows land at the end of their index."""

import os
import time
from typing import Final
from uuid import UUID

_MILLISECONDS: Final = (1 << 48) - 1
_RANDOM: Final = ~(0xF << 76) & ~(0x3 << 62)
_VERSION: Final = 0x7 << 76 | 0x2 << 62


def uuid7() -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, the rest random."""
    value = (time.time_ns() // 1_000_000 & _MILLISECONDS) << 80 | int.from_bytes(os.urandom(10), "big")
    return UUID(int=value & _RANDOM | _VERSION)
