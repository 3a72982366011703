"""Who may ask what: the Bearer token, the organization asked for, the role a route declares."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.enums import HttpMethod
from litestar.handlers import BaseRouteHandler
from litestar.middleware.authentication import AbstractAuthenticationMiddleware, AuthenticationResult
from litestar.types import ASGIApp

from portaria.api.deps import ApiDeps
from portaria.errors import Refusal
from portaria.identity.principal import Principal, Role, find_principal
from portaria.identity.sign_in import SignedIn
from portaria.identity.tokens import bearer_token

ORGANIZATION_HEADER = "X-Organization-Id"
OPERATOR = "operator"
"""Declared instead of a role: operators only, whatever their role."""

ApiRequest = Request[Principal, SignedIn, State]


class Authentication(AbstractAuthenticationMiddleware):
    """Every route below it needs a good token. Raises a `Refusal`: 401, 403, 422.

    `deps` is asked for, not held: the framework copies what a router's middleware holds.
    """

    def __init__(self, app: ASGIApp, deps: Callable[[], ApiDeps]) -> None:
        super().__init__(app, exclude_from_auth_key="public")
        self._deps = deps

    async def authenticate_request(
        self, connection: ASGIConnection[Any, Any, Any, Any]
    ) -> AuthenticationResult:
        deps = self._deps()
        signed_in = deps.tokens.read(bearer_token(connection.headers.getall("authorization", [])))
        wanted = _organization(connection)
        async with deps.db.connection() as conn:
            principal = await find_principal(conn, signed_in.user_id, signed_in.epoch, wanted)
        return AuthenticationResult(user=principal, auth=signed_in)


def check_role(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """The guard of every route: 403 below its declared role, and for a route that declares none.

    The framework's own answer to OPTIONS only lists the methods: it needs no token.
    """
    if handler.opt.get("public") or connection.scope.get("method") == HttpMethod.OPTIONS:
        return
    principal, needed = connection.user, handler.opt.get("role")
    if needed == OPERATOR:
        if not principal.is_operator:
            raise Refusal(403, "operators_only", "Only operators of the installation may do this.")
    elif not isinstance(needed, Role) or principal.role < needed:
        name = needed.name if isinstance(needed, Role) else "nobody's"
        raise Refusal(403, "forbidden", f"This needs the role {name}, or a higher one.")


def _organization(connection: ASGIConnection[Any, Any, Any, Any]) -> UUID | None:
    """The organization asked for by header or query; None for the user's first."""
    given = connection.headers.get(ORGANIZATION_HEADER) or connection.query_params.get("organization_id")
    if not given:
        return None
    try:
        return UUID(given)
    except ValueError:
        raise Refusal(422, "invalid_organization", "The organization is given by its id, a UUID.") from None
