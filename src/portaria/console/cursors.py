"""Where a list goes on, as it stands in an address: the time and id of the last row already seen."""

from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from portaria.errors import Refusal

Place = tuple[datetime, UUID]


def write_place(at: datetime | None, row: UUID) -> str:
    return f"{at.isoformat() if at else ''}~{row}"


def read_place(text: str | None) -> tuple[datetime | None, UUID] | None:
    """None for the first page. Raises a 422 `Refusal` for what is no place of a list."""
    if not text:
        return None
    at, _, row = text.partition("~")
    try:
        moment = datetime.fromisoformat(at) if at else None
        if moment is not None and moment.tzinfo is None:
            raise ValueError
        return moment, UUID(row)
    except ValueError:
        raise Refusal(422, "invalid_request", "This is no place of the list.") from None


def read_time_and_id(text: str | None) -> Place | None:
    """A place whose time is always set. Raises a 422 `Refusal`."""
    place = read_place(text)
    if place is None:
        return None
    at, row = place
    if at is None:
        raise Refusal(422, "invalid_request", "This is no place of the list.")
    return at, row


def with_query(path: str, **parameters: object) -> str:
    """The address with those parameters that are given."""
    given = {name: value for name, value in parameters.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(given)}" if given else path
