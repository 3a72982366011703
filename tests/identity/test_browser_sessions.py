"""Browser sessions: renewed at sign-in, ended at sign-out for good, no id of an attacker's choosing."""

from collections.abc import AsyncIterator

import httpx
import psycopg
import pytest
from litestar import Litestar, Request, get
from litestar.di import NamedDependency

from portaria.db.pool import Database
from portaria.identity.browser_sessions import BrowserSessionConfig, BrowserSessions, renew_session

Asked = Request[object, object, object]
Client = httpx.AsyncClient


@get("/look")
async def look(request: Asked) -> dict[str, object]:
    return request.session


@get("/sign-in")
async def sign_in(request: Asked) -> None:
    request.set_session({"user": "ana"})
    renew_session(request)


@get("/visit")
async def visit(request: Asked) -> None:
    request.session["visits"] = request.session.get("visits", 0) + 1


@get("/sign-out")
async def sign_out(request: Asked) -> None:
    request.clear_session()


@get("/slow")
async def sign_out_under_a_slow_request(request: Asked, sessions: NamedDependency[BrowserSessions]) -> None:
    await sessions.end(request.cookies["portaria"])
    request.session["late"] = True


@pytest.fixture
async def client(db: Database) -> AsyncIterator[Client]:
    sessions = BrowserSessions(db, lifetime=100)

    async def provided() -> BrowserSessions:
        return sessions

    app = Litestar(
        [look, sign_in, visit, sign_out, sign_out_under_a_slow_request],
        middleware=[BrowserSessionConfig(sessions=sessions, secure=False).middleware],
        dependencies={"sessions": provided},
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://portaria.test") as made:
        yield made


def rows(owner: psycopg.Connection) -> int:
    [(count,)] = owner.execute("SELECT count(*) FROM browser_sessions").fetchall()
    return int(count)


async def test_a_visitor_without_a_session_costs_no_row_and_gets_no_cookie(
    client: Client, owner: psycopg.Connection
) -> None:
    answer = await client.get("/look")
    assert (answer.json(), "set-cookie" in answer.headers, rows(owner)) == ({}, False, 0)


async def test_a_session_keeps_its_values_across_requests(client: Client, owner: psycopg.Connection) -> None:
    for _ in range(3):
        await client.get("/visit")
    assert (await client.get("/look")).json() == {"visits": 3}
    assert rows(owner) == 1


async def test_signing_in_gives_a_new_id_and_the_old_one_ends(
    client: Client, owner: psycopg.Connection
) -> None:
    await client.get("/visit")
    before = client.cookies["portaria"]
    await client.get("/sign-in")
    assert client.cookies["portaria"] != before
    assert (await client.get("/look")).json() == {"user": "ana"}
    client.cookies = httpx.Cookies({"portaria": before})
    assert (await client.get("/look")).json() == {}
    assert rows(owner) == 1


@pytest.mark.parametrize("planted", ["planted-by-another", "null", "a" * 5000])
async def test_an_id_that_is_not_ours_is_never_adopted(
    client: Client, owner: psycopg.Connection, planted: str
) -> None:
    client.cookies = httpx.Cookies({"portaria": planted})
    answer = await client.get("/visit")
    assert planted not in answer.headers["set-cookie"]
    client.cookies = httpx.Cookies({"portaria": planted})
    assert (await client.get("/look")).json() == {}


async def test_signing_out_ends_the_session_here_and_in_the_table(
    client: Client, owner: psycopg.Connection
) -> None:
    await client.get("/sign-in")
    kept = client.cookies["portaria"]
    answer = await client.get("/sign-out")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert rows(owner) == 0
    client.cookies = httpx.Cookies({"portaria": kept})
    assert (await client.get("/look")).json() == {}


async def test_a_request_that_ends_after_the_sign_out_does_not_bring_the_session_back(
    client: Client, owner: psycopg.Connection
) -> None:
    await client.get("/sign-in")
    await client.get("/slow")
    assert rows(owner) == 0


async def test_a_session_ends_when_unused_and_is_prolonged_by_use(
    client: Client, owner: psycopg.Connection
) -> None:
    await client.get("/sign-in")
    owner.execute("UPDATE browser_sessions SET expires_at = now() + interval '50 s'")
    assert "Max-Age=100" in (await client.get("/look")).headers["set-cookie"]
    assert "set-cookie" not in (await client.get("/look")).headers
    owner.execute("UPDATE browser_sessions SET expires_at = now()")
    assert (await client.get("/look")).json() == {}
    await client.get("/sign-in")
    assert rows(owner) == 1, "the ended one is swept away"


async def test_the_cookie_is_for_this_host_and_no_script(client: Client, db: Database) -> None:
    cookie = (await client.get("/sign-in")).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Secure" not in cookie
    secure = BrowserSessionConfig(sessions=BrowserSessions(db, 100), secure=True)
    assert (secure.key, secure.path, secure.domain) == ("__Host-portaria", "/", None)


async def test_the_table_does_not_hold_what_the_cookie_holds(
    client: Client, owner: psycopg.Connection
) -> None:
    await client.get("/sign-in")
    kept = owner.execute("SELECT id_hash, data FROM browser_sessions").fetchall()
    assert client.cookies["portaria"] not in repr(kept)


async def test_a_tenants_role_reads_neither_sessions_nor_throttles(
    db: Database, owner: psycopg.Connection
) -> None:
    for table in ("browser_sessions", "sign_in_throttles"):
        for right in ("SELECT", "INSERT", "UPDATE", "DELETE"):
            [(may,)] = owner.execute(
                "SELECT has_table_privilege('authenticated', %s, %s)", (table, right)
            ).fetchall()
            assert not may, (table, right)
