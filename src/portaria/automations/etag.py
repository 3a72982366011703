"""Optimistic concurrency over HTTP: a rule's version as its `ETag`, and what `If-Match` asks for.

A change without `If-Match` is taken as it is (the last one wins), so that a script needs no second
request; the console always sends it. A stale one is 412.
"""

import re
from typing import Final

from portaria.errors import Refusal

# A weak tag never matches: If-Match compares strongly (RFC 9110, 13.1.1).
_TAG: Final = re.compile(r'(W/)?"([^"]*)"')


def etag(version: int) -> str:
    """The `ETag` of a version."""
    return f'"{version}"'


def versions_wanted(if_match: str | None) -> frozenset[int] | None:
    """The versions that `If-Match` allows; None: any (no header, or `*`). Raises a 400 `Refusal`."""
    if if_match is None or if_match.strip() == "*":
        return None
    tags = [tag.strip() for tag in if_match.split(",")]
    found = [_TAG.fullmatch(tag) for tag in tags]
    if not all(found):
        raise Refusal(400, "invalid_if_match", 'If-Match must be a list of quoted tags, such as "3", or *.')
    return frozenset(int(m[2]) for m in found if m and not m[1] and m[2].isascii() and m[2].isdigit())
