"""Members and the organization: invite, role, revoke; name, time zone, language."""

import zoneinfo
from typing import Final
from uuid import UUID

from litestar import Response, get, post
from litestar.response import Redirect

from portaria.console.deps import Console, ConsoleDep, Id, VisitorDep
from portaria.console.forms import Fields, field, words_of
from portaria.console.language import LOCALES
from portaria.console.outcomes import why
from portaria.console.page import go, page
from portaria.console.visitor import AnyRequest, Visitor
from portaria.errors import Refusal
from portaria.identity.members import add_member, change_role, list_members, revoke_member
from portaria.identity.organizations import (
    OrganizationChange,
    find_organization,
    update_organization,
)
from portaria.identity.passwords import make_password
from portaria.identity.principal import Role

_AT_ONCE: Final = 500


@get("/members")
async def show_members(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    """Who works here, and who did."""
    return await _page(request, console, visitor)


@post("/members", status_code=200)
async def invite(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    """Adds the person, with a password to hand over, shown once. Somebody who has an account keeps theirs."""
    visitor.must("admin")
    values = await words_of(request)
    password = make_password()
    hashed = await console.passwords.hash(password)
    try:
        async with console.db.connection() as conn:
            added = await add_member(
                conn, visitor.organization_id, email=field(values, "email"), name=field(values, "name"),
                role=field(values, "role"), password_hash=hashed, actor=str(visitor.principal.user_id),
            )  # fmt: skip
    except Refusal as refusal:
        return await _page(request, console, visitor, values=values, refusal=refusal)
    invited = {"email": field(values, "email"), "password": password if added.is_new_user else None}
    return await _page(request, console, visitor, invited=invited)


@post("/members/{user_id:uuid}/role", status_code=200)
async def give_role(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, user_id: Id
) -> Response[str] | Redirect:
    visitor.must("admin")
    role = field(await words_of(request), "role")
    try:
        async with console.db.connection() as conn:
            await change_role(
                conn, visitor.organization_id, user_id, role, actor=str(visitor.principal.user_id)
            )
    except Refusal as refusal:
        return await _page(request, console, visitor, refusal=refusal, of=user_id)
    return go("/members", "member-role")


@post("/members/{user_id:uuid}/revoke", status_code=200)
async def revoke(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep, user_id: Id
) -> Response[str] | Redirect:
    """The member leaves at once; their open leads lose their owner."""
    visitor.must("admin")
    try:
        async with console.db.connection() as conn:
            await revoke_member(
                conn, visitor.organization_id, user_id, actor=str(visitor.principal.user_id),
                on_revoke=console.on_revoke,
            )  # fmt: skip
    except Refusal as refusal:
        return await _page(request, console, visitor, refusal=refusal, of=user_id)
    return go("/members", "member-revoked")


@post("/organization", status_code=200)
async def save_organization(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep
) -> Response[str] | Redirect:
    visitor.must("admin")
    values = await words_of(request)
    change = OrganizationChange(
        name=field(values, "name"), time_zone=field(values, "time_zone"), locale=field(values, "locale"),
        agents_see_unowned=field(values, "agents_see_unowned") == "on",
    )  # fmt: skip
    try:
        async with console.db.connection() as conn:
            await update_organization(
                conn, visitor.organization_id, change, actor=str(visitor.principal.user_id)
            )
    except Refusal as refusal:
        return await _page(request, console, visitor, refusal=refusal, of=visitor.organization_id)
    return go("/members", "organization-saved")


ROUTES = (show_members, invite, give_role, revoke, save_organization)


async def _page(
    request: AnyRequest, console: Console, visitor: Visitor, *, values: dict[str, str] | None = None,
    invited: dict[str, str | None] | None = None, refusal: Refusal | None = None, of: UUID | None = None,
) -> Response[str]:  # fmt: skip
    async with console.tenant(visitor) as conn:
        members = await list_members(conn, visitor.organization_id, limit=_AT_ONCE, with_revoked=True)
        organization = await find_organization(conn, visitor.organization_id)
    return page(
        request, visitor, "members.html", section="members",
        members=[m for m in members if m.revoked_at is None],
        former=[m for m in members if m.revoked_at is not None],
        organization=organization, roles=[role.name for role in Role], values=values or Fields(role="agent"),
        invited=invited, of=of, problem=why(visitor.language, refusal) if refusal else None,
        code=refusal.status if refusal else 200, zones=_zones(), locales=LOCALES,
    )  # fmt: skip


def _zones() -> list[str]:
    return sorted(
        z
        for z in zoneinfo.available_timezones()
        if "/" in z and not z.startswith(("Etc/", "posix/", "right/"))
    )
