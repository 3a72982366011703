"""What Zernio would send: bodies, their bytes and their headers, for `portaria simulate` and for tests.

Ids that are not given are derived from those that are: the same call is the same event, and one person on
one account is one thread. `phone` is `+` and digits, or None for a person without one.
"""

import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, Literal, TypedDict, Unpack
from uuid import NAMESPACE_URL, uuid5

from portaria.intake.json_body import InvalidJson, parse_object
from portaria.intake.providers.facts import OutcomeStatus

Sample = dict[str, object]
_BUSINESS: Final[Sample] = {
    "id": "104857611223344",
    "name": "Loja Exemplo",
    "phoneNumber": "+55 11 3000-9999",
}


class Person(TypedDict, total=False):
    """More about the person; `sender_id` is a social network's own id, in place of every other anchor."""

    business_scoped_id: str | None
    username: str | None
    sender_id: str | None
    platform: str


def message_received(
    account_id: str,
    external_id: str,
    phone: str | None,
    text: str | None,
    sent_at: datetime,
    name: str | None = None,
    conversation_id: str | None = None,
    *,
    attachments: Sequence[Sample] = (),
    metadata: Sample | None = None,
    **person: Unpack[Person],
) -> Sample:
    """The person wrote."""
    message = _incoming(external_id, phone, text, sent_at, name, person) | {"attachments": list(attachments)}
    blocks = _blocks(account_id, phone, name, conversation_id, person, message)
    return _event("message.received", sent_at, blocks, metadata=metadata)


def message_sent(
    account_id: str,
    external_id: str,
    phone: str | None,
    text: str | None,
    sent_at: datetime,
    name: str | None = None,
    conversation_id: str | None = None,
    *,
    source: Literal["whatsapp_business_app", "cloud_api"] = "whatsapp_business_app",
    **person: Unpack[Person],
) -> Sample:
    """The business wrote to the person, from the phone's own app unless `source` says otherwise."""
    message = _outgoing(external_id, text, sent_at) | {"source": source}
    blocks = _blocks(account_id, phone, name, conversation_id, person, message)
    return _event("message.sent", sent_at, blocks)


def outcome(
    status: OutcomeStatus,
    account_id: str,
    external_id: str,
    phone: str | None,
    at: datetime,
    conversation_id: str | None = None,
    *,
    error: Mapping[str, object] | None = None,
    **person: Unpack[Person],
) -> Sample:
    """What became of a message of the business; `error` only where the status is `failed`."""
    blocks = _blocks(account_id, phone, None, conversation_id, person, _outgoing(external_id, None, at))
    return _event(f"message.{status}", at, blocks, statusAt=_iso(at), error=error)


def edited(
    account_id: str,
    external_id: str,
    phone: str | None,
    text: str,
    at: datetime,
    conversation_id: str | None = None,
    *,
    earlier: Sequence[str] = ("texto anterior",),
    **person: Unpack[Person],
) -> Sample:
    """The person changed a message: `text` is what it says now, `earlier` what it said, oldest first."""
    history = [{"text": words, "attachments": [], "editedAt": _iso(at)} for words in earlier]
    message = _incoming(external_id, phone, text, at, None, person)
    blocks = _blocks(account_id, phone, None, conversation_id, person, message)
    return _event(
        "message.edited", at, blocks, editHistory=history, editCount=len(history), editedAt=_iso(at)
    )


def deleted(
    account_id: str,
    external_id: str,
    phone: str | None,
    at: datetime,
    conversation_id: str | None = None,
    *,
    text: str | None = None,
    **person: Unpack[Person],
) -> Sample:
    """The business took back a message of its own; the wire keeps its text."""
    blocks = _blocks(account_id, phone, None, conversation_id, person, _outgoing(external_id, text, at))
    return _event("message.deleted", at, blocks, deletedAt=_iso(at))


def encode(sample: Mapping[str, object]) -> bytes:
    """The bytes on the wire, as JSON.stringify makes them: compact, accents as they are."""
    text = json.dumps(sample, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace")  # a lone surrogate has no UTF-8, but an escape


def sign(raw: bytes, secret: str) -> dict[str, str]:
    """The headers of a delivery; without the event's where `raw` is no JSON object."""
    signature = hmac.digest(secret.encode(), raw, "sha256").hex()
    try:
        body = parse_object(raw)
    except InvalidJson:
        body = {}
    named = {"Event": body.get("event"), "Event-Id": body.get("id"), "Signature": signature}
    headers = {"Content-Type": "application/json", "User-Agent": "Zernio-Webhooks/1.0"}
    for name, value in named.items():
        if isinstance(value, str):
            headers |= {f"X-Zernio-{name}": value, f"X-Late-{name}": value}
    return headers


def _incoming(
    external_id: str, phone: str | None, text: str | None, at: datetime, name: str | None, person: Person
) -> Sample:
    sender = _present(
        id=_person_id(phone, person),
        name=name,
        username=person.get("username"),
        phoneNumber=phone,
        businessScopedUserId=person.get("business_scoped_id"),
    )
    return _message(external_id, "incoming", text, at, sender)


def _outgoing(external_id: str, text: str | None, at: datetime) -> Sample:
    return _message(external_id, "outgoing", text, at, _BUSINESS)


def _message(external_id: str, direction: str, text: str | None, at: datetime, sender: Sample) -> Sample:
    return {
        "id": _hex_id("message", external_id),
        "platformMessageId": external_id,
        "direction": direction,
        "text": text,
        "attachments": [],
        "sender": sender,
        "sentAt": _iso(at),
        "isRead": direction == "outgoing",
    }


def _blocks(
    account_id: str,
    phone: str | None,
    name: str | None,
    conversation_id: str | None,
    person: Person,
    message: Sample,
) -> Sample:
    """The three blocks of every inbox event, with the ids that stand in more than one."""
    person_id, platform = _person_id(phone, person), person.get("platform", "whatsapp")
    thread = conversation_id or _hex_id(account_id, person_id)
    conversation = _present(
        id=thread,
        platformConversationId=person_id,
        participantId=person_id,
        participantName=name,
        participantUsername=person.get("username"),
        status="active",
    )
    account = {"id": account_id, "accountId": account_id, "platform": platform, "username": "loja"}
    message = message | {"conversationId": thread, "platform": platform}
    return {"message": message, "conversation": conversation, "account": account}


def _event(event: str, at: datetime, blocks: Sample, **fields: object) -> Sample:
    content = {**blocks, **_present(**fields), "timestamp": _iso(at)}
    event_id = uuid5(NAMESPACE_URL, event + json.dumps(content, sort_keys=True))
    return {"id": str(event_id), "event": event, **content}


def _person_id(phone: str | None, person: Person) -> str:
    """The phone without its plus where it is known, else the business-scoped id (the wire's own rule)."""
    return (
        person.get("sender_id") or (phone or "").removeprefix("+") or person.get("business_scoped_id") or ""
    )


def _present(**fields: object) -> Sample:
    return {name: value for name, value in fields.items() if value is not None}


def _hex_id(*parts: str) -> str:
    return sha256("/".join(parts).encode(errors="backslashreplace")).hexdigest()[:24]


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
