"""Automation rules: one schema for form and API, a version as `ETag`, who is next and why (spec 4)."""

from typing import Annotated

from litestar import Response
from litestar.params import HeaderParameter, JSONBody

from portaria.api.access import ApiRequest
from portaria.api.deps import Deps
from portaria.api.paging import TIME_AND_ID, Cursor, Id, Limit, Page, page, read_cursor
from portaria.api.reading import tenant
from portaria.api.route import delete, get, patch, post, problems
from portaria.automations.etag import etag, versions_wanted
from portaria.automations.rotation import Preview, preview
from portaria.automations.rulebook import (
    Rule,
    create_rule,
    delete_rule,
    find_rule,
    list_rules,
    update_rule,
)
from portaria.automations.rules import RuleDraft, RulePatch
from portaria.automations.runs import Run, list_runs
from portaria.identity.principal import Role

_IfMatch = Annotated[
    str | None,
    HeaderParameter(name="If-Match", description="The `ETag` one read; 412 if the rule changed since."),
]
_RULE = "/automation-rules/{rule_id:uuid}"


@get("/automation-rules", role=Role.viewer, tags=["automations"])
async def list_(request: ApiRequest, deps: Deps) -> Page[Rule]:
    """Every rule, in the order in which they run."""
    async with tenant(deps, request.user) as conn:
        return Page(await list_rules(conn, request.user.organization_id), None)


@post("/automation-rules", role=Role.manager, status_code=201, tags=["automations"])
async def create(data: JSONBody[RuleDraft], request: ApiRequest, deps: Deps) -> Response[Rule]:
    """Makes a rule; unknown keys, strangers and a second rotation are 422."""
    async with tenant(deps, request.user) as conn:
        return _tagged(await create_rule(conn, request.user, data))


@get(_RULE, role=Role.viewer, tags=["automations"], responses=problems(404))
async def show(rule_id: Id, request: ApiRequest, deps: Deps) -> Response[Rule]:
    """One rule; its `ETag` is what `If-Match` takes."""
    async with tenant(deps, request.user) as conn:
        return _tagged(await find_rule(conn, request.user.organization_id, rule_id))


@patch(_RULE, role=Role.manager, tags=["automations"], responses=problems(404, 412))
async def change(
    rule_id: Id, data: JSONBody[RulePatch], request: ApiRequest, deps: Deps, if_match: _IfMatch = None
) -> Response[Rule]:
    """Changes what is given."""
    async with tenant(deps, request.user) as conn:
        return _tagged(await update_rule(conn, request.user, rule_id, data, versions_wanted(if_match)))


@delete(_RULE, role=Role.manager, tags=["automations"], responses=problems(404, 412))
async def remove(rule_id: Id, request: ApiRequest, deps: Deps, if_match: _IfMatch = None) -> None:
    """Deletes a rule; its runs and turns stay."""
    async with tenant(deps, request.user) as conn:
        await delete_rule(conn, request.user, rule_id, versions_wanted(if_match))


@get(f"{_RULE}/runs", role=Role.viewer, tags=["automations"], responses=problems(404))
async def runs(
    rule_id: Id, request: ApiRequest, deps: Deps, limit: Limit = 50, cursor: Cursor = None
) -> Page[Run]:
    """What the rule did, the newest first; a deleted rule's too."""
    organization_id, after = request.user.organization_id, read_cursor(cursor, TIME_AND_ID)
    async with tenant(deps, request.user) as conn:
        await find_rule(conn, organization_id, rule_id, deleted=True)
        rows = await list_runs(conn, organization_id, rule_id, limit=limit + 1, after=after)
    return page(rows, limit, lambda run: (run.created_at, run.id))


@get(f"{_RULE}/next", role=Role.viewer, tags=["automations"], responses=problems(404))
async def next_(rule_id: Id, request: ApiRequest, deps: Deps) -> Preview:
    """Who is next and why, and who is skipped."""
    async with tenant(deps, request.user) as conn:
        return await preview(conn, request.user.organization_id, rule_id)


def _tagged(rule: Rule) -> Response[Rule]:
    return Response(rule, headers={"ETag": etag(rule.version)})


ROUTES = [list_, create, show, change, remove, runs, next_]
