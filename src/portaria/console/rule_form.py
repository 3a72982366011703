"""A rule as its form shows it, and the form's words as a rule: one schema with the API (spec 4).

The form shows one assignment (nobody, one fixed member, or a rotation), tags, and one notice. A rule with
other actions keeps them as they are: the form then says so, and changes the rest alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from portaria.automations.rulebook import Rule
from portaria.console.visitor import AnyRequest

MODES: Final = ("none", "fixed", "rotation")


@dataclass(frozen=True, slots=True)
class InQueue:
    """A member's place in the queue as it is typed: the id is what the browser sent."""

    user_id: str
    paused: bool


@dataclass(frozen=True, slots=True)
class RuleForm:
    """What stands in the fields. `whole`: the form shows every action of the rule."""

    name: str = ""
    trigger: str = "lead.created"
    is_active: bool = True
    mode: str = "rotation"
    fixed: str = ""
    queue: list[InQueue] = field(default_factory=list)
    conditions: list[dict[str, str]] = field(default_factory=list)
    tags: str = ""
    notice_title: str = ""
    notice_body: str = ""
    whole: bool = True

    def fields(self) -> dict[str, Any]:
        """The rule's columns in JSON types, for its one schema to judge; actions only if all are here."""
        columns: dict[str, Any] = {
            "name": self.name, "trigger_event": self.trigger, "is_active": self.is_active,
            "conditions": self.conditions,
        }  # fmt: skip
        if self.whole:
            columns["actions"] = self._actions()
        return columns

    def _actions(self) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        if self.mode == "fixed":
            made.append({"type": "assign_owner", "config": {"user_id": self.fixed}})
        elif self.mode == "rotation":
            fila = [{"user_id": entry.user_id, "pausado": entry.paused} for entry in self.queue]
            made.append({"type": "assign_owner", "config": {"modo": "rodizio", "fila": fila}})
        tags = [tag.strip() for tag in self.tags.split(",") if tag.strip()]
        made += [{"type": "add_tag", "config": {"tag": tag}} for tag in dict.fromkeys(tags)]
        if self.notice_title:
            config = {"title": self.notice_title, "body": self.notice_body}
            made.append({"type": "notify", "config": config})
        return made


def form_of(rule: Rule) -> RuleForm:
    """The stored rule in the form's fields."""
    mode, fixed, queue, tags, notice, whole = "none", "", [], [], None, True
    for action in rule.actions:
        kind, config = _kind(action), _config(action)
        if kind == "assign_owner" and mode == "none" and config.get("modo") == "rodizio":
            mode, queue = "rotation", _queue(config.get("fila"))
        elif kind == "assign_owner" and mode == "none" and "user_id" in config:
            mode, fixed = "fixed", str(config["user_id"])
        elif kind == "add_tag" and "," not in str(config.get("tag", ",")):
            tags.append(str(config["tag"]))
        elif kind == "notify" and notice is None:
            notice = config
        else:
            whole = False
    return RuleForm(
        rule.name, rule.trigger_event, rule.is_active, mode, fixed, queue,
        [{k: str(v) for k, v in c.items()} for c in rule.conditions if isinstance(c, Mapping)],
        ", ".join(tags), str((notice or {}).get("title", "")), str((notice or {}).get("body", "")), whole,
    )  # fmt: skip


async def form_from(request: AnyRequest, *, whole: bool) -> RuleForm:
    """What the browser sent, as it is: judged by the rule's schema, not here."""
    sent = await request.form()

    def one(name: str) -> str:
        value = sent.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def many(name: str) -> list[str]:
        return [value for value in sent.getall(name, []) if isinstance(value, str)]

    paused = set(many("paused"))
    rows = zip(many("condition_field"), many("condition_op"), many("condition_value"), strict=False)
    return RuleForm(
        one("name"), one("trigger"), one("is_active") == "on",
        mode if (mode := one("mode")) in MODES else "none", one("fixed"),
        [InQueue(user_id, user_id in paused) for user_id in many("queue")],
        [{"field": f, "op": o, "value": v.strip()} for f, o, v in rows if v.strip()],
        one("tags"), one("notice_title"), one("notice_body"), whole,
    )  # fmt: skip


def _queue(stored: object) -> list[InQueue]:
    entries: Sequence[Any] = stored if isinstance(stored, list) else []
    return [
        InQueue(str(entry["user_id"]), entry.get("pausado") is True)
        for entry in entries
        if isinstance(entry, Mapping) and "user_id" in entry
    ]


def _kind(action: object) -> str:
    return str(action.get("type")) if isinstance(action, Mapping) else ""


def _config(action: object) -> Mapping[str, Any]:
    config = action.get("config") if isinstance(action, Mapping) else None
    return config if isinstance(config, Mapping) else {}
