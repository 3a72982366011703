"""Leads as far as the reader may see them (provider facts 7)."""

from typing import Annotated, Literal
from uuid import UUID

import msgspec
from litestar.params import FromQuery, JSONBody, QueryParameter

from portaria.api.access import ApiRequest
from portaria.api.deps import Deps
from portaria.api.paging import TIME_AND_ID, Cursor, Id, Limit, Page, Word, page, read_cursor
from portaria.api.reading import tenant
from portaria.api.route import get, patch, post, problems
from portaria.crm.leads import (
    Lead,
    LeadDraft,
    LeadFilter,
    LeadPatch,
    assign_lead,
    create_lead,
    find_lead,
    list_leads,
    update_lead,
)
from portaria.errors import Refusal
from portaria.identity.principal import Role

_Owner = Annotated[
    str | None, QueryParameter(max_length=36, description="A member's id, or `none`: without an owner.")
]


class Assignment(msgspec.Struct, forbid_unknown_fields=True):
    """The new owner, null for nobody. `seen_owner_user_id`: the owner one decided upon; 409 if it changed."""

    owner_user_id: UUID | None
    seen_owner_user_id: UUID | msgspec.UnsetType | None = msgspec.UNSET


@get("/leads", role=Role.viewer, tags=["leads"])
async def list_(
    request: ApiRequest,
    deps: Deps,
    limit: Limit = 50,
    cursor: Cursor = None,
    owner: _Owner = None,
    status: FromQuery[Literal["open", "won", "lost"] | None] = None,
    stage: Word = None,
    contact_id: FromQuery[UUID | None] = None,
) -> Page[Lead]:
    """The leads, the newest first; an agent's own and, by the organization's setting, ownerless ones."""
    after = read_cursor(cursor, TIME_AND_ID)
    wanted = LeadFilter(_owner(owner), status, stage, contact_id)
    async with tenant(deps, request.user) as conn:
        rows = await list_leads(conn, request.user, limit=limit + 1, filter=wanted, after=after)
    return page(rows, limit, lambda lead: (lead.created_at, lead.id))


@get("/leads/{lead_id:uuid}", role=Role.viewer, tags=["leads"], responses=problems(404))
async def show(lead_id: Id, request: ApiRequest, deps: Deps) -> Lead:
    """One lead."""
    async with tenant(deps, request.user) as conn:
        return await find_lead(conn, request.user, lead_id)


@post("/leads", role=Role.agent, status_code=201, tags=["leads"])
async def create(data: JSONBody[LeadDraft], request: ApiRequest, deps: Deps) -> Lead:
    """Makes a lead, and its contact where nobody has this phone yet."""
    async with deps.db.transaction() as conn:
        lead_id = await create_lead(conn, request.user, data)
        return await find_lead(conn, request.user, lead_id)


@patch("/leads/{lead_id:uuid}", role=Role.agent, tags=["leads"], responses=problems(404))
async def change(lead_id: Id, data: JSONBody[LeadPatch], request: ApiRequest, deps: Deps) -> Lead:
    """Changes what is given; the owner is changed by `assign`."""
    async with tenant(deps, request.user) as conn:
        return await update_lead(conn, request.user, lead_id, data)


@post("/leads/{lead_id:uuid}/assign", role=Role.agent, tags=["leads"], responses=problems(404, 409))
async def assign(lead_id: Id, data: JSONBody[Assignment], request: ApiRequest, deps: Deps) -> Lead:
    """Gives the lead to a member, or to nobody; somebody else's claim meanwhile stands."""
    async with tenant(deps, request.user) as conn:
        await assign_lead(conn, request.user, lead_id, data.owner_user_id, seen_owner=data.seen_owner_user_id)
        return await find_lead(conn, request.user, lead_id)


def _owner(given: str | None) -> UUID | Literal["none"] | None:
    if given is None:
        return None
    if given == "none":
        return "none"
    try:
        return UUID(given)
    except ValueError:
        raise Refusal(422, "invalid_owner", "The owner is a member's id, or none.") from None


ROUTES = [list_, show, create, change, assign]
