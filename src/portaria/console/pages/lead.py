"""One lead: who it is, whose it is, and its *Atividade* (spec 4, 5)."""

from typing import Final
from uuid import UUID

import msgspec
from litestar import Response, get, post
from litestar.response import Redirect
from msgspec import UNSET

from portaria.console.activity import read_activity
from portaria.console.deps import Console, ConsoleDep, Id, VisitorDep
from portaria.console.forms import field, given_id, words_of
from portaria.console.outcomes import why
from portaria.console.page import go, page
from portaria.console.visitor import AnyRequest, Visitor
from portaria.crm.leads import LeadPatch, assign_lead, find_lead, update_lead
from portaria.errors import Refusal
from portaria.identity.members import Member, list_members
from portaria.identity.principal import Role

_MEMBERS: Final = 500


@get("/leads/{lead_id:uuid}")
async def show_lead(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, lead_id: Id
) -> Response[str]:
    """One lead: who it is, whose it is, and its Atividade."""
    return await _lead_page(request, console, visitor, lead_id)


@post("/leads/{lead_id:uuid}", status_code=200)
async def save_lead(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, lead_id: Id
) -> Response[str] | Redirect:
    """Title, stage, status and tags."""
    visitor.must("agent")
    values = await words_of(request)
    tags = [tag.strip() for tag in field(values, "tags").split(",") if tag.strip()]
    try:
        patch = msgspec.convert(
            {
                "title": field(values, "title"), "stage": field(values, "stage"),
                "status": field(values, "status"), "tags": list(dict.fromkeys(tags)),
            },
            LeadPatch,
        )  # fmt: skip
        async with console.tenant(visitor) as conn:
            await update_lead(conn, visitor.principal, lead_id, patch)
    except msgspec.ValidationError as error:
        refusal = Refusal(422, "invalid_lead", str(error))
        return await _lead_page(request, console, visitor, lead_id, refusal, "save")
    return go(f"/leads/{lead_id}", "lead-saved")


@post("/leads/{lead_id:uuid}/assign", status_code=200)
async def give_lead(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, lead_id: Id
) -> Response[str] | Redirect:
    """To a member or to nobody. Whoever took it since the page was loaded keeps it."""
    visitor.must("agent")
    values = await words_of(request)
    seen = values.get("seen_owner")
    try:
        async with console.tenant(visitor) as conn:
            await assign_lead(
                conn, visitor.principal, lead_id, given_id(field(values, "owner")),
                seen_owner=UNSET if seen is None else given_id(seen),
            )  # fmt: skip
    except Refusal as refusal:
        if refusal.status not in (409, 422):
            raise
        return await _lead_page(request, console, visitor, lead_id, refusal, "assign")
    if visitor.principal.role == Role.agent and given_id(field(values, "owner")) != visitor.principal.user_id:
        return go("/leads", "lead-assigned")
    return go(f"/leads/{lead_id}", "lead-assigned")


ROUTES = (show_lead, save_lead, give_lead)


async def _lead_page(
    request: AnyRequest, console: Console, visitor: Visitor, lead_id: UUID,
    refusal: Refusal | None = None, where: str = "",
) -> Response[str]:  # fmt: skip
    async with console.tenant(visitor) as conn:
        lead = await find_lead(conn, visitor.principal, lead_id)
        members = await list_members(conn, visitor.organization_id, limit=_MEMBERS, with_revoked=True)
        activity = await read_activity(conn, visitor.organization_id, lead_id)
    by_id = {member.user_id: member for member in members}
    return page(
        request, visitor, "lead.html", section="leads", lead=lead, by_id=by_id, activity=activity,
        owners=_possible_owners(visitor, members, lead.owner_user_id), where=where,
        code=refusal.status if refusal else 200,
        problem=why(visitor.language, refusal) if refusal else None,
    )  # fmt: skip


def _possible_owners(visitor: Visitor, members: list[Member], owner: UUID | None) -> list[Member]:
    """Whom the visitor may give this lead to: an agent takes one, or passes their own on."""
    able = [m for m in members if m.revoked_at is None and m.role != "viewer"]
    if visitor.can("manager") or owner == visitor.principal.user_id:
        return able
    return [m for m in able if m.user_id == visitor.principal.user_id]
