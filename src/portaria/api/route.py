"""How a route is declared: its path, the role it needs, and the problems it may answer with."""

from typing import Any

import litestar
from litestar.openapi.datastructures import ResponseSpec

from portaria.api.problems import PROBLEM_TYPE, Problem
from portaria.identity.principal import Role

Needed = Role | str


def _problem(description: str) -> ResponseSpec:
    return ResponseSpec(
        data_container=Problem, description=description, generate_examples=False, media_type=PROBLEM_TYPE
    )


_ANYWHERE = {
    400: _problem("The request cannot be read."),
    422: _problem("A value does not fit; `detail` says where."),
    500: _problem("A fault of ours, logged."),
    503: _problem("The database does not answer, or not in time: try again after `Retry-After`."),
}
_SIGNED_IN = {
    401: _problem("Not signed in: no token, or one that is not good any more."),
    403: _problem("Not a member of the organization, or the role is too low."),
}
_SECURITY: list[dict[str, list[str]]] = [{"bearer": []}]


def get(path: str, *, role: Needed, **more: Any) -> litestar.get:
    """A route that reads."""
    return litestar.get(path, **_declared(role, more))


def post(path: str, *, role: Needed, **more: Any) -> litestar.post:
    """A route that makes or does something; 200 unless said otherwise."""
    return litestar.post(path, **{"status_code": 200, **_declared(role, more)})


def patch(path: str, *, role: Needed, **more: Any) -> litestar.patch:
    """A route that changes what is given."""
    return litestar.patch(path, **_declared(role, more))


def delete(path: str, *, role: Needed, **more: Any) -> litestar.delete:
    """A route that ends something; 204."""
    return litestar.delete(path, **_declared(role, more))


def problems(*codes: int) -> dict[int, ResponseSpec]:
    """Further problems of one route, for its documentation."""
    known = {
        401: "E-mail or password is wrong.",
        403: "Not a member of any organization.",
        404: "There is no such thing, or not in this organization.",
        409: "It cannot be done as things stand; `code` says why.",
        412: "Somebody changed it meanwhile.",
        413: "The body is too large.",
        429: "Too many tries: come again after `Retry-After`.",
        503: "Not ready; `failed` names the checks.",
    }
    return {code: _problem(known[code]) for code in codes}


def _declared(role: Needed, more: dict[str, Any]) -> dict[str, Any]:
    also = more.pop("responses", {})
    return {
        "opt": {"role": role, **more.pop("opt", {})},
        "security": _SECURITY,
        "responses": {**_ANYWHERE, **_SIGNED_IN, **also},
        **more,
    }


def public(also: dict[int, ResponseSpec] | None = None) -> dict[str, Any]:
    """Keyword arguments of a route that needs no token."""
    return {"opt": {"public": True}, "security": [{}], "responses": {**_ANYWHERE, **(also or {})}}
