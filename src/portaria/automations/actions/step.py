"""One action of one run, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict
from uuid import UUID


class Result(TypedDict):
    """One entry of a run's `actions_result[]`."""

    type: str
    status: Literal["assigned", "done", "skipped", "failed"]
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One action of one run. `action` is as stored: it may have been edited by hand."""

    organization_id: UUID
    event_id: UUID
    run_id: UUID
    rule_id: UUID
    lead_id: UUID | None
    index: int
    action: Any

    @property
    def type(self) -> str:
        return str(self.action.get("type")) if isinstance(self.action, Mapping) else "unknown"

    @property
    def config(self) -> Mapping[str, Any]:
        config = self.action.get("config") if isinstance(self.action, Mapping) else None
        return config if isinstance(config, Mapping) else {}


def done(step: Step) -> Result:
    return {"type": step.type, "status": "done", "detail": {}}


def skipped(step: Step, reason: str) -> Result:
    return {"type": step.type, "status": "skipped", "detail": {"reason": reason}}


def failed(step: Step, reason: str) -> Result:
    return {"type": step.type, "status": "failed", "detail": {"reason": reason}}
