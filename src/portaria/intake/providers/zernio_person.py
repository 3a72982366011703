"""Who a message is from or to: the anchors of the person, whichever side wrote.

Inbound the person is the sender; outbound the sender is us and the person is the conversation's
participant. A username is never an anchor, nor is anything in a contact card. Nothing is guessed: an id
that is not all digits is no phone.
"""

import re
from dataclasses import dataclass
from typing import Final

from portaria.intake.phones import normalize_phone
from portaria.intake.providers.contract import Body, block, optional_key, optional_text
from portaria.intake.providers.facts import Direction

_BUSINESS_SCOPED_ID: Final = re.compile(r"[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}")
_PHONE_ID: Final = re.compile(r"\+?[0-9]{8,15}")


@dataclass(frozen=True, slots=True)
class Person:
    business_scoped_id: str | None = None
    parent_business_scoped_id: str | None = None
    phone: str | None = None
    channel_user: str | None = None
    name: str | None = None
    username: str | None = None


def whatsapp_person(body: Body, direction: Direction) -> Person:
    """A field that names an anchor comes first; an id of either shape fills in for the one missing."""
    if direction == "outbound":
        conversation = block(body, "conversation")
        person_id = optional_key(conversation.get("participantId")) or ""
        return Person(
            business_scoped_id=_scoped_id_from(person_id),
            phone=_phone_from(person_id),
            name=optional_text(conversation.get("participantName")),
            username=optional_text(conversation.get("participantUsername")),
        )
    sender = _sender(body)
    person_id = optional_key(sender.get("id")) or ""
    return Person(
        business_scoped_id=optional_key(sender.get("businessScopedUserId")) or _scoped_id_from(person_id),
        parent_business_scoped_id=optional_key(sender.get("parentBusinessScopedUserId")),
        phone=normalize_phone(optional_text(sender.get("phoneNumber"))) or _phone_from(person_id),
        name=optional_text(sender.get("name")),
        username=optional_text(sender.get("whatsappUsername")) or optional_text(sender.get("username")),
    )


def social_person(body: Body, direction: Direction) -> Person:
    """A social network's own id of the user, as it came: digits there are no phone."""
    if direction == "outbound":
        conversation = block(body, "conversation")
        return Person(
            channel_user=optional_key(conversation.get("participantId")),
            name=optional_text(conversation.get("participantName")),
            username=optional_text(conversation.get("participantUsername")),
        )
    sender = _sender(body)
    return Person(
        channel_user=optional_key(sender.get("id")),
        name=optional_text(sender.get("name")),
        username=optional_text(sender.get("username")),
    )


def _sender(body: Body) -> Body:
    return block(block(body, "message"), "sender")


def _phone_from(person_id: str) -> str | None:
    return normalize_phone(person_id) if _PHONE_ID.fullmatch(person_id) else None


def _scoped_id_from(person_id: str) -> str | None:
    return person_id if _BUSINESS_SCOPED_ID.fullmatch(person_id) else None
