"""Arrivals: everything that came to the channels, as it came, and its replay by hand (spec 2.5, 5)."""

import time
from datetime import timedelta
from typing import Any, Final, get_args
from uuid import UUID

from litestar import Response, get, post
from litestar.response import Redirect

from portaria.console.cursors import with_query
from portaria.console.deps import Console, ConsoleDep, Id, Place, Typed, VisitorDep
from portaria.console.forms import field, given_day, given_id, words_of
from portaria.console.outcomes import why
from portaria.console.page import page, part
from portaria.console.raw import SHOWN_AT_MOST, pieces
from portaria.console.visitor import AnyRequest, Visitor
from portaria.errors import Refusal
from portaria.intake.arrivals import ArrivalInFull, show_arrival
from portaria.intake.channels import list_channels
from portaria.intake.overview import Browse, browse_arrivals, count_replayable, replayable_after
from portaria.intake.overview.browse import Status

_AT_ONCE: Final = 50
_CHANNELS: Final = 200
_REPLAYABLE: Final = ("dead", "error", "received")
_STEP_ROWS, _STEP_SECONDS = 20, 1.0
_FILTERS: Final = ("status", "event_type", "external_id", "channel", "text", "since", "until", "nobodys")


@get("/arrivals")
async def show_arrivals(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, before: Place = None
) -> Response[str]:
    """The newest first, filtered; a rare thing may take more than one page to find."""
    visitor.must("manager")
    typed = {name: request.query_params.get(name, "").replace("\x00", "").strip()[:500] for name in _FILTERS}
    wanted = _wanted(typed, visitor)
    async with console.tenant(visitor) as conn:
        found = await browse_arrivals(
            conn, visitor.organization_id, wanted, limit=_AT_ONCE, before=given_id(before)
        )
        channels = await list_channels(conn, visitor.organization_id, limit=_CHANNELS, with_archived=True)
    more = with_query("/arrivals", **typed, before=found.before) if found.before else None
    return page(
        request, visitor, "arrivals.html", section="arrivals", found=found, typed=typed, more=more,
        channels=channels, statuses=get_args(Status), filtered=any(typed.values()), first=before is None,
    )  # fmt: skip


@get("/arrivals/{row:uuid}")
async def show_one(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, row: Id) -> Response[str]:
    """One arrival: its raw body byte for byte, its headers, what became of it."""
    visitor.must("manager")
    return await _one(request, console, visitor, row)


@get("/arrivals/{row:uuid}/body")
async def download_body(console: ConsoleDep, visitor: VisitorDep, row: Id) -> Response[bytes]:
    """The raw body as a file: never shown by the browser as what it may pretend to be."""
    visitor.must("manager")
    arrival = await _find(console, visitor, row)
    headers = {
        "Content-Disposition": f'attachment; filename="{row}.bin"',
        "Content-Security-Policy": "sandbox",
    }
    return Response(arrival.raw_body, media_type="application/octet-stream", headers=headers)


@post("/arrivals/{row:uuid}/replay", status_code=200)
async def replay_one(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, row: Id) -> Response[str]:
    """Tries it now, and shows how that ended where it was asked."""
    visitor.must("manager")
    arrival = await _find(console, visitor, row)
    outcome, refusal = None, None
    try:
        outcome = await console.replay(row, str(visitor.principal.user_id), arrival.organization_id)
    except Refusal as error:
        refusal = error
    return await _one(request, console, visitor, row, outcome=outcome, refusal=refusal)


@get("/arrivals/replay")
async def count_for_replay(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep,
    status: Typed = "dead", since: Typed = "", until: Typed = "",
) -> Response[str]:  # fmt: skip
    """How many a replay by filter would take: nothing is done yet."""
    visitor.must("manager")
    status = status if status in _REPLAYABLE else "dead"
    typed = {"status": status, "since": since, "until": until}
    wanted = _wanted({**typed, "status": ""}, visitor)
    async with console.tenant(visitor) as conn:
        count = await count_replayable(conn, visitor.organization_id, status, wanted)
    return page(
        request, visitor, "arrivals_replay.html", section="arrivals", typed=typed, count=count,
        statuses=_REPLAYABLE,
    )  # fmt: skip


