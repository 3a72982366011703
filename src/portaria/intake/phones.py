"""Phone numbers as the wire writes them, in the one form the database keeps: `+` and 8 to 15 digits."""

import re
from typing import Final

from portaria.crm.phones import search_variants

# Anything else (a letter, a domain, a second plus) means that this is no phone: provider facts 5.7.
_WRITTEN: Final = re.compile(r"[\s(]*+\+?[0-9\s()./\-\u2010-\u2015]++")
_E164: Final = re.compile(r"[1-9][0-9]{7,14}")
_NOT_DIGIT: Final = re.compile(r"[^0-9]")

__all__ = ["normalize_phone", "search_variants"]


def normalize_phone(value: str | None) -> str | None:
    """`+` and digits, from `+55 11 3000-9999` or `551130009999`; None when it cannot be a phone."""
    if value is None or not _WRITTEN.fullmatch(value):
        return None
    digits = _NOT_DIGIT.sub("", value)
    return f"+{digits}" if _E164.fullmatch(digits) else None
