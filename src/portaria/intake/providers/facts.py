"""What a provider's body says, in our words: one value type for each kind of event (spec 2.2).

Every text in them is cleaned and cut, every time is UTC, every phone is `+` and digits: they can be
stored as they are.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeAlias

Direction = Literal["inbound", "outbound"]
OutcomeStatus = Literal["sent", "delivered", "read", "failed"]


class Kind(StrEnum):
    """What an event is to us. Only NEW_MESSAGE may be answered before it is processed."""

    NEW_MESSAGE = "new_message"
    OUTCOME = "outcome"
    EDIT = "edit"
    DELETE = "delete"
    NUMBER_STATE = "number_state"
    TEMPLATE_REVIEW = "template_review"
    CONNECTION = "connection"
    TEST = "test"
    OTHER_PLATFORM = "other_platform"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AccountRef:
    """Whose event it is. The phone and the profile are given only where the body names no account."""

    account_id: str | None
    phone_number: str | None
    profile_id: str | None


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that came in or went out.

    The anchors (`business_scoped_id`, `phone`, or `channel_user` on a social channel) are those of the
    person, in both directions; none of them is no error, the thread may know who it is. `channel_user`
    is unique only within `platform` and the session's account. `username` is to be shown, never matched.
    """

    direction: Direction
    external_id: str
    provider_conversation_id: str
    platform: str | None
    type: str
    body: str | None
    attachments: list[dict[str, str]]
    sent_at: datetime
    business_scoped_id: str | None
    parent_business_scoped_id: str | None
    phone: str | None
    channel_user: str | None
    name: str | None
    username: str | None
    referral: dict[str, object] | None
    unsupported: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a message; `error` has code, title, message and explanation where they came."""

    external_id: str
    status: OutcomeStatus
    at: datetime
    error: dict[str, object] | None


@dataclass(frozen=True, slots=True)
class Edit:
    """A message's text is now `body`."""

    external_id: str
    body: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Delete:
    """A message was taken back."""

    external_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class NumberState:
    """The number entered a state: the provider's word for it."""

    phone_number: str | None
    state: str
    at: datetime
    reason: str | None


@dataclass(frozen=True, slots=True)
class TemplateReview:
    """A message template was reviewed; no reason is None, whatever the provider writes for it."""

    template_id: str
    name: str
    language: str | None
    status: str
    reason: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Connection:
    """The account was connected or disconnected."""

    connected: bool
    at: datetime
    reason: str | None


Fact: TypeAlias = NewMessage | Outcome | Edit | Delete | NumberState | TemplateReview | Connection
