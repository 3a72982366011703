"""What a rule may ask before it acts. Whether it holds is decided in the database
(functions/fn_conditions_hold.sql), for the trigger and for the run alike: there is one evaluation.
"""

from typing import Annotated, Final, Literal, get_args

from msgspec import Meta, Struct

TriggerEvent = Literal["lead.created", "lead.stage_changed", "message.received"]

Field = Literal[
    "lead.title", "lead.source", "lead.stage", "lead.status", "lead.tags", "lead.owner_user_id",
    "contact.name", "contact.phone_number", "contact.email",
    "message.text", "message.type",
    "event.from", "event.to",
]  # fmt: skip

FIELDS: Final[tuple[str, ...]] = get_args(Field)

_ONLY_ON: Final = {"message": "message.received", "event": "lead.stage_changed"}

Text = Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[^\x00]+$")]


class Condition(Struct, forbid_unknown_fields=True, frozen=True):
    """`eq`, `neq`: the whole value; `contains`: a part of a text or a tag, whatever the case."""

    field: Field
    op: Literal["eq", "neq", "contains"]
    value: Text

    def __post_init__(self) -> None:
        if self.field == "lead.tags" and self.op != "contains":
            raise ValueError("lead.tags knows only `contains`")


def fits(condition: Condition, trigger_event: TriggerEvent) -> bool:
    """Whether an event of this type has the condition's field at all."""
    return _ONLY_ON.get(condition.field.partition(".")[0], trigger_event) == trigger_event
