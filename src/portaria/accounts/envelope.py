"""The envelope of an event: from the bytes of a body to its four fields (spec 3).

Lenient where an event must not be lost (a leading BOM, numbers of any size, repeated keys: the last
wins), strict where a wrong type would fail later and silently.
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn

from portaria.errors import Refusal

_FIELDS: Final = ("event_id", "event_type", "occurred_at", "data")
_KEY_LIMIT: Final = 255
_MAX_DEPTH: Final = 100
_INT_DIGITS: Final = 4_000
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_TOKENS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)

# A date, or a date-time with or without its zone: what both Python and PostgreSQL hold. No leap second,
# no hour 24, offsets up to 15:59.
_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)"
    r"(?:[T ]((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?)"
    r" ?(Z|UTC|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)?)?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """An event as it was told. `payload` is the body, unchanged; `occurred_at` is UTC."""

    event_id: str
    event_type: str
    occurred_at: datetime
    data: dict[str, Any]
    payload: str


def parse(raw: bytes) -> Envelope:
    """The envelope in `raw`. Raises Refusal 422 `invalid_payload`, which names fields, never values."""
    try:
        payload = raw.decode()
    except UnicodeDecodeError:
        raise _invalid("The body is not UTF-8.") from None
    fields = _decode(payload)
    wrong = [name for name in _FIELDS if not _is_valid(name, fields.get(name))]
    if wrong:
        raise _invalid(f"Missing or not valid: {', '.join(wrong)}.")
    return Envelope(
        event_id=fields["event_id"],
        event_type=fields["event_type"],
        occurred_at=parse_time(fields["occurred_at"]),
        data=fields["data"],
        payload=payload,
    )


def parse_time(text: str) -> datetime:
    """An ISO 8601 date (midnight UTC) or date-time (UTC unless it says otherwise), as UTC.

    Digits beyond microseconds are dropped. Raises ValueError for anything else.
    """
    found = _TIME.fullmatch(text)
    if not found:
        raise ValueError("not a date or date-time")
    date, time, zone = found.groups()
    zone = "" if zone is None else zone.upper().replace("UTC", "Z")
    try:
        return datetime.fromisoformat(f"{date}T{time or '00:00'}{zone or 'Z'}").astimezone(UTC)
    except OverflowError:  # in UTC it lies outside the years 1 to 9999
        raise ValueError("no such moment") from None


def clean(value: Any) -> Any:
    """A JSON value with every NUL and lone surrogate as U+FFFD: PostgreSQL holds neither (design 4)."""
    match value:
        case str():
            return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", value)
        case dict():
            return {clean(key): clean(item) for key, item in value.items()}
        case list():
            return [clean(item) for item in value]
        case _:
            return value


def _is_valid(name: str, value: object) -> bool:
    if name == "data":
        return isinstance(value, dict)
    if not isinstance(value, str):
        return False
    if name == "occurred_at":
        try:
            return bool(parse_time(value))
        except ValueError:
            return False
    return len(value) <= _KEY_LIMIT and value.strip() != "" and not _UNSTORABLE.search(value)


def _decode(payload: str) -> dict[str, Any]:
    if payload.count("{") + payload.count("[") > _MAX_DEPTH:
        _check_depth(payload)
    try:
        fields = _DECODER.decode(payload.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise _invalid(f"Not JSON at line {error.lineno}, column {error.colno}.") from None
    if not isinstance(fields, dict):
        raise _invalid("The body is not a JSON object.")
    return fields


def _check_depth(payload: str) -> None:
    depth = 0
    for token in _TOKENS.finditer(payload):
        match token[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
        if depth > _MAX_DEPTH:
            raise _invalid(f"Nested deeper than {_MAX_DEPTH}.")


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _INT_DIGITS else Decimal(digits)


def _decimal(digits: str) -> Decimal | str:
    """Exact, because it may be money; an exponent beyond any number's stays text."""
    try:
        return Decimal(digits)
    except InvalidOperation:
        return digits


def _no_constant(name: str) -> NoReturn:
    raise _invalid(f"{name} is not JSON.")


def _invalid(detail: str) -> Refusal:
    return Refusal(422, "invalid_payload", detail)


_DECODER: Final = json.JSONDecoder(parse_int=_integer, parse_float=_decimal, parse_constant=_no_constant)
