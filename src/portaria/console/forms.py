"""What a browser's form says, as text."""

from datetime import date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from portaria.console.visitor import AnyRequest
from portaria.errors import Refusal


class Fields(dict[str, str]):
    """A form's fields; one that was not sent is empty."""

    def __missing__(self, name: str) -> str:
        return ""


async def words_of(request: AnyRequest) -> Fields:
    """The form's fields; of a repeated one the last. A file is no field of ours."""
    form = await request.form()
    return Fields({name: value for name, value in form.items() if isinstance(value, str)})


async def lists_of(request: AnyRequest, name: str) -> list[str]:
    """Every value of a field that may be repeated, in the form's order."""
    return [value for value in (await request.form()).getall(name, []) if isinstance(value, str)]


def field(values: dict[str, str], name: str) -> str:
    """The field's text, trimmed; empty where it is not there."""
    return values.get(name, "").strip()


def given_id(text: str | None) -> UUID | None:
    """An id out of a form or an address; None where there is none. Raises a 422 `Refusal`."""
    if not text:
        return None
    try:
        return UUID(text)
    except ValueError:
        raise Refusal(422, "invalid_request", "This is no id.") from None


def given_day(text: str | None, zone: str) -> datetime | None:
    """The first moment of a day of that zone's calendar; None where there is none. Raises a 422 `Refusal`."""
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), datetime.min.time(), ZoneInfo(zone))
    except ValueError:
        raise Refusal(422, "invalid_request", "A day is written like 2026-12-31.") from None
