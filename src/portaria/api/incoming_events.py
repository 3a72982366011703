"""Accounts events, for operators of the installation alone (spec 3)."""

from typing import Literal

import msgspec
from litestar.params import FromQuery, JSONBody

from portaria.accounts.listing import EventFilter, IncomingEvent, find_event, list_events
from portaria.accounts.reprocess import reprocess
from portaria.api.access import OPERATOR, ApiRequest
from portaria.api.deps import Deps
from portaria.api.paging import TIME_AND_ID, Cursor, Id, Limit, Moment, Page, Word, page, read_cursor
from portaria.api.reading import tenant
from portaria.api.route import get, post, problems
from portaria.errors import Refusal


class Reprocess(msgspec.Struct, forbid_unknown_fields=True):
    """`force`: also an event that took effect already."""

    force: bool = False


@get("/incoming-events", role=OPERATOR, tags=["arrivals"])
async def list_(
    request: ApiRequest,
    deps: Deps,
    limit: Limit = 50,
    cursor: Cursor = None,
    status: FromQuery[Literal["pending", "processed", "failed"] | None] = None,
    event_type: Word = None,
    event_id: Word = None,
    since: FromQuery[Moment | None] = None,
    until: FromQuery[Moment | None] = None,
) -> Page[IncomingEvent]:
    """The events received from accounts, the newest first, without their payloads."""
    after = read_cursor(cursor, TIME_AND_ID)
    wanted = EventFilter(status, event_type, event_id, since, until)
    async with tenant(deps, request.user) as conn:
        rows = await list_events(conn, limit=limit + 1, filter=wanted, after=after)
    return page(rows, limit, lambda e: (e.received_at, e.id))


@get("/incoming-events/{row_id:uuid}", role=OPERATOR, tags=["arrivals"], responses=problems(404))
async def show(row_id: Id, request: ApiRequest, deps: Deps) -> IncomingEvent:
    """One event with its payload exactly as it came."""
    async with tenant(deps, request.user) as conn:
        return _found(await find_event(conn, row_id))


@post(
    "/incoming-events/{row_id:uuid}/reprocess",
    role=OPERATOR, tags=["arrivals"], responses=problems(404, 409),
)  # fmt: skip
async def start_anew(
    row_id: Id, request: ApiRequest, deps: Deps, data: JSONBody[Reprocess | None] = None
) -> IncomingEvent:
    """Starts an event anew: pending, no attempts spent, and its job; audited. 409 while it is pending."""
    async with deps.db.transaction() as conn:
        await reprocess(
            conn, row_id, actor=request.user.user_id, force=data.force if data is not None else False
        )
        return _found(await find_event(conn, row_id))


def _found(event: IncomingEvent | None) -> IncomingEvent:
    if event is None:
        raise Refusal(404, "incoming_event_not_found", "There is no such event.")
    return event


ROUTES = [list_, show, start_anew]
