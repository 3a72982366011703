"""Reading a provider's body: what must be there, what may be, and the names of what is wrong.

An optional field that is absent, null, blank or of another type is one thing: absent.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Final

from portaria.intake.text import clean, clean_cut, parse_time

Body = Mapping[str, object]

KEY_LIMIT: Final = 255
NAME_LIMIT: Final = 255
REASON_LIMIT: Final = 1_024
TEXT_LIMIT: Final = 65_536
_NO_TIME: Final = datetime.min.replace(tzinfo=UTC)


class ContractError(ValueError):
    """The body breaks the provider's contract; it names the fields, never their values (spec 2.3)."""

    def __init__(self, *fields: str) -> None:
        super().__init__(f"contract broken: {', '.join(fields)}")
        self.fields: tuple[str, ...] = fields


class Required:
    """Reads required fields and raises one ContractError with the names of all that are wrong.

    Used as a context manager: values read inside are to be trusted only once the block has ended.
    """

    def __init__(self) -> None:
        self._wrong: list[str] = []

    def __enter__(self) -> "Required":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._wrong:
            raise ContractError(*self._wrong)

    def refuse(self, field: str) -> None:
        self._wrong.append(field)

    def key(self, value: object, field: str) -> str:
        """A text of 1 to 255 characters, cleaned before anybody compares it (case E1)."""
        key = optional_key(value)
        if key is None:
            self.refuse(field)
        return key or ""

    def time(self, value: object, field: str) -> datetime:
        try:
            return parse_time(value)
        except ValueError:
            self.refuse(field)
            return _NO_TIME

    def text(self, value: object, field: str) -> str | None:
        """A text that may be null: empty is none, longer than 65,536 characters is cut."""
        if value is None:
            return None
        if not isinstance(value, str):
            self.refuse(field)
            return None
        return clean_cut(value, TEXT_LIMIT) or None

    def items(self, value: object, field: str) -> list[object]:
        """A list that may be null."""
        if value is not None and not isinstance(value, list):
            self.refuse(field)
        return value if isinstance(value, list) else []


def required_block(parent: Body, name: str) -> Body:
    """The object under `name`; without it nothing below can be read, so it raises at once."""
    value = parent.get(name)
    if not isinstance(value, dict):
        raise ContractError(name)
    return value


def block(parent: Body, name: str) -> Body:
    """The object under `name`, or an empty one."""
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def optional_text(value: object, limit: int = NAME_LIMIT) -> str | None:
    """A text cleaned and cut; None when it is no text, or blank."""
    if not isinstance(value, str) or not value or value.isspace():
        return None
    return clean(value) if len(value) <= limit else clean_cut(value, limit)


def optional_key(value: object) -> str | None:
    """A text cleaned but never cut: two keys must not become one. None when it is not usable."""
    if not isinstance(value, str) or not value or value.isspace() or len(value) > KEY_LIMIT:
        return None
    return clean(value)
