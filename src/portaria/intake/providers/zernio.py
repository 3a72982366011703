"""Zernio's webhooks: one wire for every network it connects, two adapters for us.

`zernio` is the intermediated WhatsApp channel, `zernio_social` every other network; a body of the other
family is OTHER_PLATFORM. A subscription carries every account of a team, so both must expect it.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from portaria.intake.phones import normalize_phone
from portaria.intake.providers import zernio_changes, zernio_message
from portaria.intake.providers.contract import Body, ContractError, block, optional_key, optional_text
from portaria.intake.providers.facts import AccountRef, Fact, Kind
from portaria.intake.providers.signatures import is_hex_hmac_sha256

_NUMBER_STATES: Final = (
    "activated",
    "declined",
    "action_required",
    "verification_required",
    "suspended",
    "reactivated",
    "released",
    "kyc_submitted",
)
_KINDS: Final = {
    "message.received": Kind.NEW_MESSAGE,
    "message.sent": Kind.NEW_MESSAGE,
    "message.delivered": Kind.OUTCOME,
    "message.read": Kind.OUTCOME,
    "message.failed": Kind.OUTCOME,
    "message.edited": Kind.EDIT,
    "message.deleted": Kind.DELETE,
    **{f"whatsapp.number.{state}": Kind.NUMBER_STATE for state in _NUMBER_STATES},
    "whatsapp.template.status_updated": Kind.TEMPLATE_REVIEW,
    "account.connected": Kind.CONNECTION,
    "account.disconnected": Kind.CONNECTION,
    "webhook.test": Kind.TEST,
}


class Zernio:
    """The adapter for one of the two families."""

    def __init__(self, name: Literal["zernio", "zernio_social"]) -> None:
        self._name = name
        self._is_whatsapp = name == "zernio"

    @property
    def name(self) -> str:
        return self._name

    def verify(self, raw: bytes, headers: Mapping[bytes, bytes], secrets: Sequence[bytes]) -> bool:
        """The legacy header counts only where the present one is absent."""
        given = headers.get(b"x-zernio-signature")
        if given is None:
            given = headers.get(b"x-late-signature", b"")
        return is_hex_hmac_sha256(given, raw, secrets)

    def account(self, body: Body) -> AccountRef:
        """Number events carry no account: their phone and their profile name the session."""
        account = block(body, "account")
        named = (account.get("accountId"), account.get("id"), body.get("accountId"))
        account_id = next(filter(None, map(optional_key, named)), None)
        if account_id is not None:
            return AccountRef(account_id, None, None)
        number = block(body, "number")
        phone = normalize_phone(optional_text(number.get("phoneNumber")))
        return AccountRef(None, phone, optional_key(number.get("profileId")))

    def event_type(self, body: Body) -> str:
        return optional_text(body.get("event")) or ""

    def external_id(self, body: Body) -> str | None:
        message_id = optional_key(block(body, "message").get("platformMessageId"))
        return message_id or optional_key(body.get("id"))

    def kind(self, body: Body) -> Kind:
        event = self.event_type(body)
        if body.get("test") is True:
            return Kind.TEST
        kind = _KINDS.get(event, Kind.UNKNOWN)
        if kind is not Kind.TEST and _is_whatsapp(body, event) not in (None, self._is_whatsapp):
            return Kind.OTHER_PLATFORM
        return kind

    def parse(self, body: Body) -> Fact:
        match self.kind(body):
            case Kind.NEW_MESSAGE:
                return zernio_message.new_message(body, is_whatsapp=self._is_whatsapp)
            case Kind.OUTCOME:
                return zernio_changes.outcome(body)
            case Kind.EDIT:
                return zernio_changes.edit(body)
            case Kind.DELETE:
                return zernio_changes.delete(body)
            case Kind.NUMBER_STATE:
                return zernio_changes.number_state(body)
            case Kind.TEMPLATE_REVIEW:
                return zernio_changes.template_review(body)
            case Kind.CONNECTION:
                return zernio_changes.connection(body)
            case _:
                raise ContractError("event")


def _is_whatsapp(body: Body, event: str) -> bool | None:
    """None where the body does not say: then the session it was sent to decides."""
    platform = zernio_message.platform_of(body)
    if platform is None:
        return True if event.startswith("whatsapp.") else None
    return platform == "whatsapp"
