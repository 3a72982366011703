"""The audit: who did what to what."""

import json
from datetime import timedelta
from typing import Final

from litestar import Response, get

from portaria.audit import AuditFilter, list_entries
from portaria.console.cursors import read_time_and_id, with_query, write_place
from portaria.console.deps import ConsoleDep, Place, VisitorDep
from portaria.console.forms import given_day
from portaria.console.page import page
from portaria.console.visitor import AnyRequest
from portaria.identity.members import list_members

_AT_ONCE: Final = 50
_FILTERS: Final = ("action", "actor", "resource_id", "since", "until")


@get("/audit")
async def show_audit(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, after: Place = None
) -> Response[str]:
    """The newest first, filtered."""
    visitor.must("manager")
    typed = {name: request.query_params.get(name, "").strip()[:255].replace("\x00", "") for name in _FILTERS}
    zone = visitor.principal.time_zone
    until = given_day(typed["until"], zone)
    wanted = AuditFilter(
        action=typed["action"] or None, actor=typed["actor"] or None,
        resource_id=typed["resource_id"] or None, since=given_day(typed["since"], zone),
        until=until + timedelta(days=1) if until else None,
    )  # fmt: skip
    async with console.tenant(visitor) as conn:
        rows = await list_entries(
            conn, visitor.organization_id, operator=visitor.principal.is_operator, limit=_AT_ONCE + 1,
            filter=wanted, after=read_time_and_id(after),
        )  # fmt: skip
        members = await list_members(conn, visitor.organization_id, limit=500, with_revoked=True)
    more = None
    if len(rows) > _AT_ONCE:
        rows = rows[:_AT_ONCE]
        more = with_query("/audit", **typed, after=write_place(rows[-1].created_at, rows[-1].id))
    return page(
        request, visitor, "audit.html", section="audit", entries=rows, typed=typed, more=more,
        by_id={str(m.user_id): m for m in members}, members=members, show_metadata=_readable,
        filtered=any(typed.values()),
    )  # fmt: skip


ROUTES = (show_audit,)


def _readable(metadata: dict[str, object]) -> str:
    return json.dumps(metadata, ensure_ascii=False, indent=1) if metadata else ""
