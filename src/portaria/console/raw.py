"""A raw body made visible: every byte that is no printable text is shown as what it is.

Nothing is parsed, nothing is formatted: a number of thirty digits keeps its digits, a byte that is not
UTF-8 stands as `\\xE9`. The template escapes what comes out of here like everything else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

SHOWN_AT_MOST: Final = 200_000
"""Bytes of a body that a page shows; the rest is in the download."""

# Control characters except line feed and tab, what turns the direction of text, what has no width, and
# the stand-ins for bytes that are not UTF-8.
_ODD: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\udc80-\udcff]"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text as it is, or one odd character spelled out."""

    text: str
    odd: bool = False


def pieces(raw: bytes) -> list[Piece]:
    """The first bytes of the body, in order."""
    return list(_pieces(raw[:SHOWN_AT_MOST].decode("utf-8", "surrogateescape")))


def _pieces(text: str) -> Iterator[Piece]:
    place = 0
    for found in _ODD.finditer(text):
        if found.start() > place:
            yield Piece(text[place : found.start()])
        yield Piece(_spelled(found[0]), odd=True)
        place = found.end()
    if place < len(text):
        yield Piece(text[place:])


def _spelled(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02X}"
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}"
