"""Is the process alive, can it keep its promise, and what has it counted (spec 7). Open to everybody."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import litestar
from litestar import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from portaria.api.deps import Deps, HealthCheck
from portaria.api.problems import problem_response
from portaria.api.route import problems

_PATIENCE = 4.0


@dataclass(frozen=True, slots=True)
class ShownCheck:
    ok: bool
    detail: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Alive:
    status: str = "ok"


@litestar.get("/healthz", tags=["health"])
async def healthz() -> Alive:
    """The process lives."""
    return Alive()


@litestar.get("/readyz", tags=["health"], responses=problems(503))
async def readyz(deps: Deps) -> Response[Any]:
    """It can keep its promise: database, migrations, queue; 503 names what failed."""
    try:
        async with asyncio.timeout(_PATIENCE):
            checks = await deps.readiness()
    except TimeoutError:
        return problem_response(
            503, "not_ready", f"No answer within {_PATIENCE:g} s.", _AGAIN, failed=["database"], checks={}
        )
    shown = {c.name: ShownCheck(c.ok, c.detail, c.value) for c in checks}
    if failed := _failed(checks):
        detail = "Not ready: " + ", ".join(failed) + "."
        return problem_response(503, "not_ready", detail, _AGAIN, failed=failed, checks=shown)
    return Response({"status": "ready", "checks": shown})


@litestar.get("/metrics", tags=["health"], media_type="text/plain")
async def metrics() -> Response[bytes]:
    """Counters and times of this process, in Prometheus' format."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


_AGAIN = {"Retry-After": "5"}


def _failed(checks: Sequence[HealthCheck]) -> list[str]:
    return [c.name for c in checks if not c.ok]


ROUTES = [healthz, readyz, metrics]
