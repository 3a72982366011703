"""Pages by key: every list is walked with an opaque cursor, at most 200 items at a time."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Generic, TypeVar
from uuid import UUID

import msgspec
from litestar.params import FromPath, QueryParameter

from portaria.errors import Refusal

T = TypeVar("T")
C = TypeVar("C")

MOST = 200
Id = FromPath[UUID]
Limit = Annotated[int, QueryParameter(ge=1, le=MOST, description=f"How many, at most {MOST}.")]
Cursor = Annotated[
    str | None,
    QueryParameter(max_length=1000, description="`next_cursor` of the page before; left out for the first."),
]
Word = Annotated[str | None, QueryParameter(min_length=1, max_length=255, pattern=r"^[^\x00]*$")]
Moment = Annotated[datetime, msgspec.Meta(tz=True)]
TIME_AND_ID: type[tuple[datetime, UUID]] = tuple[Moment, UUID]
"""What most lists go by: the time and id of the last item already seen."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list; `next_cursor` is null on the last page."""

    items: list[T]
    next_cursor: str | None


def page(rows: Sequence[T], limit: int, place: Callable[[T], tuple[object, ...]]) -> Page[T]:
    """A page out of up to `limit` + 1 rows; `place` gives what the next one starts behind."""
    items = list(rows[:limit])
    more = len(rows) > limit
    return Page(items, write_cursor(place(items[-1])) if more else None)


def write_cursor(place: tuple[object, ...]) -> str:
    return urlsafe_b64encode(msgspec.json.encode(place)).rstrip(b"=").decode()


def read_cursor(cursor: str | None, kind: type[C]) -> C | None:
    """Where the page starts. Raises a 422 `Refusal` for what is no cursor of this list."""
    if cursor is None:
        return None
    try:
        raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        return msgspec.json.decode(raw, type=kind)
    except (NotBase64, UnicodeEncodeError, msgspec.DecodeError, ValueError):
        raise Refusal(422, "invalid_cursor", "The cursor is not one that this list gave.") from None
