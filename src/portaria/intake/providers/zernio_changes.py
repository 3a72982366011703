"""Everything that is not a new message: what became of one, and the state of number, template, account.

Order matters to all of these, so each carries the provider's time of the change, not of the delivery.
All raise ContractError.
"""

from typing import Final

from portaria.intake.phones import normalize_phone
from portaria.intake.providers.contract import (
    REASON_LIMIT,
    Body,
    Required,
    block,
    optional_text,
    required_block,
)
from portaria.intake.providers.facts import (
    Connection,
    Delete,
    Edit,
    NumberState,
    Outcome,
    OutcomeStatus,
    TemplateReview,
)
from portaria.intake.text import clean_json

_STATUSES: Final[dict[object, OutcomeStatus]] = {
    "message.delivered": "delivered",
    "message.read": "read",
    "message.failed": "failed",
}
_ERROR_FIELDS: Final = ("code", "title", "message", "explanation")
_NO_REASON: Final = "NONE"


def outcome(body: Body) -> Outcome:
    """The event's own time stands in where `statusAt` is absent."""
    status = _STATUSES[body["event"]]
    message = required_block(body, "message")
    status_at = body.get("statusAt")
    with Required() as required:
        external_id = required.key(message.get("platformMessageId"), "message.platformMessageId")
        at = required.time(body.get("timestamp") if status_at is None else status_at, "statusAt")
    return Outcome(external_id, status, at, _error(body) if status == "failed" else None)


def edit(body: Body) -> Edit:
    message = required_block(body, "message")
    with Required() as required:
        external_id = required.key(message.get("platformMessageId"), "message.platformMessageId")
        text = required.text(message.get("text"), "message.text")
        at = required.time(body.get("editedAt"), "editedAt")
    return Edit(external_id, text, at)


def delete(body: Body) -> Delete:
    message = required_block(body, "message")
    with Required() as required:
        external_id = required.key(message.get("platformMessageId"), "message.platformMessageId")
        at = required.time(body.get("deletedAt"), "deletedAt")
    return Delete(external_id, at)


def number_state(body: Body) -> NumberState:
    """The state is the last word of the event's name."""
    with Required() as required:
        at = required.time(body.get("timestamp"), "timestamp")
    phone = normalize_phone(optional_text(block(body, "number").get("phoneNumber")))
    state = str(body["event"]).rpartition(".")[2]
    return NumberState(phone, state, at, optional_text(body.get("reason"), REASON_LIMIT))


def template_review(body: Body) -> TemplateReview:
    template = required_block(body, "template")
    with Required() as required:
        template_id = required.key(template.get("templateId"), "template.templateId")
        name = required.key(template.get("name"), "template.name")
        status = required.key(template.get("status"), "template.status")
        at = required.time(body.get("timestamp"), "timestamp")
    reason = optional_text(template.get("reason"), REASON_LIMIT)
    language = optional_text(template.get("language"))
    return TemplateReview(template_id, name, language, status, None if reason == _NO_REASON else reason, at)


def connection(body: Body) -> Connection:
    """The reason of a disconnection stands inside the account."""
    with Required() as required:
        at = required.time(body.get("timestamp"), "timestamp")
    reason = optional_text(block(body, "account").get("reason"), REASON_LIMIT)
    return Connection(body["event"] == "account.connected", at, reason)


def _error(body: Body) -> dict[str, object] | None:
    error = block(body, "error")
    found = {name: clean_json(error.get(name), depth=0) for name in _ERROR_FIELDS}
    return {name: value for name, value in found.items() if value is not None} or None
