"""Where a request could lead somebody astray, or turn a provider away wrongly."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest

from portaria.identity.passwords import Passwords
from portaria.intake.providers import samples
from portaria.wiring import web_app
from tests.conftest import TestDatabase
from tests.intake.conftest import channel_path, channel_with_secret
from tests.security.conftest import Visits
from tests.support.factory import Factory
from tests.support.http import make_settings, serving

PASSWORD = "senha-inventada-1"
TOKEN = "ficha-inventada-do-accounts-0123456789"


@pytest.fixture
async def desk(database: TestDatabase) -> AsyncIterator[httpx.AsyncClient]:
    """A whole web process's application."""
    app = web_app(
        make_settings(database.app_url, accounts_webhook_token=TOKEN, form_rate=3, sign_in_per_address=5)
    )
    async with serving(app) as url, httpx.AsyncClient(base_url=url, verify=False, timeout=60) as client:
        yield client


ELSEWHERE = [
    "https://evil.example", "//evil.example", "/\\evil.example", "/\t/evil.example", "javascript:alert(1)",
    "/\r\nSet-Cookie: x=y", "https:/evil.example", "/..//evil.example", "/\u2028/evil.example",
]  # fmt: skip


async def test_the_sign_in_leads_nowhere_but_inside(visits: Visits, owner: psycopg.Connection) -> None:
    user = visits.house(1).people["agent"]
    hashed = await Passwords().hash(PASSWORD)
    owner.execute(
        "UPDATE users SET email = 'ana@exemplo.test', password_hash = %s WHERE id = %s", (hashed, user)
    )
    token = (await visits.client.get("/sign-in")).cookies["portaria-visitor"]
    for place in ELSEWHERE:
        await sign_in_to(visits, place, token)


async def sign_in_to(visits: Visits, place: str, token: str) -> None:
    answer = await visits.client.post(
        "/sign-in", params={"next": place},
        data={"email": "ana@exemplo.test", "password": PASSWORD, "csrf": token},
        headers={"Cookie": f"portaria-visitor={token}"},
    )  # fmt: skip
    assert answer.status_code == 303, answer.text
    where = answer.headers["location"]
    assert where.startswith("/"), where
    assert httpx.URL("https://crm.exemplo.test").join(where).host == "crm.exemplo.test", where
    assert not where.startswith(("//", "/\\")), where
    assert "\n" not in where
    assert "\r" not in where
    assert [c for c in answer.headers.get_list("set-cookie") if c.startswith("x=")] == []


async def test_the_host_header_is_nobodys_address(visits: Visits, desk: httpx.AsyncClient) -> None:
    """Links come from the settings: a host that somebody made up stands in no page and no redirect."""
    house = visits.house(1)
    cookie = await visits.cookie(house.people["admin"])
    evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}
    for path in ("/", "/leads", "/channels", "/forms", f"/forms/{house.ids['form_id']}", "/sign-in",
                 "/nothing", f"/channels/{house.ids['channel_id']}", "/profile"):  # fmt: skip
        for seen in (cookie, None):
            answer = await visits.ask(seen, "GET", path, headers=evil)
            assert "evil.example" not in answer.text + str(answer.headers), path
    for path in ("/", "/api/v1/me", "/schema/openapi.json", "/healthz", "/f/nothing", "/api/v1/webhooks/x"):
        answer = await desk.get(path, headers=evil)
        assert "evil.example" not in answer.text + str(answer.headers), path


async def test_a_form_of_another_host_is_foreign_even_if_it_names_itself(visits: Visits) -> None:
    house = visits.house(1)
    cookie = await visits.cookie(house.people["admin"])
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "http://portaria.test.evil.example"}):
        answer = await visits.ask(cookie, "POST", "/organization", headers=headers, data={"name": "x"})
        assert answer.status_code == 403


