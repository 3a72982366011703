"""Who is looking: the principal behind a browser session, read anew for every request."""

import secrets
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from litestar import Request

from portaria.console.language import Language, preferred
from portaria.console.news import Mark, take_mark
from portaria.db.pool import Connection, Database
from portaria.errors import Refusal
from portaria.identity.browser_sessions import renew_session
from portaria.identity.principal import Principal, Role, find_principal
from portaria.identity.sign_in import SignedIn

AnyRequest = Request[Any, Any, Any]

THEMES: Final = ("auto", "light", "dark")
THEME_COOKIE: Final = "theme"


@dataclass(frozen=True, slots=True)
class Visitor:
    """A member at work: what they may do, the language they read, the token their forms carry, and how
    things stood when the request came.
    """

    principal: Principal
    language: Language
    csrf: str
    mark: Mark

    @property
    def organization_id(self) -> UUID:
        return self.principal.organization_id

    def can(self, role: str) -> bool:
        """Whether the visitor's role is `role` or above."""
        return self.principal.role >= Role[role]

    def must(self, role: str) -> None:
        """Raises a 403 `Refusal` below `role`."""
        if not self.can(role):
            raise Refusal(403, "forbidden", "Your role does not allow this.")

    def must_be_operator(self) -> None:
        """Raises a 403 `Refusal` for whoever is no operator of the installation."""
        if not self.principal.is_operator:
            raise Refusal(403, "operators_only", "Only operators of the installation may see this.")


async def find_visitor(request: AnyRequest, db: Database) -> Visitor:
    """The signed-in visitor. Raises `Refusal`: 401 for nobody, 403 for a member no more."""
    known = request.session
    if "user_id" not in known:
        raise Refusal(401, "unauthenticated", "Sign in first.")
    chosen = known.get("organization_id")
    async with db.connection() as conn:
        principal = await _find(
            conn, UUID(known["user_id"]), known["epoch"], UUID(chosen) if chosen else None
        )
        # Before anything else of the page is read: what happens from now on, the page is told of.
        mark = await take_mark(conn, principal.organization_id, operator=principal.is_operator)
    request.state["language"] = language = Language(principal.locale, principal.time_zone)
    return Visitor(principal, language, known["csrf"], mark)


async def _find(conn: Connection, user_id: UUID, epoch: int, chosen: UUID | None) -> Principal:
    """In the organization they chose; where they are no member any more, in their first."""
    try:
        return await find_principal(conn, user_id, epoch, chosen)
    except Refusal as refusal:
        if refusal.code != "not_a_member" or chosen is None:
            raise
        return await find_principal(conn, user_id, epoch)


def remember(request: AnyRequest, signed_in: SignedIn, *, organization_id: UUID | None = None) -> None:
    """Puts a sign-in into the browser session, under a new id and with a new token for its forms."""
    request.session.clear()
    request.session.update(
        user_id=str(signed_in.user_id), epoch=signed_in.epoch, csrf=secrets.token_urlsafe(24),
        organization_id=str(organization_id) if organization_id else None,
    )  # fmt: skip
    renew_session(request)


def language_of(request: AnyRequest) -> Language:
    """The language for whoever has not signed in."""
    return Language(preferred(request.headers.get("accept-language")))


def theme_of(request: AnyRequest) -> str:
    """Dark, light, or as the device has it."""
    chosen = request.cookies.get(THEME_COOKIE, "auto")
    return chosen if chosen in THEMES else "auto"
