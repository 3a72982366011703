"""The Central de avisos over HTTP."""

from typing import Annotated, Literal
from uuid import UUID

from litestar.params import QueryParameter

from portaria.api.access import ApiRequest
from portaria.api.deps import ApiDeps, Deps
from portaria.api.paging import TIME_AND_ID, Cursor, Id, Limit, Page, Word, page, read_cursor
from portaria.api.reading import tenant
from portaria.api.route import get, post, problems
from portaria.audit import record
from portaria.errors import Refusal
from portaria.identity.principal import Principal, Role
from portaria.notices import (
    Notice,
    NoticeFilter,
    acknowledge_notice,
    find_notice,
    list_notices,
    resolve_notice,
)

_Statuses = Annotated[
    list[Literal["open", "ack", "resolved"]] | None,
    QueryParameter(name="status", description="Only these; given more than once for several."),
]


@get("/notices", role=Role.viewer, tags=["notices"])
async def list_(
    request: ApiRequest,
    deps: Deps,
    limit: Limit = 50,
    cursor: Cursor = None,
    statuses: _Statuses = None,
    kind: Word = None,
) -> Page[Notice]:
    """The notices, the latest first; for operators also those of no organization."""
    who, after = request.user, read_cursor(cursor, TIME_AND_ID)
    async with tenant(deps, who) as conn:
        rows = await list_notices(
            conn, who.organization_id, operator=who.is_operator, limit=limit + 1,
            filter=NoticeFilter(statuses, kind), after=after,
        )  # fmt: skip
    return page(rows, limit, lambda n: (n.last_at, n.id))


@get("/notices/{notice_id:uuid}", role=Role.viewer, tags=["notices"], responses=problems(404))
async def show(notice_id: Id, request: ApiRequest, deps: Deps) -> Notice:
    """One notice."""
    async with tenant(deps, request.user) as conn:
        return _found(await find_notice(conn, notice_id))


@post("/notices/{notice_id:uuid}/ack", role=Role.agent, tags=["notices"], responses=problems(404))
async def acknowledge(notice_id: Id, request: ApiRequest, deps: Deps) -> Notice:
    """Somebody has seen it; one already resolved stays so."""
    return await _act(deps, request.user, notice_id, "ack")


@post("/notices/{notice_id:uuid}/resolve", role=Role.agent, tags=["notices"], responses=problems(404))
async def resolve(notice_id: Id, request: ApiRequest, deps: Deps) -> Notice:
    """It is dealt with; from two tabs at once, both succeed."""
    return await _act(deps, request.user, notice_id, "resolve")


async def _act(deps: ApiDeps, who: Principal, notice_id: UUID, act: Literal["ack", "resolve"]) -> Notice:
    verb, action = {
        "ack": (acknowledge_notice, "notice.acknowledged"),
        "resolve": (resolve_notice, "notice.resolved"),
    }[act]
    async with tenant(deps, who) as conn:
        changed = await verb(conn, notice_id)
        notice = _found(await find_notice(conn, notice_id))
        if changed:
            await record(
                conn, organization_id=notice.organization_id, action=action, actor=who.user_id,
                resource_kind="notice", resource_id=notice_id,
            )  # fmt: skip
    return notice


def _found(notice: Notice | None) -> Notice:
    if notice is None:
        raise Refusal(404, "notice_not_found", "There is no such notice.")
    return notice


ROUTES = [list_, show, acknowledge, resolve]
