"""Whether a request that changes something came from one of our own pages.

Three fences, each enough alone: the session cookie is SameSite=Lax; a browser's own word about where a
request comes from (`Sec-Fetch-Site`, `Origin`) must not name another site; and it must carry the token
of its session, in a form's field or, from scripts, in a header. Before the sign-in there is no session:
the token stands in a short-lived cookie of its own, and the form must repeat it.
"""

import secrets
from typing import Final
from urllib.parse import urlsplit

from litestar.datastructures import Cookie

from portaria.console.visitor import AnyRequest
from portaria.errors import Refusal

FIELD: Final = "csrf"
HEADER: Final = "x-csrf-token"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_COOKIE: Final = "portaria-visitor"
_HALF_AN_HOUR: Final = 1800


async def check_request(request: AnyRequest) -> None:
    """Raises a 403 `Refusal` for a request that changes something and is not our own page's."""
    if request.method in _SAFE:
        return
    if not _from_here(request):
        raise _foreign()
    expected = request.session.get("csrf") if request.session else None
    expected = expected or request.cookies.get(_COOKIE)
    given = request.headers.get(HEADER) or str((await request.form()).get(FIELD, ""))
    if not expected or not secrets.compare_digest(expected.encode(), given.encode()):
        raise _foreign()


def visitors_token(request: AnyRequest, *, secure: bool) -> tuple[str, Cookie]:
    """A token for a form shown before the sign-in, and the cookie that it is compared with."""
    token = request.cookies.get(_COOKIE) or secrets.token_urlsafe(24)
    # Of a sign-in that has ended elsewhere the session may be left: then its token is the one compared.
    known = request.session.get("csrf") if request.session else None
    return known or token, Cookie(
        key=_COOKIE, value=token, max_age=_HALF_AN_HOUR, path="/", secure=secure, httponly=True,
        samesite="strict",
    )  # fmt: skip


def _from_here(request: AnyRequest) -> bool:
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def _foreign() -> Refusal:
    return Refusal(403, "foreign_request", "This form has expired: load the page again.")
