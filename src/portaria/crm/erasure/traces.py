"""Whether a delivery's bytes speak of a person, whatever encoding hides it.

A JSON body is looked at value by value, a form's field by field, anything else as text. An id counts as a
whole, so that a short one is not found inside something else; a phone in any of the ways people write it.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_plus

from portaria.crm.erasure.person import Person

_PHONE: Final = re.compile(r"\+?\(?\d[\d\s().\-/]{6,24}\d")
_NOT_DIGIT: Final = re.compile(r"\D")
_LONG_ENOUGH: Final = 8
"""Characters from which an id is looked for inside a longer text."""


def speaks_of(person: Person, raw: bytes) -> bool:
    """Whether the body holds an id, the phone or the e-mail of the person."""
    return any(_names(person, text) for text in _texts(raw))


def _names(person: Person, text: str) -> bool:
    stripped = text.strip()
    if stripped in person.ids:
        return True
    if person.email and person.email.casefold() in text.casefold():
        return True
    if person.spellings and any(_digits(m[0]) & person.phones for m in _PHONE.finditer(text)):
        return True
    return any(_stands_in(anchor, text) for anchor in person.anchors if len(anchor) >= _LONG_ENOUGH)


def _digits(written: str) -> set[str]:
    """The number as written, and without a trunk or exit prefix."""
    digits = _NOT_DIGIT.sub("", written)
    return {digits, digits.lstrip("0")}


def _stands_in(anchor: str, text: str) -> bool:
    return anchor in text and re.search(rf"(?<!\w){re.escape(anchor)}(?!\w)", text) is not None


def _texts(raw: bytes) -> Iterator[str]:
    text = _decoded(raw)
    try:
        yield from _values(json.loads(text))
        return
    except (ValueError, RecursionError):
        pass
    yield text
    if "%" in text or "+" in text:
        yield unquote_plus(text)
    try:
        yield from (value for _, value in parse_qsl(text, errors="replace", max_num_fields=1000))
    except ValueError:
        return


def _values(value: Any) -> Iterator[str]:
    """Every text and number in it, keys included, however deep."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as fields:
                waiting += [*fields.keys(), *fields.values()]
            case list() as items:
                waiting += items
            case str() as text:
                yield text
            case bool() | None:
                pass
            case number:
                yield str(number)


def _decoded(raw: bytes) -> str:
    """The text, in UTF-8 unless zero bytes say otherwise."""
    encoding = "utf-8"
    if b"\x00" in raw[:64]:
        encoding = json.detect_encoding(raw)
    return raw.decode(encoding, "replace").removeprefix("\ufeff").replace("\x00", "")