async def test_a_providers_burst_is_never_turned_away(
    desk: httpx.AsyncClient, make: Factory, owner: psycopg.Connection
) -> None:
    """Rate limits are for forms and sign-ins: deliveries of one address, hundreds at once, all come in, also
    while that address is shut out everywhere else.
    """
    channel = channel_with_secret(make, make.organization())
    tried = [
        (await desk.post("/api/v1/auth/token", json={"email": f"{n}@b.test", "password": "x"})).status_code
        for n in range(6)
    ]
    assert tried == [401] * 5 + [429]

    async def deliver(n: int) -> int:
        message = samples.message_received(
            channel.account_id, f"w{n}", f"+55119876{n:05d}", "Olá", datetime.now(UTC)
        )
        raw = samples.encode(message)
        return (
            await desk.post(channel_path(channel), content=raw, headers=samples.sign(raw, channel.secret))
        ).status_code

    async def tell(n: int) -> int:
        body = {"event_id": f"e{n}", "event_type": "x", "occurred_at": "2026-10-27T10:00:00Z", "data": {}}
        return (
            await desk.post(
                "/api/v1/incoming_events", json=body, headers={"Authorization": f"Bearer {TOKEN}"}
            )
        ).status_code

    for n in range(0, 150, 50):
        answers = await asyncio.gather(
            *(deliver(i) for i in range(n, n + 50)), *(tell(i) for i in range(n, n + 50))
        )
        assert set(answers) == {200, 202}
    [(messages, events)] = owner.execute(
        "SELECT (SELECT count(*) FROM webhook_events_log WHERE valid_signature),"
        " (SELECT count(*) FROM incoming_events)"
    ).fetchall()
    assert (messages, events) == (150, 150)


async def test_a_forms_limit_is_of_one_form_and_one_address(
    desk: httpx.AsyncClient, make: Factory, owner: psycopg.Connection
) -> None:
    organization = make.organization()
    for name in ("formulario-um", "formulario-dois"):
        owner.execute(
            "INSERT INTO lead_forms (organization_id, id, path_token, name)"
            " VALUES (%s, gen_random_uuid(), %s, 'x')",
            (organization, name),
        )

    async def submit(name: str, address: str) -> httpx.Response:
        return await desk.post(
            f"/api/v1/lead-forms/{name}", json={"name": "Lia", "email": "lia@exemplo.test"},
            headers={"X-Forwarded-For": address},
        )  # fmt: skip

    answers = [await submit("formulario-um", "203.0.113.7") for _ in range(4)]
    assert [a.status_code for a in answers] == [201, 201, 201, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    assert (await submit("formulario-dois", "203.0.113.7")).status_code == 201
    assert (await submit("formulario-um", "203.0.113.8")).status_code == 201


async def test_cookies_over_https_are_for_https_and_this_host_alone(database: TestDatabase) -> None:
    app = web_app(make_settings(database.app_url, public_url="https://crm.exemplo.test"))
    async with serving(app) as url, httpx.AsyncClient(base_url=url, verify=False) as client:
        cookies = (await client.get("/sign-in")).headers.get_list("set-cookie")
    assert cookies
    for cookie in cookies:
        assert "; Secure" in cookie, cookie
        assert "httponly" in cookie.lower(), cookie
        assert "samesite=strict" in cookie.lower() or "samesite=lax" in cookie.lower(), cookie
        assert "domain" not in cookie.lower(), cookie


async def test_answers_name_neither_server_nor_version(desk: httpx.AsyncClient) -> None:
    for path in ("/", "/api/v1/me", "/healthz", "/f/nothing"):
        headers = (await desk.get(path)).headers
        assert "server" not in headers
        assert "x-powered-by" not in headers


async def test_no_api_route_answers_to_another_sites_script(desk: httpx.AsyncClient) -> None:
    """Only a lead form may be posted to from any page; nothing of it rests on cookies."""
    asked: dict[str, Any] = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for path in ("/api/v1/leads", "/api/v1/auth/token", "/api/v1/incoming_events", "/leads", "/"):
        for method in ("OPTIONS", "GET", "POST"):
            answer = await desk.request(method, path, headers=asked)
            assert "access-control-allow-origin" not in answer.headers, (method, path)
            assert "access-control-allow-credentials" not in answer.headers
