"""Phone numbers as people type them into a form, in the one form the database keeps: `+` and digits.

What is saved is what came; the other spelling of a Brazilian mobile line is for searching only
(provider facts 5.1).
"""

import re
from typing import Final

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberFormat

_INTERNATIONAL: Final = re.compile(r"\+[\d\s().\-/]+")
_E164: Final = re.compile(r"\+[1-9][0-9]{7,14}")
_NOT_DIGIT: Final = re.compile(r"[^0-9]")

_BRAZIL: Final = 55
_WITH_AREA_CODE: Final = (10, 11)


def typed_phone(value: str, region: str) -> str | None:
    """`+` and digits of a number as typed; without a country's prefix it is one of `region` (`BR`).

    None when it cannot be a phone number, or lacks its area code.
    """
    value = value.strip()
    if _INTERNATIONAL.fullmatch(value):
        number = "+" + _NOT_DIGIT.sub("", value)
        return number if _E164.fullmatch(number) else None
    try:
        parsed = phonenumbers.parse(value, region)
    except NumberParseException:
        return None
    digits = str(parsed.national_number)
    if parsed.country_code == _BRAZIL:
        usable = len(digits) in _WITH_AREA_CODE and digits[1] != "0"
    else:
        usable = phonenumbers.is_possible_number(parsed)
    return phonenumbers.format_number(parsed, PhoneNumberFormat.E164) if usable else None


# Mobile lines of Brazil, known with and without their ninth digit; landlines start with 2 to 5.
_BRAZIL_WITHOUT_NINTH: Final = re.compile(r"(\+55[1-9][0-9])([6-9][0-9]{7})")
_BRAZIL_WITH_NINTH: Final = re.compile(r"(\+55[1-9][0-9])9([6-9][0-9]{7})")


def search_variants(phone: str) -> list[str]:
    """The spellings one line may be stored under, the exact one first; for searching only.

    `phone` is `+` and digits. What is saved is what came (provider facts 5.1).
    """
    if mobile := _BRAZIL_WITHOUT_NINTH.fullmatch(phone):
        return [phone, f"{mobile[1]}9{mobile[2]}"]
    if mobile := _BRAZIL_WITH_NINTH.fullmatch(phone):
        return [phone, f"{mobile[1]}{mobile[2]}"]
    return [phone]