@post("/arrivals/replay", status_code=200)
async def replay_step(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep
) -> Response[str] | Redirect:
    """The next few of the filter, for a second at most; the answer asks for the step after, or says that
    all is done. Leaving the page stops it: what was replayed is replayed, the rest is as it was.
    """
    visitor.must("manager")
    values = await words_of(request)
    status = field(values, "status")
    if status not in _REPLAYABLE:
        raise Refusal(422, "invalid_request", "Only these can be replayed by filter.")
    counts = {name: _count(values, name) for name in ("total", "taken", "refused", "failed")}
    wanted = _wanted({**values, "status": ""}, visitor)
    async with console.tenant(visitor) as conn:
        rows = await replayable_after(
            conn, visitor.organization_id, status, wanted, after=given_id(field(values, "after")),
            limit=_STEP_ROWS,
        )  # fmt: skip
    ends, last = time.monotonic() + _STEP_SECONDS, given_id(field(values, "after"))
    for row in rows:
        last = row
        counts[await _replayed(console, visitor, row)] += 1
        if time.monotonic() > ends:
            break
    done = not rows or sum(counts.values()) - counts["total"] >= counts["total"]
    typed = {"status": status, "since": field(values, "since"), "until": field(values, "until")}
    return part(visitor, "_replay_progress.html", typed=typed, counts=counts, after=last, finished=done)


ROUTES = (show_arrivals, count_for_replay, replay_step, show_one, download_body, replay_one)


async def _replayed(console: Console, visitor: Visitor, row: UUID) -> str:
    try:
        outcome = await console.replay(row, str(visitor.principal.user_id), visitor.organization_id)
    except Refusal:
        return "refused"
    return "failed" if str(outcome.outcome) == "failed" else "taken"


async def _find(console: Console, visitor: Visitor, row: UUID) -> ArrivalInFull:
    async with console.tenant(visitor) as conn:
        arrival = await show_arrival(conn, row)
    if arrival is None:
        raise Refusal(404, "not_found", "There is no such arrival.")
    return arrival


async def _one(
    request: AnyRequest, console: Console, visitor: Visitor, row: UUID, **replay: Any
) -> Response[str]:
    arrival = await _find(console, visitor, row)
    async with console.tenant(visitor) as conn:
        channels = await list_channels(conn, visitor.organization_id, limit=_CHANNELS, with_archived=True)
    refusal = replay.get("refusal")
    standing = "pending" if arrival.status == "received" and arrival.valid_signature else arrival.status
    return page(
        request, visitor, "arrival.html", section="arrivals", arrival=arrival, standing=standing,
        body=pieces(arrival.raw_body), cut=len(arrival.raw_body) > SHOWN_AT_MOST,
        channel=next((c for c in channels if c.id == arrival.channel_session_id), None),
        outcome=replay.get("outcome"), problem=why(visitor.language, refusal) if refusal else None,
        code=refusal.status if refusal else 200,
    )  # fmt: skip


def _wanted(typed: dict[str, str], visitor: Visitor) -> Browse:
    """The filter that was typed; a day is one of the organization's own calendar."""
    zone, status = visitor.principal.time_zone, typed.get("status", "")
    until = given_day(typed.get("until"), zone)
    return Browse(
        status=status if status in get_args(Status) else None,  # type: ignore[arg-type]
        event_type=typed.get("event_type") or None, external_id=typed.get("external_id") or None,
        channel_session_id=given_id(typed.get("channel")), text=typed.get("text") or None,
        since=given_day(typed.get("since"), zone), until=until + timedelta(days=1) if until else None,
        nobodys=visitor.principal.is_operator and typed.get("nobodys") == "on",
    )  # fmt: skip


def _count(values: dict[str, str], name: str) -> int:
    text = field(values, name)
    return int(text) if text.isdecimal() and len(text) < 10 else 0
