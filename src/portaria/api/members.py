"""Members: listed by everybody, managed by admins."""

from dataclasses import dataclass
from uuid import UUID

import msgspec
from litestar.params import FromQuery, JSONBody

from portaria.api.access import ApiRequest
from portaria.api.deps import Deps
from portaria.api.paging import TIME_AND_ID, Cursor, Id, Limit, Page, page, read_cursor
from portaria.api.reading import tenant
from portaria.api.route import delete, get, patch, post, problems
from portaria.identity.members import (
    Member,
    add_member,
    change_role,
    find_member,
    list_members,
    revoke_member,
)
from portaria.identity.passwords import make_password
from portaria.identity.principal import Role


class NewMember(msgspec.Struct, forbid_unknown_fields=True):
    """Without a `password`, one is made and answered once."""

    email: str
    name: str
    role: str
    password: str | None = None


class RoleChange(msgspec.Struct, forbid_unknown_fields=True):
    role: str


@dataclass(frozen=True, slots=True)
class AddedMember:
    """`password`: the made one, shown this once; null where it was given, or the person had a user."""

    user_id: UUID
    role: str
    password: str | None


@get("/members", role=Role.viewer, tags=["members"])
async def list_(
    request: ApiRequest,
    deps: Deps,
    limit: Limit = 50,
    cursor: Cursor = None,
    revoked: FromQuery[bool] = False,
) -> Page[Member]:
    """The members, the first to join first; with `revoked`, former ones too."""
    after = read_cursor(cursor, TIME_AND_ID)
    async with tenant(deps, request.user) as conn:
        rows = await list_members(
            conn, request.user.organization_id, limit=limit + 1, with_revoked=revoked, after=after
        )
    return page(rows, limit, lambda m: (m.created_at, m.user_id))


@get("/members/{user_id:uuid}", role=Role.viewer, tags=["members"], responses=problems(404))
async def show(user_id: Id, request: ApiRequest, deps: Deps) -> Member:
    """One member, former or not."""
    async with tenant(deps, request.user) as conn:
        return await find_member(conn, request.user.organization_id, user_id)


@post("/members", role=Role.admin, status_code=201, tags=["members"], responses=problems(409))
async def add(data: JSONBody[NewMember], request: ApiRequest, deps: Deps) -> AddedMember:
    """Adds a person, or brings a former member back. Who has a user already keeps name and password."""
    password = data.password or make_password()
    hashed = await deps.passwords.hash(password)
    async with deps.db.connection() as conn:
        added = await add_member(
            conn, request.user.organization_id, email=data.email, name=data.name, role=data.role,
            password_hash=hashed, actor=str(request.user.user_id),
        )  # fmt: skip
    shown = password if added.is_new_user and not data.password else None
    return AddedMember(added.user_id, data.role, shown)


@patch("/members/{user_id:uuid}", role=Role.admin, tags=["members"], responses=problems(404, 409))
async def change(user_id: Id, data: JSONBody[RoleChange], request: ApiRequest, deps: Deps) -> Member:
    """Gives a member another role; the last admin keeps theirs."""
    organization_id = request.user.organization_id
    async with deps.db.transaction() as conn:
        await change_role(conn, organization_id, user_id, data.role, actor=str(request.user.user_id))
        return await find_member(conn, organization_id, user_id)


@delete("/members/{user_id:uuid}", role=Role.admin, tags=["members"], responses=problems(404, 409))
async def revoke(user_id: Id, request: ApiRequest, deps: Deps) -> None:
    """Ends a membership at once; the member's open leads lose their owner."""
    async with deps.db.connection() as conn:
        await revoke_member(
            conn, request.user.organization_id, user_id,
            actor=str(request.user.user_id), on_revoke=deps.on_revoke,
        )  # fmt: skip


ROUTES = [list_, show, add, change, revoke]
