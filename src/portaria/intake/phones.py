"""Phone numbers as the wire writes them, in the one form the database keeps: `+` and 8 to 15 digits."""

import re
from typing import Final

# Anything else (a letter, a domain, a second plus) means that this is no phone: provider facts 5.7.
_WRITTEN: Final = re.compile(r"[\s(]*+\+?[0-9\s()./\-\u2010-\u2015]++")
_E164: Final = re.compile(r"[1-9][0-9]{7,14}")
_NOT_DIGIT: Final = re.compile(r"[^0-9]")

# Mobile lines of Brazil, known with and without their ninth digit; landlines start with 2 to 5.
_BRAZIL_WITHOUT_NINTH: Final = re.compile(r"(\+55[1-9][0-9])([6-9][0-9]{7})")
_BRAZIL_WITH_NINTH: Final = re.compile(r"(\+55[1-9][0-9])9([6-9][0-9]{7})")


def normalize_phone(value: str | None) -> str | None:
    """`+` and digits, from `+55 11 3000-9999` or `551130009999`; None when it cannot be a phone."""
    if value is None or not _WRITTEN.fullmatch(value):
        return None
    digits = _NOT_DIGIT.sub("", value)
    return f"+{digits}" if _E164.fullmatch(digits) else None


def search_variants(phone: str) -> list[str]:
    """The spellings one line may be stored under, the exact one first; for searching only.

    `phone` is normalized. What is saved is what came (provider facts 5.1).
    """
    if mobile := _BRAZIL_WITHOUT_NINTH.fullmatch(phone):
        return [phone, f"{mobile[1]}9{mobile[2]}"]
    if mobile := _BRAZIL_WITH_NINTH.fullmatch(phone):
        return [phone, f"{mobile[1]}{mobile[2]}"]
    return [phone]
