"""The audit, for managers."""

from litestar.params import FromQuery

from portaria.api.access import ApiRequest
from portaria.api.deps import Deps
from portaria.api.paging import TIME_AND_ID, Cursor, Limit, Moment, Page, Word, page, read_cursor
from portaria.api.reading import tenant
from portaria.api.route import get
from portaria.audit import AuditEntry, AuditFilter, list_entries
from portaria.identity.principal import Role


@get("/audit", role=Role.manager, tags=["audit"])
async def list_(
    request: ApiRequest,
    deps: Deps,
    limit: Limit = 50,
    cursor: Cursor = None,
    action: Word = None,
    actor: Word = None,
    resource_kind: Word = None,
    resource_id: Word = None,
    since: FromQuery[Moment | None] = None,
    until: FromQuery[Moment | None] = None,
) -> Page[AuditEntry]:
    """Who did what to what, the newest first; for operators also what belongs to no organization."""
    who, after = request.user, read_cursor(cursor, TIME_AND_ID)
    wanted = AuditFilter(action, actor, resource_kind, resource_id, since, until)
    async with tenant(deps, who) as conn:
        rows = await list_entries(
            conn, who.organization_id, operator=who.is_operator, limit=limit + 1, filter=wanted, after=after
        )
    return page(rows, limit, lambda e: (e.created_at, e.id))


ROUTES = [list_]
