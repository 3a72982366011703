"""The archive of what arrived at the channels, and its replay by hand."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from litestar.params import FromQuery

from portaria.api.access import ApiRequest
from portaria.api.bodies import ShownBody, show_body
from portaria.api.deps import Deps
from portaria.api.paging import Cursor, Id, Limit, Moment, Page, Word, page, read_cursor
from portaria.api.reading import tenant
from portaria.api.route import get, post, problems
from portaria.errors import Refusal
from portaria.identity.principal import Role
from portaria.intake.arrivals import (
    ArchivedArrival,
    ArrivalFilter,
    ArrivalInFull,
    list_arrivals,
    show_arrival,
)


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """An arrival in full. Headers as archived, without those that hold credentials."""

    id: UUID
    organization_id: UUID | None
    channel_session_id: UUID | None
    provider: str
    status: str
    valid_signature: bool | None
    attempts: int
    error_message: str | None
    event_type: str | None
    external_id: str | None
    received_at: datetime
    processed_at: datetime | None
    last_attempt_at: datetime | None
    headers: dict[str, str]
    body: ShownBody


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """How the replay ended (`ingested`, `duplicate`, `failed`, ...), and the row as it stands now."""

    outcome: str
    error: str | None
    event: WebhookEvent


@get("/webhook-events", role=Role.manager, tags=["arrivals"])
async def list_(
    request: ApiRequest,
    deps: Deps,
    limit: Limit = 50,
    cursor: Cursor = None,
    status: FromQuery[Literal["received", "processed", "error", "dead"] | None] = None,
    event_type: Word = None,
    external_id: Word = None,
    since: FromQuery[Moment | None] = None,
    until: FromQuery[Moment | None] = None,
) -> Page[ArchivedArrival]:
    """What arrived, the newest first; for operators also what belongs to no organization."""
    who, before = request.user, read_cursor(cursor, tuple[UUID])
    wanted = ArrivalFilter(status, event_type, external_id, since, until, before[0] if before else None)
    async with tenant(deps, who) as conn:
        rows = await list_arrivals(
            conn, who.organization_id, limit=limit + 1, operator=who.is_operator, filter=wanted
        )
    return page(rows, limit, lambda a: (a.id,))


@get("/webhook-events/{event_id:uuid}", role=Role.manager, tags=["arrivals"], responses=problems(404))
async def show(event_id: Id, request: ApiRequest, deps: Deps) -> WebhookEvent:
    """One arrival with its headers and its raw body."""
    async with tenant(deps, request.user) as conn:
        return _in_full(await show_arrival(conn, event_id))


@post(
    "/webhook-events/{event_id:uuid}/replay",
    role=Role.manager, tags=["arrivals"], responses=problems(404, 409),
)  # fmt: skip
async def replay(event_id: Id, request: ApiRequest, deps: Deps) -> ReplayOutcome:
    """Ingests an accepted message again, now and whatever its age; no effect is repeated."""
    who = request.user
    async with tenant(deps, who) as conn:
        event = _in_full(await show_arrival(conn, event_id))
    replayed = await deps.replay(event_id, str(who.user_id), event.organization_id)
    async with tenant(deps, who) as conn:
        event = _in_full(await show_arrival(conn, event_id))
    return ReplayOutcome(str(replayed.outcome), replayed.error, event)


def _in_full(arrival: ArrivalInFull | None) -> WebhookEvent:
    if arrival is None:
        raise Refusal(404, "webhook_event_not_found", "There is no such arrival.")
    return WebhookEvent(
        arrival.id, arrival.organization_id, arrival.channel_session_id, arrival.provider, arrival.status,
        arrival.valid_signature, arrival.attempts, arrival.error_message, arrival.event_type,
        arrival.external_id, arrival.received_at, arrival.processed_at, arrival.last_attempt_at,
        arrival.headers, show_body(arrival.raw_body),
    )  # fmt: skip


ROUTES = [list_, show, replay]
