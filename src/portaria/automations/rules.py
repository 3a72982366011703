"""The one schema of a rule: for the form, for `POST` and `PATCH`, and for what is stored (spec 4).

Unknown keys are refused everywhere. What only the database knows, that whoever is added is a member, is
asked by `rulebook`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from portaria.automations.conditions import Condition, TriggerEvent, fits
from portaria.errors import Refusal

Name = Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
NoticeTitle = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
Tag = Annotated[str, Meta(min_length=1, max_length=50, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]

MAX_QUEUE: Final = 500


class QueueEntry(Struct, forbid_unknown_fields=True, frozen=True):
    """A member of the queue, who may be paused."""

    user_id: UUID
    pausado: bool = False


class AssignConfig(Struct, forbid_unknown_fields=True, frozen=True):
    """Either one fixed member, `{user_id}`, or a rotation, `{modo: "rodizio", fila}`."""

    user_id: UUID | UnsetType = UNSET
    modo: Literal["rodizio"] | UnsetType = UNSET
    fila: Annotated[list[QueueEntry], Meta(max_length=MAX_QUEUE)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        fixed, rotation = self.user_id is not UNSET, self.modo is not UNSET
        if fixed == rotation or rotation != (self.fila is not UNSET):
            raise ValueError("assign_owner takes either `user_id`, or `modo` and `fila`")
        if self.fila is not UNSET and len({entry.user_id for entry in self.fila}) != len(self.fila):
            raise ValueError("nobody may stand in the queue twice")


class AssignOwner(Struct, tag_field="type", tag="assign_owner", forbid_unknown_fields=True, frozen=True):
    """The lead gets an owner."""

    config: AssignConfig


class TagConfig(Struct, forbid_unknown_fields=True, frozen=True):
    tag: Tag


class AddTag(Struct, tag_field="type", tag="add_tag", forbid_unknown_fields=True, frozen=True):
    """The lead gets a tag, unless it has it."""

    config: TagConfig


class NotifyConfig(Struct, forbid_unknown_fields=True, frozen=True):
    title: NoticeTitle
    body: Annotated[str, Meta(max_length=1000, pattern=r"^[^\x00]*$")] = ""


class Notify(Struct, tag_field="type", tag="notify", forbid_unknown_fields=True, frozen=True):
    """A notice opens in the Central de avisos, or counts one more."""

    config: NotifyConfig


Action = AssignOwner | AddTag | Notify
Actions = Annotated[list[Action], Meta(min_length=1, max_length=20)]
Conditions = Annotated[list[Condition], Meta(max_length=20)]


class RuleDraft(Struct, forbid_unknown_fields=True, frozen=True):
    """A whole rule, as it is to be stored."""

    name: Name
    trigger_event: TriggerEvent
    actions: Actions
    conditions: Conditions = []
    is_active: bool = True

    def __post_init__(self) -> None:
        if sum(isinstance(a, AssignOwner) and a.config.modo is not UNSET for a in self.actions) > 1:
            raise ValueError("a rule has at most one rotation")
        for condition in self.conditions:
            if not fits(condition, self.trigger_event):
                raise ValueError(f"{self.trigger_event} has no `{condition.field}`")


class RulePatch(Struct, forbid_unknown_fields=True, frozen=True):
    """What is to change; what is left out stays."""

    name: Name | UnsetType = UNSET
    trigger_event: TriggerEvent | UnsetType = UNSET
    actions: Actions | UnsetType = UNSET
    conditions: Conditions | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET

    def given(self) -> dict[str, Any]:
        """The given fields as they are stored, in plain JSON types."""
        stored: dict[str, Any] = msgspec.to_builtins(self)
        return stored


def draft_from(value: object) -> RuleDraft:
    """A whole rule from JSON types, a form's too. Raises a 422 `Refusal` that names the place."""
    try:
        return msgspec.convert(value, RuleDraft)
    except msgspec.ValidationError as error:
        raise Refusal(422, "invalid_rule", str(error)) from None


def patch_from(value: object) -> RulePatch:
    """A change from JSON types. Raises a 422 `Refusal` that names the place."""
    try:
        return msgspec.convert(value, RulePatch)
    except msgspec.ValidationError as error:
        raise Refusal(422, "invalid_rule", str(error)) from None


def rotation_of(actions: Iterable[Any]) -> list[Any] | None:
    """The stored queue of the stored actions' rotation, if they have one."""
    for action in actions:
        config = action.get("config") if isinstance(action, Mapping) else None
        if isinstance(config, Mapping) and config.get("modo") == "rodizio":
            queue = config.get("fila")
            return queue if isinstance(queue, list) else []
    return None


def members_named(actions: Sequence[Any]) -> set[UUID]:
    """Every member that stored actions name, fixed or in the queue; what is no id is passed over."""
    return {UUID(text) for text in _names(actions) if _is_uuid(text)}


def _names(actions: Sequence[Any]) -> Iterator[str]:
    for action in actions:
        config = action.get("config") if isinstance(action, Mapping) else None
        if isinstance(config, Mapping):
            queue = config.get("fila")
            for entry in [config, *(queue if isinstance(queue, list) else [])]:
                if isinstance(entry, Mapping) and "user_id" in entry:
                    yield str(entry["user_id"])


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
