"""Every error as a problem document (RFC 9457) with `code`, never a traceback (spec 6)."""

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
import psycopg
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.types import ExceptionHandlersMap

from portaria.db.sqlstate import is_infrastructure
from portaria.errors import Refusal, problem

log = structlog.get_logger()

PROBLEM_TYPE: Final = "application/problem+json"
SAFE_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_AGAIN: Final = {"Retry-After": "5"}
_CODES: Final = {
    400: ("invalid_request", "The request cannot be read: is its body valid JSON?"),
    404: ("not_found", "There is no such route."),
    405: ("method_not_allowed", "This route does not know the method."),
    413: ("body_too_large", "The body is too large."),
}

AnyRequest = Request[Any, Any, Any]
Answer = Response[bytes]


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal: `code` is stable, `detail` a sentence for people."""

    type: str
    title: str
    status: int
    code: str
    detail: str


def exception_handlers() -> ExceptionHandlersMap:
    """What becomes of anything raised while a request is answered."""
    return {
        Refusal: on_refusal,
        ValidationException: on_invalid,
        HTTPException: on_http,
        psycopg.Error: on_database,
        Exception: on_anything,
    }


def on_refusal(request: AnyRequest, error: Refusal) -> Answer:
    return problem_response(error.status, error.code, error.detail, error.headers)


def on_invalid(request: AnyRequest, error: ValidationException) -> Answer:
    """422 with the place of each fault, never the value given."""
    faults = error.extra if isinstance(error.extra, list) else []
    places = [_place(fault) for fault in faults if isinstance(fault, dict)]
    detail = "; ".join(places) or "The request does not fit."
    return problem_response(422, "invalid_request", detail)


def on_http(request: AnyRequest, error: HTTPException) -> Answer:
    """The framework's own errors: no route, no such method, a body that is no JSON or too large."""
    code, detail = _CODES.get(error.status_code, ("", ""))
    if not code:
        code = HTTPStatus(error.status_code).name.lower()
        detail = HTTPStatus(error.status_code).phrase + "."
    if error.status_code >= 500:
        return on_anything(request, error)
    return problem_response(error.status_code, code, detail, error.headers or {})


def on_database(request: AnyRequest, error: psycopg.Error) -> Answer:
    """Away or too slow: 503, come again. A value no column can hold: 422. Anything else is a bug."""
    if isinstance(error, psycopg.errors.QueryCanceled):
        return problem_response(503, "too_slow", "Reading took too long: narrow the filter.", _AGAIN)
    if is_infrastructure(error):
        log.warning("api_database_away", error=type(error).__name__)
        return problem_response(503, "unavailable", "The database does not answer: try again soon.", _AGAIN)
    if isinstance(error, psycopg.DataError):
        return problem_response(422, "invalid_value", "A value cannot be stored: it is too large or no text.")
    return on_anything(request, error)


def on_anything(request: AnyRequest, error: Exception) -> Answer:
    """A bug: logged with its trace, answered without it."""
    if is_infrastructure(error):
        return problem_response(503, "unavailable", "The database does not answer: try again soon.", _AGAIN)
    if isinstance(error, RecursionError):
        return problem_response(400, "invalid_request", "The body is nested too deeply.")
    log.error("api_failed", method=request.method, path=request.url.path, **_trace(error))
    return problem_response(500, "internal_error", "Something went wrong here; it has been logged.")


def _trace(error: Exception) -> dict[str, object]:
    """What the log keeps. A database's own words may quote the row, secrets and people included."""
    if not isinstance(error, psycopg.Error):
        return {"exc_info": error}
    return {
        "error": f"{type(error).__name__} {error.sqlstate}",
        "constraint": error.diag.constraint_name,
        "trace": "".join(traceback.format_tb(error.__traceback__)),
    }


def problem_response(
    status: int, code: str, detail: str, headers: Mapping[str, str] | None = None, **more: object
) -> Answer:
    """The problem document as an answer."""
    return Response(
        msgspec.json.encode(problem(status, code, detail, **more)),
        status_code=status,
        media_type=PROBLEM_TYPE,
        headers={**SAFE_HEADERS, **(headers or {})},
    )


def _place(fault: Mapping[str, Any]) -> str:
    where = " ".join(str(fault[key]) for key in ("source", "key") if fault.get(key))
    return f"{where}: {fault.get('message', 'does not fit')}"
