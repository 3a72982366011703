"""The one cleaning rule, and the one reading of times (design 4).

PostgreSQL holds neither NUL nor lone surrogates; JSON may carry both. Whatever is parsed out of a body
passes through `clean` before it is used as a key or stored; the raw body keeps what really came.
"""

import re
from datetime import UTC, datetime
from typing import Final

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"

# Both Python and PostgreSQL hold exactly these: no leap second, no hour 24, offsets up to 15:59.
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?"
    r"(?:Z|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)",
    re.ASCII | re.IGNORECASE,
)
# A day inside the years 1 and 9999, so that a session in any time zone can hold them too.
_EARLIEST: Final = datetime(1, 1, 2, tzinfo=UTC)
_LATEST: Final = datetime(9999, 12, 30, tzinfo=UTC)


def clean(value: str) -> str:
    """The same text with NUL and lone surrogates as U+FFFD, one for one."""
    return value if value.isascii() and "\x00" not in value else _UNSTORABLE.sub(_REPLACEMENT, value)


def clean_cut(value: str, limit: int) -> str:
    """Cleaned, and cut to `limit` characters."""
    return clean(value[:limit])


def clean_json(value: object, *, depth: int = 8, limit: int = 2_048) -> object:
    """A JSON value with every key and text cleaned and cut to `limit`; what lies deeper is null."""
    match value:
        case str():
            return clean_cut(value, limit)
        case dict() if depth:
            return {
                clean_cut(str(key), limit): clean_json(item, depth=depth - 1, limit=limit)
                for key, item in value.items()
            }
        case list() if depth:
            return [clean_json(item, depth=depth - 1, limit=limit) for item in value]
        case bool() | int() | float():
            return value
        case _:
            return None


def parse_time(value: object) -> datetime:
    """An ISO 8601 date-time with its zone, as UTC; digits beyond microseconds are dropped.

    Raises ValueError for anything else. Numbers are refused, in digits too: nothing here tells
    seconds from milliseconds.
    """
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise ValueError("not a date-time with a time zone")
    try:
        moment = datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("no such moment") from None
    if not _EARLIEST <= moment <= _LATEST:
        raise ValueError("no such moment")
    return moment
