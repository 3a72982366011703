"""What people type into names and e-mail addresses, checked once for form, API and command line."""

import re
import zoneinfo

from portaria.errors import Refusal

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
# Control characters and lone surrogates; joiners stay, names in many scripts need them.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def clean_name(value: str) -> str:
    """A name of 1 to 255 characters, trimmed. Raises a 422 `Refusal`."""
    value = value.strip()
    if not 1 <= len(value) <= 255 or _UNFIT.search(value):
        raise Refusal(422, "invalid_name", "A name has 1 to 255 characters, and no control characters.")
    return value


def clean_email(value: str) -> str:
    """An e-mail address, trimmed; its case never tells two users apart. Raises a 422 `Refusal`."""
    value = value.strip()
    if not 3 <= len(value) <= 255 or _UNFIT.search(value) or not _EMAIL.fullmatch(value):
        raise Refusal(422, "invalid_email", "This is not an e-mail address.")
    return value


def clean_time_zone(value: str) -> str:
    """A time zone by its IANA name. Raises a 422 `Refusal`."""
    if value not in zoneinfo.available_timezones():
        raise Refusal(422, "invalid_time_zone", "The time zone is an IANA name like America/Sao_Paulo.")
    return value


def clean_locale(value: str) -> str:
    """A language the console speaks. Raises a 422 `Refusal`."""
    if value not in ("pt_BR", "en"):
        raise Refusal(422, "invalid_locale", "The language is pt_BR or en.")
    return value
