"""The overview: what needs somebody now, and how the front desk is doing, in figures and plots."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from litestar import Response, get
from litestar.params import FromQuery

from portaria.automations.rotation import turns_per_member
from portaria.automations.rulebook import list_rules
from portaria.automations.rules import rotation_of
from portaria.console.deps import ConsoleDep, VisitorDep
from portaria.console.page import page
from portaria.console.visitor import AnyRequest
from portaria.crm.board import count_unowned
from portaria.intake.overview import MinuteFigures, read_figures, read_minutes

_STEPS: Final = {60: 1, 360: 5, 1440: 15}
"""Minutes that are shown, and how many of them one bar stands for."""

_OUTCOMES: Final = ("accepted", "processed", "ignored", "refused", "unavailable", "failed")
_TURNS_OF: Final = timedelta(days=30)
_RULES_SHOWN: Final = 3


@get("/")
async def show_overview(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, minutes: FromQuery[int] = 60
) -> Response[str]:
    """The last hour, six hours or day."""
    span = minutes if minutes in _STEPS else 60
    organization_id = visitor.organization_id
    async with console.tenant(visitor) as conn:
        figures = await read_figures(conn, organization_id)
        seen = await read_minutes(conn, organization_id, minutes=span, operator=visitor.principal.is_operator)
        unowned = await count_unowned(conn, visitor.principal)
        rules = [r for r in await list_rules(conn, organization_id) if rotation_of(r.actions) is not None]
        since = datetime.now(UTC) - _TURNS_OF
        turns = [
            (rule, await turns_per_member(conn, organization_id, rule.id, since))
            for rule in rules[:_RULES_SHOWN]
        ]
    return page(
        request, visitor, "overview.html", section="overview", figures=figures, unowned=unowned,
        span=span, spans=tuple(_STEPS), turns=turns, plots=plots(seen, span), answered=_summary(seen),
    )  # fmt: skip


ROUTES = (show_overview,)


def plots(seen: list[MinuteFigures], span: int) -> dict[str, Any]:
    """The series as the plots take them: seconds since the epoch, a value for every step of time."""
    step = _STEPS[span]
    last = int(datetime.now(UTC).timestamp()) // 60
    steps = range((last - span) // step * step, last + 1, step)
    by_step = {int(figures.minute.timestamp()) // 60: figures for figures in seen}
    empty = MinuteFigures(datetime.now(UTC))
    rows = [by_step.get(at, empty) for at in steps]
    shown = [o for o in _OUTCOMES if any(row.answers[o] for row in rows)] or ["accepted"]
    return {
        "times": [at * 60 for at in steps],
        "outcomes": {o: [round(row.answers[o] / step, 2) for row in rows] for o in shown},
        "p50": [_milliseconds(row.p50) for row in rows],
        "p99": [_milliseconds(row.p99) for row in rows],
    }


def _summary(seen: list[MinuteFigures]) -> MinuteFigures | None:
    """All of it as if it were one minute."""
    if not seen:
        return None
    whole = MinuteFigures(seen[0].minute)
    for figures in seen:
        whole.answers.update(figures.answers)
        whole.buckets.update(figures.buckets)
    return whole


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)
