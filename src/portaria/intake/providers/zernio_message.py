"""message.received and message.sent, read into a NewMessage."""

from typing import Final

from portaria.intake.providers.contract import (
    Body,
    ContractError,
    Required,
    block,
    optional_text,
    required_block,
)
from portaria.intake.providers.facts import Direction, NewMessage
from portaria.intake.providers.zernio_media import attachment
from portaria.intake.providers.zernio_person import social_person, whatsapp_person
from portaria.intake.text import clean_json

_OPPOSITE: Final[dict[Direction, str]] = {"inbound": "outgoing", "outbound": "incoming"}
_INTERACTIVE: Final = (
    "interactiveType",
    "interactiveId",
    "buttonPayload",
    "flowResponseJson",
    "flowResponseData",
)


def new_message(body: Body, *, is_whatsapp: bool) -> NewMessage:
    """Raises ContractError; a message without text, name or any anchor is none."""
    direction: Direction = "inbound" if body.get("event") == "message.received" else "outbound"
    message = required_block(body, "message")
    metadata = block(body, "metadata")
    with Required() as required:
        if message.get("direction") == _OPPOSITE[direction]:
            # Read either way, the sender would be taken for the wrong side of the conversation.
            required.refuse("message.direction")
        external_id = required.key(message.get("platformMessageId"), "message.platformMessageId")
        thread = required.key(_thread(body, message), "conversation.id")
        sent_at = required.time(message.get("sentAt"), "message.sentAt")
        text = required.text(message.get("text"), "message.text")
        files = required.items(message.get("attachments"), "message.attachments")
    attachments = [attachment(file) for file in files if isinstance(file, dict)]
    person = (whatsapp_person if is_whatsapp else social_person)(body, direction)
    return NewMessage(
        direction=direction,
        external_id=external_id,
        provider_conversation_id=thread,
        platform=platform_of(body),
        type=_type(attachments, metadata),
        body=text,
        attachments=attachments,
        sent_at=sent_at,
        business_scoped_id=person.business_scoped_id,
        parent_business_scoped_id=person.parent_business_scoped_id,
        phone=person.phone,
        channel_user=person.channel_user,
        name=person.name,
        username=person.username,
        referral=_referral(metadata),
        unsupported=_is_unsupported(metadata),
    )


def platform_of(body: Body) -> str | None:
    """The network in lower case: the message's own word for it, else the account's."""
    for parent in ("message", "account"):
        platform = optional_text(block(body, parent).get("platform"))
        if platform is not None:
            return platform.lower()
    return None


def _thread(body: Body, message: Body) -> object:
    """The thread's id stands twice; the second place is read only where the first is absent."""
    conversation = body.get("conversation")
    if conversation is not None and not isinstance(conversation, dict):
        raise ContractError("conversation")
    thread = (conversation or {}).get("id")
    return message.get("conversationId") if thread is None else thread


def _type(attachments: list[dict[str, str]], metadata: Body) -> str:
    if _is_unsupported(metadata):
        return "unsupported"
    if attachments:
        return attachments[0]["type"]
    if metadata.get("contacts"):
        return "contacts"
    if metadata.get("order"):
        return "order"
    return "interactive" if any(metadata.get(name) for name in _INTERACTIVE) else "text"


def _is_unsupported(metadata: Body) -> bool:
    unsupported = metadata.get("unsupported")
    return unsupported is True or isinstance(unsupported, dict)


def _referral(metadata: Body) -> dict[str, object] | None:
    """The ad the person came from: only on the first message after the click."""
    referral = clean_json(metadata.get("referral"))
    return referral if isinstance(referral, dict) and referral else None
