"""What people type into a channel, checked once for console, API and command line."""

import re
import secrets
from dataclasses import dataclass
from typing import Final

from portaria.errors import Refusal
from portaria.intake.phones import normalize_phone
from portaria.intake.sessions import SHORTEST_SECRET

PROVIDERS: Final = ("zernio", "zernio_social")
_LONGEST_SECRET: Final = 1024
_UNFIT: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ChannelRequest:
    """What a new channel is. Without a `secret`, one is made."""

    provider: str
    account_id: str
    name: str = ""
    phone_number: str | None = None
    profile_id: str | None = None
    secret: str | None = None


def checked(request: ChannelRequest) -> dict[str, str | None]:
    """The columns' values, trimmed and normalized. Raises a 422 `Refusal`."""
    if request.provider not in PROVIDERS:
        raise Refusal(422, "unknown_provider", f"The provider is one of {', '.join(PROVIDERS)}.")
    phone = normalize_phone(request.phone_number) if request.phone_number else None
    if request.phone_number and phone is None:
        raise Refusal(422, "invalid_phone", "A phone number is written like +55 11 3000-9999.")
    return {
        "provider": request.provider,
        "name": _text("name", request.name, shortest=0),
        "account_id": _text("account id", request.account_id),
        "phone_number": phone,
        "profile_id": _text("profile id", request.profile_id) if request.profile_id else None,
    }


def checked_secret(given: str | None) -> str:
    """The secret given, as it is (its bytes sign), or a fresh one. Raises a 422 `Refusal`."""
    if given is None:
        return secrets.token_urlsafe(32)
    if not SHORTEST_SECRET <= len(given) <= _LONGEST_SECRET or _UNFIT.search(given):
        raise Refusal(422, "weak_secret", f"A secret has {SHORTEST_SECRET} to {_LONGEST_SECRET} characters.")
    return given


def _text(what: str, value: str, *, shortest: int = 1) -> str:
    value = value.strip()
    if not shortest <= len(value) <= 255 or _UNFIT.search(value):
        raise Refusal(
            422, "invalid_value", f"The {what} has {shortest} to 255 characters, and no control characters."
        )
    return value
