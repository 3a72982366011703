"""The Central de avisos: what people must be told, and what became of it (spec 5)."""

from typing import Final
from uuid import UUID

from litestar import Response, get, post
from litestar.response import Redirect

from portaria.console.cursors import read_time_and_id, with_query, write_place
from portaria.console.deps import Console, ConsoleDep, Id, Place, Typed, VisitorDep
from portaria.console.page import go, page, part
from portaria.console.visitor import AnyRequest, Visitor
from portaria.errors import Refusal
from portaria.notices import (
    Notice,
    NoticeFilter,
    acknowledge_notice,
    find_notice,
    list_notices,
    resolve_notice,
)

_AT_ONCE: Final = 30
_SHOWN: Final = {
    "live": NoticeFilter(statuses=("open", "ack")),
    "resolved": NoticeFilter(statuses=("resolved",)),
}


@get("/notices")
async def show_notices(
    request: AnyRequest,
    console: ConsoleDep,
    visitor: VisitorDep,
    show: Typed = "live",
    after: Place = None,
) -> Response[str]:
    """Live ones first of all; the resolved ones one tab away."""
    show = show if show in _SHOWN else "live"
    async with console.tenant(visitor) as conn:
        rows = await list_notices(
            conn, visitor.organization_id, operator=visitor.principal.is_operator, limit=_AT_ONCE + 1,
            filter=_SHOWN[show], after=read_time_and_id(after),
        )  # fmt: skip
    notices, more = rows[:_AT_ONCE], None
    if len(rows) > _AT_ONCE:
        last = notices[-1]
        more = with_query("/notices", show=show, after=write_place(last.last_at, last.id))
    return page(request, visitor, "notices.html", section="notices", notices=notices, show=show, more=more)


@post("/notices/{notice_id:uuid}/acknowledge", status_code=200)
async def acknowledge(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, notice_id: Id
) -> Response[str] | Redirect:
    """Somebody has seen it."""
    visitor.must("agent")
    async with console.tenant(visitor) as conn:
        await acknowledge_notice(conn, notice_id)
    return await _changed(request, console, visitor, notice_id)


@post("/notices/{notice_id:uuid}/resolve", status_code=200)
async def resolve(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, notice_id: Id
) -> Response[str] | Redirect:
    """It is dealt with. In two tabs at once, both are told so."""
    visitor.must("agent")
    async with console.tenant(visitor) as conn:
        await resolve_notice(conn, notice_id)
    return await _changed(request, console, visitor, notice_id)


ROUTES = (show_notices, acknowledge, resolve)


async def _changed(
    request: AnyRequest, console: Console, visitor: Visitor, notice_id: UUID
) -> Response[str] | Redirect:
    """The notice as it stands now: in place where a script asked, else on its page."""
    async with console.tenant(visitor) as conn:
        notice: Notice | None = await find_notice(conn, notice_id)
    if notice is None:
        raise Refusal(404, "not_found", "There is no such notice.")
    if request.headers.get("hx-request"):
        return part(visitor, "_notice.html", notice=notice)
    return go("/notices", "notice-resolved" if notice.status == "resolved" else None)
