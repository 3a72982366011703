"""What people see when a request cannot be answered: a page or a line in words, never a trace."""

from typing import Final

import structlog
from litestar import MediaType, Response
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap

from portaria.console.cursors import with_query
from portaria.console.language import N_, Language
from portaria.console.outcomes import why
from portaria.console.render import html
from portaria.console.visitor import AnyRequest, language_of, theme_of
from portaria.db.sqlstate import is_infrastructure
from portaria.errors import Refusal

log = structlog.get_logger()

# The statement's own time limit.
_TOO_SLOW: Final = "57014"
_AWAY: Final = N_("The database does not answer just now. Nothing was lost; try again in a moment.")
_BUG: Final = N_("Something went wrong here. It was written down for whoever runs this installation.")
_BY_STATUS: Final = {
    404: N_("There is nothing here."),
    405: N_("There is nothing here."),
    413: N_("That is too large to be sent."),
}
_UNFIT: Final = N_("The address of this page is not complete or not valid.")


def exception_handlers() -> ExceptionHandlersMap:
    return {Refusal: on_refusal, HTTPException: on_http, Exception: on_anything}


def on_refusal(request: AnyRequest, refusal: Refusal) -> Response[str]:
    """Whoever is not signed in goes to the sign-in, and comes back from there."""
    language = _language(request)
    if refusal.status == 401:
        return _sign_in(request)
    return _answer(request, language, refusal.status, why(language, refusal))


def on_http(request: AnyRequest, error: HTTPException) -> Response[str]:
    if error.status_code >= 500:
        return on_anything(request, error)
    language = _language(request)
    sentence = _BY_STATUS.get(error.status_code, _UNFIT)
    return _answer(request, language, error.status_code, language.say(sentence))


def on_anything(request: AnyRequest, error: Exception) -> Response[str]:
    """The database away: 503. Anything else is a bug: logged with its trace."""
    language = _language(request)
    if is_infrastructure(error) or getattr(error, "sqlstate", None) == _TOO_SLOW:
        log.warning("console_database_away", error=type(error).__name__)
        return _answer(request, language, 503, language.say(_AWAY))
    log.error("console_failed", method=request.method, path=request.url.path, exc_info=error)
    return _answer(request, language, 500, language.say(_BUG))


def _sign_in(request: AnyRequest) -> Response[str]:
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    if request.headers.get("hx-request"):
        return Response("", status_code=204, headers={"HX-Refresh": "true"})
    asked = request.method == "GET" and here != "/"
    where = with_query("/sign-in", next=here if asked else None)
    return Response("", status_code=303, headers={"Location": where}, media_type=MediaType.TEXT)


def _answer(request: AnyRequest, language: Language, status: int, sentence: str) -> Response[str]:
    if request.headers.get("hx-request"):
        return html("_problem.html", language, {"text": sentence}, status=status)
    context = {"theme": theme_of(request), "status": status, "text": sentence}
    return html("failure.html", language, context, status=status)


def _language(request: AnyRequest) -> Language:
    """The visitor's, where the request got so far."""
    known = request.state.get("language")
    return known if isinstance(known, Language) else language_of(request)
