"""Accounts events: what the accounts service told us, and reprocessing it (spec 3). Operators only."""

from typing import Final, get_args
from uuid import UUID

from litestar import Response, get, post
from litestar.response import Redirect

from portaria.accounts.listing import EventFilter, Status, find_event, list_events
from portaria.accounts.reprocess import FailedFilter, count_failed, reprocess, reprocess_failed
from portaria.console.cursors import read_time_and_id, with_query, write_place
from portaria.console.deps import Console, ConsoleDep, Id, Place, Typed, VisitorDep
from portaria.console.forms import field, words_of
from portaria.console.outcomes import why
from portaria.console.page import go, page, part
from portaria.console.raw import SHOWN_AT_MOST, pieces
from portaria.console.visitor import AnyRequest, Visitor
from portaria.errors import Refusal

_AT_ONCE: Final = 50


@get("/accounts-events")
async def show_events(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep,
    status: Typed = "", event_type: Typed = "", event_id: Typed = "", after: Place = None,
) -> Response[str]:  # fmt: skip
    """The newest first, filtered."""
    visitor.must_be_operator()
    typed = {"status": status, "event_type": event_type.strip(), "event_id": event_id.strip()}
    wanted = EventFilter(
        status=status if status in get_args(Status) else None,  # type: ignore[arg-type]
        event_type=typed["event_type"] or None, event_id=typed["event_id"] or None,
    )  # fmt: skip
    async with console.tenant(visitor) as conn:
        rows = await list_events(conn, limit=_AT_ONCE + 1, filter=wanted, after=read_time_and_id(after))
    more = None
    if len(rows) > _AT_ONCE:
        rows = rows[:_AT_ONCE]
        place = write_place(rows[-1].received_at, rows[-1].id)
        more = with_query("/accounts-events", **typed, after=place)
    return page(
        request, visitor, "events.html", section="arrivals", events=rows, typed=typed, more=more,
        statuses=get_args(Status), filtered=any(typed.values()),
    )  # fmt: skip


@get("/accounts-events/{row:uuid}")
async def show_event(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, row: Id) -> Response[str]:
    """One event with its body, byte for byte."""
    visitor.must_be_operator()
    return await _one(request, console, visitor, row)


@post("/accounts-events/{row:uuid}/reprocess", status_code=200)
async def start_anew(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, row: Id
) -> Response[str] | Redirect:
    """`pending` again, and its job; a processed one only when that was asked for by name."""
    visitor.must_be_operator()
    force = field(await words_of(request), "force") == "on"
    try:
        async with console.db.connection() as conn:
            await reprocess(conn, row, actor=visitor.principal.user_id, force=force)
    except Refusal as refusal:
        if refusal.status == 404:
            raise
        return await _one(request, console, visitor, row, refusal)
    return go(f"/accounts-events/{row}", "reprocessing")


@get("/accounts-events/reprocess")
async def count_for_reprocess(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, event_type: Typed = ""
) -> Response[str]:
    """How many failed events there are to start anew: nothing is done yet."""
    visitor.must_be_operator()
    async with console.db.connection() as conn:
        count = await count_failed(conn, FailedFilter(event_type=event_type.strip() or None))
    return page(
        request, visitor, "events_reprocess.html", section="arrivals", count=count,
        event_type=event_type.strip(),
    )  # fmt: skip


@post("/accounts-events/reprocess", status_code=200)
async def reprocess_step(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    """The next hundred; the answer asks for the step after, or says that all is done."""
    visitor.must_be_operator()
    values = await words_of(request)
    total, taken = (int(t) if (t := field(values, n)).isdecimal() else 0 for n in ("total", "taken"))
    wanted = FailedFilter(event_type=field(values, "event_type") or None)
    done = True
    async with console.db.connection() as conn:
        async for started in reprocess_failed(conn, wanted, actor=visitor.principal.user_id):
            taken, done = taken + started, taken + started >= total
            break
    return part(
        visitor, "_reprocess_progress.html", event_type=field(values, "event_type"), total=total,
        taken=taken, finished=done,
    )  # fmt: skip


ROUTES = (show_events, count_for_reprocess, reprocess_step, show_event, start_anew)


async def _one(
    request: AnyRequest, console: Console, visitor: Visitor, row: UUID, refusal: Refusal | None = None
) -> Response[str]:
    async with console.tenant(visitor) as conn:
        event = await find_event(conn, row)
    if event is None:
        raise Refusal(404, "not_found", "There is no such event.")
    raw = (event.payload or "").encode()
    return page(
        request, visitor, "event.html", section="arrivals", event=event, body=pieces(raw),
        cut=len(raw) > SHOWN_AT_MOST, size=len(raw),
        problem=why(visitor.language, refusal) if refusal else None,
        code=refusal.status if refusal else 200,
    )  # fmt: skip
