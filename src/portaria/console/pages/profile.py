"""The profile: language, appearance, browser notifications, password, organization, sign-out everywhere."""

from typing import Final

import msgspec
from litestar import Response, get, post
from litestar.datastructures import Cookie
from litestar.response import Redirect

from portaria.console.deps import Console, ConsoleDep, VisitorDep
from portaria.console.forms import field, given_id, words_of
from portaria.console.outcomes import why
from portaria.console.page import go, page
from portaria.console.visitor import THEME_COOKIE, THEMES, AnyRequest, Visitor, remember
from portaria.errors import Refusal
from portaria.identity.principal import list_memberships
from portaria.identity.sign_in import change_password, sign_out_everywhere
from portaria.identity.users import set_locale
from portaria.push import SubscriptionDraft, subscribe, unsubscribe

_A_YEAR: Final = 365 * 86400


@get("/profile")
async def show_profile(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Response[str]:
    return await _page(request, console, visitor)


@post("/profile", status_code=303)
async def save_profile(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Redirect:
    """Language, and dark or light."""
    values = await words_of(request)
    async with console.db.connection() as conn:
        await set_locale(conn, visitor.principal.user_id, field(values, "locale"))
    answer = go("/profile", "profile-saved")
    theme = field(values, "theme")
    if theme in THEMES:
        answer.set_cookie(
            Cookie(
                key=THEME_COOKIE, value=theme, max_age=_A_YEAR, path="/", httponly=True, samesite="lax",
                secure=console.sessions.secure,
            )
        )  # fmt: skip
    return answer


@post("/profile/password", status_code=200)
async def save_password(
    request: AnyRequest, console: ConsoleDep, visitor: VisitorDep
) -> Response[str] | Redirect:
    """A new password ends every other sign-in."""
    values = await words_of(request)
    try:
        async with console.db.connection() as conn:
            signed_in = await change_password(
                conn, console.passwords, visitor.principal.user_id,
                current=values.get("current", ""), new=values.get("new", ""),
            )  # fmt: skip
    except Refusal as refusal:
        return await _page(request, console, visitor, refusal)
    remember(request, signed_in, organization_id=visitor.organization_id)
    return go("/profile", "password-changed")


@post("/profile/sign-out-everywhere", status_code=303)
async def end_everywhere(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Redirect:
    """Every other browser and every API token of the user; this browser stays."""
    async with console.db.connection() as conn:
        signed_in = await sign_out_everywhere(conn, visitor.principal.user_id)
    remember(request, signed_in, organization_id=visitor.organization_id)
    return go("/profile", "signed-out-everywhere")


@post("/profile/organization", status_code=303)
async def choose_organization(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> Redirect:
    """On in another organization of the user's."""
    chosen = given_id(field(await words_of(request), "organization_id"))
    async with console.db.connection() as conn:
        mine = {m.organization_id for m in await list_memberships(conn, visitor.principal.user_id)}
    if chosen not in mine:
        raise Refusal(403, "not_a_member", "You are not a member of this organization.")
    request.session["organization_id"] = str(chosen)
    return go("/")


@post("/profile/push", status_code=204)
async def push_on(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> None:
    """This browser is told of the user's new leads from now on."""
    try:
        draft = msgspec.json.decode(await request.body(), type=SubscriptionDraft)
    except msgspec.DecodeError:
        raise Refusal(422, "invalid_subscription", "This browser cannot be told.") from None
    async with console.db.transaction() as conn:
        await subscribe(
            conn, visitor.organization_id, visitor.principal.user_id, draft,
            user_agent=request.headers.get("user-agent", ""),
        )  # fmt: skip


@post("/profile/push/off", status_code=204)
async def push_off(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> None:
    """This browser is told nothing more."""
    async with console.db.connection() as conn:
        await unsubscribe(conn, visitor.principal.user_id, field(await words_of(request), "endpoint"))


@post("/profile/push/test", status_code=200)
async def push_test(request: AnyRequest, console: ConsoleDep, visitor: VisitorDep) -> dict[str, int]:
    """A push to every browser of the user in this organization; how many it was handed to."""
    if console.push is None:
        raise Refusal(409, "push_off", "Browser notifications are not set up in this installation.")
    told = await console.push.greet(
        console.db, visitor.organization_id, visitor.principal.user_id,
        title=str(visitor.language.say("Portaria: a test")),
        body=str(visitor.language.say("Notifications reach this browser.")),
    )  # fmt: skip
    return {"told": told}


ROUTES = (
    show_profile, save_profile, save_password, end_everywhere, choose_organization, push_on, push_off,
    push_test,
)  # fmt: skip


async def _page(
    request: AnyRequest, console: Console, visitor: Visitor, refusal: Refusal | None = None
) -> Response[str]:
    async with console.db.connection() as conn:
        memberships = await list_memberships(conn, visitor.principal.user_id)
    return page(
        request, visitor, "profile.html", section="profile", memberships=memberships,
        themes=THEMES, push_key=console.push.public_key if console.push else None,
        problem=why(visitor.language, refusal) if refusal else None,
        code=refusal.status if refusal else 200,
    )  # fmt: skip
