"""Every error is a problem document with `code`; never a traceback, never HTML (spec 6)."""

import json

import httpx
import psycopg
import pytest
from litestar import Litestar, get

from portaria.api import ApiDeps, create_api
from portaria.api.problems import exception_handlers
from portaria.db.pool import Database
from tests.api.world import World

NAMES = {"type", "title", "status", "code", "detail"}


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, object]:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), (
        answer.text
    )
    document = answer.json()
    assert document.keys() >= NAMES
    assert (document["status"], document["code"]) == (status, code)
    assert answer.headers["x-content-type-options"] == "nosniff"
    return dict(document)


UNKNOWN = ["/nothing", "/api/v1/nothing", "/api/v2/notices", "/api/v1/notices/not-an-id"]


async def test_an_unknown_route_is_404(client: httpx.AsyncClient) -> None:
    for path in UNKNOWN:
        problem(await client.get(path), 404, "not_found")


async def test_another_method_is_405_with_allow(client: httpx.AsyncClient) -> None:
    for method in ("PUT", "TRACE", "DELETE"):
        answer = await client.request(method, "/api/v1/notices")
        problem(answer, 405, "method_not_allowed")
        assert "GET" in answer.headers["allow"]


BODIES = [
    (b"", 422, "invalid_request"),
    (b"{", 400, "invalid_request"),
    (b"\xff\xfe", 400, "invalid_request"),
    (b'{"email": "a", "password": NaN}', 400, "invalid_request"),
    (b"[" * 50_000 + b"]" * 50_000, 400, "invalid_request"),
    (b'{"x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", 400, "invalid_request"),
    (b"[]", 422, "invalid_request"),
    (b"null", 422, "invalid_request"),
    (b"{}", 422, "invalid_request"),
    (b'{"email": 1, "password": "x"}', 422, "invalid_request"),
    (b'{"email": "a@b.c", "password": "x", "more": 1}', 422, "invalid_request"),
    (b'{"email": "\\ud800", "password": "x"}', 400, "invalid_request"),
    (b'{"email": "a\\u0000", "password": "x"}', 401, "invalid_credentials"),
    (b" " * (1024 * 1024 + 1), 413, "body_too_large"),
]


async def test_a_body_that_does_not_fit_is_refused(client: httpx.AsyncClient) -> None:
    for body, status, code in BODIES:
        headers = {"content-type": "application/json"}
        problem(await client.post("/api/v1/auth/token", content=body, headers=headers), status, code)


async def test_a_fault_in_the_body_is_named_by_its_place_and_never_by_its_value(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.post("/api/v1/auth/token", json={"email": ["segredo-planted"], "password": "x"})
    detail = str(problem(answer, 422, "invalid_request")["detail"])
    assert "email" in detail
    assert "segredo-planted" not in answer.text


UNFIT = [
    "limit=0", "limit=201", "limit=x", "limit=99999999999999999999", "limit=-1", "cursor=x", "cursor=%ff",
    "cursor=W10", "cursor=bnVsbA", "cursor=", "status=nothing", "kind=", "kind=a%00b",
    "organization_id=x", "cursor=" + "a" * 2000,
]  # fmt: skip


async def test_a_query_that_does_not_fit_is_422(world: World) -> None:
    admin = world.house(1).people["admin"]
    for query in UNFIT:
        answer = await world.ask(admin, "GET", f"/api/v1/notices?{query}")
        assert answer.status_code == 422, (query, answer.text)
        assert answer.json()["code"] in ("invalid_request", "invalid_cursor", "invalid_organization")


ODD = [
    "event_type=a%00b", "since=2026-01-01", "since=2026-01-01T00:00:00",
    "since=0001-01-01T00:00:00%2B14:00",
    "until=9999-12-31T23:59:59-12:00", "external_id=%ed%a0%80", "action=" + "%F0%9F%98%80" * 60,
]  # fmt: skip


async def test_odd_filters_are_answered_or_refused_but_no_fault_of_ours(world: World) -> None:
    admin = world.house(1).people["admin"]
    for query in ODD:
        for path in ("/api/v1/webhook-events", "/api/v1/audit"):
            answer = await world.ask(admin, "GET", f"{path}?{query}")
            assert answer.status_code in (200, 422), (path, query, answer.text)


async def test_a_cursor_of_another_list_is_refused(world: World) -> None:
    house = world.house(1)
    admin = house.people["admin"]
    await world.ask(admin, "POST", "/api/v1/automation-rules", json={})
    first = await world.ask(admin, "GET", "/api/v1/members?limit=1")
    cursor = first.json()["next_cursor"]
    answer = await world.ask(admin, "GET", f"/api/v1/webhook-events?cursor={cursor}")
    problem(answer, 422, "invalid_cursor")


async def test_a_database_that_is_away_is_503_with_retry_after(
    deps: ApiDeps, db: Database, world: World
) -> None:
    house = world.house(1)
    token = world.token(house.people["admin"])
    await db.close()
    answer = await world.client.get("/api/v1/notices", headers={"Authorization": f"Bearer {token}"})
    problem(answer, 503, "unavailable")
    assert int(answer.headers["retry-after"]) > 0


async def test_a_read_that_takes_too_long_is_ended(
    deps: ApiDeps, world: World, owner: psycopg.Connection
) -> None:
    house = world.house(1)
    object.__setattr__(deps, "read_within", 0.1)
    with owner.transaction():
        owner.execute("LOCK TABLE notices")
        answer = await world.ask(house.people["admin"], "GET", "/api/v1/notices")
    problem(answer, 503, "too_slow")
    assert "retry-after" in answer.headers


async def test_a_bug_is_500_without_a_trace(deps: ApiDeps) -> None:
    @get("/bug")
    async def bug() -> None:
        raise KeyError("segredo-planted")

    app = Litestar([bug], exception_handlers=exception_handlers(), logging_config=None, debug=False)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x.test") as client:
        answer = await client.get("/bug")
    problem(answer, 500, "internal_error")
    assert "segredo-planted" not in answer.text
    assert "Traceback" not in answer.text


async def test_the_log_of_a_failed_statement_quotes_no_row(
    owner: psycopg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    @get("/bug")
    async def bug() -> None:
        owner.execute(
            "INSERT INTO users (id, email, name) VALUES (gen_random_uuid(), 'x', 'segredo-planted')"
        )

    app = Litestar([bug], exception_handlers=exception_handlers(), logging_config=None, debug=False)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x.test") as client:
        problem(await client.get("/bug"), 500, "internal_error")
    said = "".join(capsys.readouterr())
    assert "users_email_check" in said
    assert "segredo-planted" not in said.replace("'x', 'segredo-planted'", "")


async def test_debugging_by_the_environment_stays_off(deps: ApiDeps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITESTAR_DEBUG", "1")
    monkeypatch.setenv("LITESTAR_PDB", "1")
    app = create_api(deps)
    assert (app.debug, app.pdb_on_exception) == (False, False)


async def test_the_openapi_document_describes_the_routes_and_loads_nothing_from_elsewhere(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.get("/schema/openapi.json")
    assert answer.status_code == 200
    document = json.loads(answer.content)
    assert document["paths"]["/api/v1/notices"]["get"]["security"] == [{"bearer": []}]
    assert "bearer" in document["components"]["securitySchemes"]
    responses = document["paths"]["/api/v1/notices/{notice_id}/resolve"]["post"]["responses"]
    assert {"200", "401", "403", "404", "422", "500", "503"} <= responses.keys()
    for path in ("/schema", "/schema/swagger", "/schema/redoc"):
        assert "<script" not in (await client.get(path)).text
