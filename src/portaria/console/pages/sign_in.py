"""Signing in with e-mail and password, and out again."""

from urllib.parse import urlsplit

from litestar import Response, get, post
from litestar.response import Redirect

from portaria.console.deps import ConsoleDep
from portaria.console.outcomes import why
from portaria.console.page import go
from portaria.console.render import html
from portaria.console.same_site import visitors_token
from portaria.console.visitor import AnyRequest, language_of, remember, theme_of
from portaria.errors import Refusal
from portaria.identity.sign_in import sign_in


@get("/sign-in")
async def show_sign_in(request: AnyRequest, console: ConsoleDep) -> Response[str]:
    """The form."""
    return _form(request, console)


@post("/sign-in", status_code=200)
async def do_sign_in(request: AnyRequest, console: ConsoleDep) -> Response[str] | Redirect:
    """To the page that was asked for; or the form again, with the reason beside it."""
    form = await request.form()
    email, password = str(form.get("email", "")), str(form.get("password", ""))
    address = request.client.host if request.client else ""
    try:
        async with console.db.connection() as conn:
            signed_in = await sign_in(
                conn, console.passwords, console.throttle, email=email, password=password, address=address
            )
    except Refusal as refusal:
        return _form(request, console, refusal, email)
    remember(request, signed_in)
    return go(_inside(request.query_params.get("next")))


@post("/sign-out")
async def do_sign_out(request: AnyRequest) -> Redirect:
    """Ends this browser's session."""
    request.clear_session()
    return go("/sign-in")


ROUTES = (show_sign_in, do_sign_in, do_sign_out)


def _form(
    request: AnyRequest, console: ConsoleDep, refusal: Refusal | None = None, email: str = ""
) -> Response[str]:
    language = language_of(request)
    token, cookie = visitors_token(request, secure=console.sessions.secure)
    context = {
        "theme": theme_of(request), "csrf": token, "email": email, "next": request.query_params.get("next"),
        "problem": why(language, refusal) if refusal else None,
    }  # fmt: skip
    answer = html(
        "sign_in.html", language, context, status=refusal.status if refusal else 200,
        headers=refusal.headers if refusal else None,
    )  # fmt: skip
    answer.set_cookie(cookie)
    return answer


def _inside(address: str | None) -> str:
    """The page to go on to, if it is one of ours: nobody may be led elsewhere by a link to the sign-in."""
    if not address or not address.startswith("/") or address.startswith(("//", "/\\")):
        return "/"
    parts = urlsplit(address)
    return address if not parts.scheme and not parts.netloc and address.isprintable() else "/"
