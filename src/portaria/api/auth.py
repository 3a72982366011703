"""Signing in for a token, who one is, signing out everywhere, a new password."""

from dataclasses import dataclass

import litestar
import msgspec
from litestar.params import JSONBody

from portaria.api.access import ApiRequest
from portaria.api.deps import Deps
from portaria.api.route import get, post, problems, public
from portaria.identity.principal import Membership, Role, find_principal, list_memberships
from portaria.identity.sign_in import change_password, sign_in, sign_out_everywhere


class Credentials(msgspec.Struct, forbid_unknown_fields=True):
    email: str
    password: str


class PasswordChange(msgspec.Struct, forbid_unknown_fields=True):
    current_password: str
    new_password: str


@dataclass(frozen=True, slots=True)
class Token:
    """Send it as `Authorization: Bearer <access_token>`; good for `expires_in` seconds."""

    access_token: str
    expires_in: int
    token_type: str = "Bearer"  # noqa: S105 - a scheme's name


@dataclass(frozen=True, slots=True)
class Me:
    """Who is signed in, where, and where else they may work (`X-Organization-Id`)."""

    user_id: str
    email: str
    name: str
    is_operator: bool
    organization_id: str
    organization_name: str
    role: str
    locale: str
    time_zone: str
    organizations: list[Membership]


@litestar.post("/auth/token", status_code=200, tags=["auth"], **public(problems(401, 403, 429)))
async def create_token(data: JSONBody[Credentials], request: litestar.Request, deps: Deps) -> Token:  # type: ignore[type-arg]
    """A token for e-mail and password: 401 when either is wrong, 429 after too many tries."""
    address = request.client.host if request.client else ""
    async with deps.db.connection() as conn:
        signed_in = await sign_in(
            conn, deps.passwords, deps.throttle, email=data.email, password=data.password, address=address
        )
        await find_principal(conn, signed_in.user_id, signed_in.epoch)
    return Token(deps.tokens.issue(signed_in), int(deps.tokens.lifetime))


@post("/auth/sign-out-everywhere", role=Role.viewer, status_code=204, tags=["auth"])
async def end_every_sign_in(request: ApiRequest, deps: Deps) -> None:
    """Ends every token and every browser session of the user, this one too."""
    async with deps.db.connection() as conn:
        await sign_out_everywhere(conn, request.user.user_id)


@post("/auth/password", role=Role.viewer, tags=["auth"])
async def new_password(data: JSONBody[PasswordChange], request: ApiRequest, deps: Deps) -> Token:
    """Sets a new password and ends every other sign-in; answers with a token that is good."""
    async with deps.db.connection() as conn:
        changed = await change_password(
            conn, deps.passwords, request.user.user_id,
            current=data.current_password, new=data.new_password,
        )  # fmt: skip
    return Token(deps.tokens.issue(changed), int(deps.tokens.lifetime))


@get("/me", role=Role.viewer, tags=["auth"])
async def show_me(request: ApiRequest, deps: Deps) -> Me:
    """The signed-in user in the organization asked for."""
    who = request.user
    async with deps.db.connection() as conn:
        organizations = await list_memberships(conn, who.user_id)
    return Me(
        str(who.user_id), who.email, who.name, who.is_operator, str(who.organization_id),
        who.organization_name, who.role.name, who.locale, who.time_zone, organizations,
    )  # fmt: skip


ROUTES = [create_token, end_every_sign_in, new_password, show_me]
