"""Leads: list and board, *sem dono* with its age, and on each lead what happened and why (spec 4, 5)."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from litestar import Response, get, post
from litestar.response import Redirect

from portaria.automations.rotation import hand_over
from portaria.automations.rulebook import list_rules
from portaria.automations.rules import rotation_of
from portaria.console.cursors import read_time_and_id, with_query, write_place
from portaria.console.deps import Console, ConsoleDep, Place, Typed, VisitorDep
from portaria.console.forms import Fields, field, given_id, words_of
from portaria.console.outcomes import why
from portaria.console.page import go, page
from portaria.console.visitor import AnyRequest, Visitor
from portaria.crm.board import count_stages, count_unowned, search_leads
from portaria.crm.leads import (
    LeadDraft,
    LeadFilter,
    create_lead,
    list_leads,
    list_unowned,
)
from portaria.crm.leads.listing import Status
from portaria.db.pool import Connection
from portaria.errors import Refusal
from portaria.identity.members import list_members

_AT_ONCE: Final = 40
_STATUSES: Final[Mapping[str, Status]] = {"open": "open", "won": "won", "lost": "lost"}
_IN_COLUMN: Final = 15
_MEMBERS: Final = 500


@get("/leads")
async def show_leads(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep,
    view: Typed = "list", owner: Typed = "", status: Typed = "open", stage: Typed = "", q: Typed = "",
    after: Place = None,
) -> Response[str]:  # fmt: skip
    """The list, the board, or those without an owner, the longest waiting first."""
    if view == "board":
        return await _board(request, console, visitor)
    wanted = LeadFilter(
        owner="none" if owner == "none" else given_id(owner),
        status=_STATUSES.get(status),
        stage=stage or None,
    )
    q, more = q.strip()[:100], None
    async with console.tenant(visitor) as conn:
        if q:
            rows = await search_leads(conn, visitor.principal, q, limit=_AT_ONCE)
        elif owner == "none":
            rows = await list_unowned(conn, visitor.principal, limit=_AT_ONCE)
        else:
            rows = await list_leads(
                conn, visitor.principal, limit=_AT_ONCE + 1, filter=wanted, after=read_time_and_id(after)
            )
            if len(rows) > _AT_ONCE:
                rows = rows[:_AT_ONCE]
                place = write_place(rows[-1].created_at, rows[-1].id)
                more = with_query("/leads", owner=owner, status=status, stage=stage, after=place)
        context = await _around(conn, visitor)
    return page(
        request, visitor, "leads.html", section="leads", leads=rows, more=more, q=q, owner=owner,
        status=status, stage=stage, **context,
    )  # fmt: skip


@get("/leads/new")
async def new_lead(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    visitor.must("agent")
    return page(request, visitor, "lead_new.html", section="leads", values=Fields(), problem=None)


@post("/leads", status_code=200)
async def make_lead(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep
) -> Response[str] | Redirect:
    """A lead made by hand; the form again when it cannot be."""
    visitor.must("agent")
    values = await words_of(request)
    try:
        draft = msgspec.convert(
            {
                "name": field(values, "name"), "phone": field(values, "phone") or None,
                "email": field(values, "email") or None, "title": field(values, "title") or None,
                "source": "console",
            },
            LeadDraft,
        )  # fmt: skip
        async with console.db.transaction() as conn:
            lead_id = await create_lead(conn, visitor.principal, draft)
    except (msgspec.ValidationError, Refusal) as error:
        refusal = error if isinstance(error, Refusal) else Refusal(422, _lacking(values), str(error))
        return page(
            request, visitor, "lead_new.html", code=422, section="leads", values=values,
            problem=why(visitor.language, refusal),
        )  # fmt: skip
    return go(f"/leads/{lead_id}", "lead-created")


@post("/leads/hand-over")
async def give_to_rotation(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Redirect:
    """Every lead without an owner, oldest first, to a rule's rotation."""
    visitor.must("manager")
    rule_id = given_id(field(await words_of(request), "rule"))
    if rule_id is None:
        raise Refusal(422, "invalid_request", "Which rule?")
    async with console.db.transaction() as conn:
        await hand_over(conn, visitor.principal, rule_id)
    return go("/leads?owner=none", "handed-over")


ROUTES = (show_leads, new_lead, make_lead, give_to_rotation)


async def _board(request: AnyRequest, console: Console, visitor: Visitor) -> Response[str]:
    async with console.tenant(visitor) as conn:
        stages = await count_stages(conn, visitor.principal)
        columns = [
            (
                stage,
                await list_leads(
                    conn,
                    visitor.principal,
                    limit=_IN_COLUMN,
                    filter=LeadFilter(status="open", stage=stage.stage),
                ),
            )
            for stage in stages
        ]
        context = await _around(conn, visitor)
    return page(request, visitor, "leads_board.html", section="leads", columns=columns, **context)


async def _around(conn: Connection, visitor: Visitor) -> dict[str, Any]:
    """What stands around every view of the leads."""
    rules = await list_rules(conn, visitor.organization_id) if visitor.can("manager") else []
    return {
        "unowned": await count_unowned(conn, visitor.principal),
        "rotations": [r for r in rules if r.is_active and rotation_of(r.actions) is not None],
        "members": await list_members(conn, visitor.organization_id, limit=_MEMBERS, with_revoked=True),
    }


def _lacking(values: dict[str, str]) -> str:
    if not field(values, "name"):
        return "lead_needs_name"
    return "invalid_email" if field(values, "email") else "lead_needs_contact"
