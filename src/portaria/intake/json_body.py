"""Bytes of a request to a JSON object, or a sentence that may be shown.

Lenient where a signed body must not be lost (a leading BOM, a number no type holds, lone surrogates,
repeated keys: the last wins), strict where what follows could not be relied on.
"""

import json
import math
import re
from contextlib import suppress
from typing import Final, NoReturn

import msgspec

_MAX_DEPTH: Final = 100
_MAX_INT_DIGITS: Final = 100
_LONG_NUMBER: Final = b"0" * _MAX_INT_DIGITS
_AS_ZERO: Final = bytes.maketrans(b"123456789", b"0" * 9)
_FAST: Final[msgspec.json.Decoder[object]] = msgspec.json.Decoder()
_BOM: Final = b"\xef\xbb\xbf"

# The closing quote is optional, so that an unterminated string costs one pass and not one per quote.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_AS_SQUARE: Final = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")


class InvalidJson(ValueError):
    """The body is not a JSON object; the message names a place, never a value."""


def parse_object(raw: bytes) -> dict[str, object]:
    """The JSON object in `raw`, strict UTF-8.

    Numbers too long or too large for a finite value stay text. Lone surrogates survive: `text.clean`
    is for them. Raises InvalidJson, for nesting deeper than 100 too.
    """
    if raw.count(b"{") + raw.count(b"[") > _MAX_DEPTH:
        _check_depth(raw)
    if _LONG_NUMBER not in raw.translate(_AS_ZERO):
        # Nearly every body, in less than half the time. What this reader refuses is read again, leniently.
        with suppress(msgspec.MsgspecError):
            if isinstance(value := _FAST.decode(raw), dict):
                return value
    try:
        value = _DECODER.decode(raw.removeprefix(_BOM).decode())
    except UnicodeDecodeError as error:
        raise InvalidJson(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise InvalidJson(f"not JSON at line {error.lineno}, column {error.colno}") from None
    if not isinstance(value, dict):
        raise InvalidJson("not a JSON object")
    return value


def _check_depth(raw: bytes) -> None:
    """Peels one level off every nest per pass: what is left after 100 passes is deeper, or broken."""
    brackets = _STRING.sub(b"", raw).translate(_AS_SQUARE, _NOT_BRACKETS)
    for _ in range(_MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    if brackets:
        raise InvalidJson(f"nested deeper than {_MAX_DEPTH}, or brackets that do not match")


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else digits


def _decimal(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits


def _refuse_constant(_name: str) -> NoReturn:
    raise InvalidJson("NaN and Infinity are not JSON")


_DECODER: Final = json.JSONDecoder(parse_int=_integer, parse_float=_decimal, parse_constant=_refuse_constant)
