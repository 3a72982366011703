"""The doors of lead forms, over HTTP: what comes in, what is answered, what is written."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import typer
from typer.testing import CliRunner

from portaria.cli.simulate_lead import lead
from portaria.crm.forms import (
    LeadFormDraft,
    LeadFormPatch,
    archive_form,
    create_form,
    list_forms,
    update_form,
)
from portaria.crm.forms.http import FormArrival, LeadForms
from portaria.db.pool import Database
from portaria.errors import Refusal
from tests.conftest import TestDatabase
from tests.support.http import serving
from tests.support.rotation import Desk

FORM_BODY = {"content-type": "application/x-www-form-urlencoded"}


class Shop:
    """A desk with a form and its doors open."""

    def __init__(self, desk: Desk, pool: Database, client: httpx.AsyncClient, token: str) -> None:
        self.desk, self.pool, self.client, self.token = desk, pool, client, token
        self.url = f"/api/v1/lead-forms/{token}"
        self.refused: list[int] = []
        self.rate: int | None = None

    async def post(self, body: dict[str, Any], **more: Any) -> httpx.Response:
        return await self.client.post(self.url, json=body, **more)

    @property
    def leads(self) -> list[tuple[Any, ...]]:
        return self.desk.conn.execute(
            "SELECT l.id, l.title, c.phone_number, c.email, l.source, l.conversation_id FROM crm_leads l"
            " JOIN contacts c ON c.id = l.contact_id WHERE l.organization_id = %s ORDER BY l.created_at",
            (self.desk.org,),
        ).fetchall()

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Status, note, signature mark and body of what was archived."""
        return self.desk.conn.execute(
            "SELECT status, error_message, valid_signature, convert_from(raw_body, 'UTF8')"
            " FROM webhook_events_log WHERE organization_id = %s AND provider = 'lead_form'"
            " ORDER BY received_at",
            (self.desk.org,),
        ).fetchall()


@pytest.fixture
async def shop(desk: Desk, pool: Database) -> AsyncIterator[Shop]:
    boss = desk.principal()
    async with pool.tenant(desk.org) as conn:
        form = await create_form(conn, boss, LeadFormDraft("Orçamento", "Peça o seu."))

    async def archive(arrival: FormArrival) -> None:
        async with pool.connection() as conn:
            await conn.execute(
                "INSERT INTO webhook_events_log (id, organization_id, provider, raw_body)"
                " VALUES (%s, %s, 'lead_form', %s)",
                (arrival.id, arrival.organization_id, arrival.raw_body),
            )

    refused: list[int] = []
    doors = LeadForms(
        db=pool, archive=archive, rate=1000, body_limit=100_000,
        refused=lambda organization_id, refusal: refused.append(refusal.status),
    )  # fmt: skip

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await doors(scope, receive, send)
            return
        for kind in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{kind}.complete"})

    async with serving(app) as url, httpx.AsyncClient(base_url=url, timeout=10) as client:
        made = Shop(desk, pool, client, form.path_token)
        made.refused = refused
        yield made


async def test_json_makes_a_lead_with_its_contact_and_no_conversation(shop: Shop) -> None:
    body = {"name": " Rui Sá ", "phone": "(11) 98765-4321", "email": "rui@x.co", "utm": {"a": 1}}
    answer = await shop.post(body)
    assert answer.status_code == 201
    [(lead, title, phone, email, source, conversation)] = shop.leads
    assert (title, phone, email, source, conversation) == (
        "Rui Sá",
        "+5511987654321",
        "rui@x.co",
        "form",
        None,
    )
    assert answer.json()["lead_id"] == str(lead)
    [(status, note, mark, raw)] = shop.rows
    assert (status, note, mark, json.loads(raw)) == ("processed", None, True, body)
    assert shop.desk.events("lead.created") == 1


@pytest.mark.parametrize("kind", ["urlencoded", "multipart"])
async def test_an_html_form_makes_a_lead_and_goes_to_the_thanks(shop: Shop, kind: str) -> None:
    fields = {"name": "José Ávila", "phone": "+55 11 3000-9999", "email": ""}
    more: dict[str, Any] = {"data": fields}
    if kind == "multipart":
        more["files"] = {"photo": ("x.png", b"\x89PNG" + b"x" * 2000)}
    answer = await shop.client.post(shop.url, **more)
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/f/{shop.token}?sent=1"
    assert [row[1:4] for row in shop.leads] == [("José Ávila", "+551130009999", None)]
    thanks = await shop.client.get(answer.headers["location"])
    assert "Recebemos seus dados" in thanks.text
    assert "<form" not in thanks.text


async def test_where_a_browser_goes_is_the_business_decision_alone(shop: Shop) -> None:
    boss = shop.desk.principal()
    async with shop.pool.tenant(shop.desk.org) as conn:
        [form] = await list_forms(conn, shop.desk.org)
        patch = LeadFormPatch(success_url="https://loja.example/obrigado?x=1")
        await update_form(conn, boss, form.id, patch)
    evil = {"name": "x", "email": "a@b.co", "success_url": "https://evil.example", "next": "//evil.example"}
    answer = await shop.client.post(f"{shop.url}?redirect=https://evil.example", data=evil)
    assert (answer.status_code, answer.headers["location"]) == (303, "https://loja.example/obrigado?x=1")
    page = await shop.client.get(f"/f/{shop.token}")
    assert "form-action 'self' https://loja.example;" in page.headers["content-security-policy"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "name"), ({"name": "x"}, "phone or email"), ({"name": " ", "phone": "+5511987654321"}, "name"),
    ({"name": 7, "email": "a@b.co"}, "name"), ({"name": "x" * 256, "email": "a@b.co"}, "name"),
    ({"name": "x", "phone": "98765-4321"}, "phone"), ({"name": "x", "phone": "abc"}, "phone"),
    ({"name": "x", "phone": 5511987654321}, "phone"), ({"name": "x", "phone": "+1"}, "phone"),
    ({"name": "x", "email": "a"}, "email"), ({"name": "x", "phone": "", "email": None}, "phone or email"),
    ({"name": "x", "email": "a@b.co", "idempotency_key": ["k"]}, "idempotency_key"),
    ({"name": "x", "email": "a@b.co", "idempotency_key": "k" * 256}, "idempotency_key"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "field"), WRONG)
async def test_what_is_missing_or_wrong_is_named_and_kept_in_the_archive(
    shop: Shop, body: dict[str, Any], field: str
) -> None:
    answer = await shop.post(body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "invalid_payload"
    assert field in answer.json()["detail"].lower()
    [(status, note, _, _)] = shop.rows
    assert (status, note) == ("error", answer.json()["detail"])
    assert shop.leads == []


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        (b"{", "application/json"), (b"[1]", "application/json"), (b"\xff", "application/json"),
        (b'{"name":' + b"[" * 50_000, "application/json"), (b"", "application/json"),
        (b"&".join(b"a%d=1" % n for n in range(201)), "application/x-www-form-urlencoded"),
        (b"--x\r\nrubbish", "multipart/form-data; boundary=x"), (b"", "multipart/form-data"),
    ],
)  # fmt: skip
async def test_a_body_that_is_not_what_it_says(shop: Shop, raw: bytes, label: str) -> None:
    answer = await shop.client.post(shop.url, content=raw, headers={"content-type": label})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_payload")
    assert [row[0] for row in shop.desk.conn.execute(
        "SELECT status FROM webhook_events_log WHERE organization_id = %s", (shop.desk.org,)
    )] == ["error"]  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"content-type": "text/plain"}, b"x", 415), ({}, b"x", 415),
        ({"content-type": "application/json", "content-encoding": "gzip"}, b"{}", 415),
        ({"content-type": "application/json"}, b" " * 100_001, 413),
    ],
)  # fmt: skip
async def test_what_is_refused_unread_leaves_no_row(
    shop: Shop, headers: dict[str, str], body: bytes, status: int
) -> None:
    answer = await shop.client.post(shop.url, content=body, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert shop.rows == []
    assert shop.refused == [status]


async def test_an_unknown_or_archived_form_is_404_and_other_methods_405(shop: Shop) -> None:
    good = {"name": "x", "email": "a@b.co"}
    for token in ("unknown-token", "short", "%00%00%00%00%00%00%00%00", "x" * 300):
        assert (await shop.client.post(f"/api/v1/lead-forms/{token}", json=good)).status_code == 404
        assert (await shop.client.get(f"/f/{token}")).status_code == 404
    for method in ("GET", "PUT", "DELETE", "HEAD"):
        answer = await shop.client.request(method, shop.url)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST, OPTIONS")
    assert (await shop.client.post(f"/f/{shop.token}", data=good)).headers["allow"] == "GET, HEAD"
    assert (await shop.client.post(shop.url + "/", json=good)).status_code == 201, (
        "no redirect answers a POST"
    )
    async with shop.pool.tenant(shop.desk.org) as conn:
        [form] = await list_forms(conn, shop.desk.org)
        await archive_form(conn, shop.desk.principal(), form.id)
    assert (await shop.post(good)).status_code == 404


async def test_a_double_click_makes_one_lead(shop: Shop) -> None:
    """Ten at the same time, then again with other words: the key is what counts."""
    body = {"name": "Rui", "phone": "+5511987654321", "idempotency_key": "k1"}
    answers = await asyncio.gather(*(shop.post(body) for _ in range(10)))
    answers.append(await shop.post({"name": "Outro", "email": "z@z.co"}, headers={"idempotency-key": "k1"}))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["lead_id"] for answer in answers}) == 1
    assert sum(not answer.json()["duplicate"] for answer in answers) == 1
    assert len(shop.leads) == 1
    assert sorted((row[0], row[1]) for row in shop.rows[:10] if row[1]) == [("processed", "duplicate")] * 9
    await shop.post({**body, "idempotency_key": "k2"})
    assert len(shop.leads) == 2


async def test_it_always_makes_a_lead_for_the_contact_that_is_already_there(shop: Shop) -> None:
    """By the phone's spellings, also a blocked one; by e-mail only for who left nothing else."""
    desk = shop.desk
    known = desk.contact("Rui")
    desk.conn.execute(
        "UPDATE contacts SET phone_number = '+5511987654321', is_blocked = true WHERE id = %s", (known,)
    )
    desk.lead(contact=known)
    for body in (
        {"name": "Rui Sá", "phone": "1187654321", "email": "rui@x.co"},
        {"name": "Rui Sá", "phone": "+55 11 98765-4321"},
        {"name": "Eva", "email": "Eva@X.co"},
        {"name": "Eva", "email": "eva@x.co"},
        {"name": "Zé", "phone": "+5511955554444", "email": "eva@x.co"},
        {"name": "Rui?", "email": "rui@x.co"},
    ):
        assert (await shop.post(body)).status_code == 201
    contacts = desk.conn.execute(
        "SELECT contact_id FROM crm_leads WHERE organization_id = %s ORDER BY created_at", (desk.org,)
    ).fetchall()
    order = list(dict.fromkeys(row[0] for row in contacts))
    assert [order.index(row[0]) for row in contacts] == [0, 0, 0, 1, 1, 2, 3]


async def test_texts_that_the_database_cannot_hold(shop: Shop) -> None:
    raw = b'{"name": "a\\u0000b\\ud800c", "email": "a@b.co", "idempotency_key": "\\u0000"}'
    answer = await shop.client.post(shop.url, content=raw, headers={"content-type": "application/json"})
    assert answer.status_code == 201
    assert shop.leads[0][1] == "a\ufffdb\ufffdc"
    answer = await shop.client.post(shop.url, content=b"name=%00%FF&email=a%40b.co", headers=FORM_BODY)
    assert answer.status_code == 303


async def test_the_trap_catches_machines_that_fill_in_forms(shop: Shop) -> None:
    """They learn nothing; a person still finds the arrival. A program may send a field of that name."""
    spam = {"name": "x", "email": "a@b.co", "website": "http://spam.example"}
    answer = await shop.client.post(shop.url, data=spam)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/f/{shop.token}?sent=1")
    assert shop.leads == []
    assert [row[:2] for row in shop.rows] == [("processed", "honeypot")]
    assert (await shop.post(spam)).status_code == 201


async def test_the_hosted_page_in_two_languages_without_scripts(shop: Shop) -> None:
    page = await shop.client.get(f"/f/{shop.token}")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert '<html lang="pt-BR">' in page.text
    assert "Telefone com DDD" in page.text
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    english = await shop.client.get(f"/f/{shop.token}/", headers={"accept-language": "en-GB,pt;q=0.5"})
    assert "Phone with area code" in english.text
    keys = {re.findall(r'idempotency_key" value="([^"]+)"', p.text)[0] for p in (page, english)}
    assert len(keys) == 2, "each page has a key of its own"
    head = await shop.client.head(f"/f/{shop.token}")
    assert (head.status_code, head.content) == (200, b"")


async def test_a_browser_sees_its_page_again_with_what_is_wrong(shop: Shop) -> None:
    fields = {"name": '"><script>alert(1)</script>', "phone": "123", "idempotency_key": "mine"}
    answer = await shop.client.post(shop.url, data=fields, headers={"accept": "text/html,*/*"})
    assert answer.status_code == 422
    assert "Informe o telefone com DDD." in answer.text
    assert "<script" not in answer.text
    assert 'value="123"' in answer.text
    assert 'value="mine"' in answer.text
    plain = await shop.client.post(shop.url, data=fields)
    assert plain.headers["content-type"] == "application/problem+json"


async def test_any_page_may_post(shop: Shop) -> None:
    preflight = await shop.client.options(shop.url, headers={"origin": "https://loja.example"})
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, "*")
    for body in ({"name": "x", "email": "a@b.co"}, {}):
        assert (await shop.post(body)).headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("path", ["api/v1/lead-forms", "f"])
async def test_the_command_simulate_lead(shop: Shop, path: str) -> None:
    app = typer.Typer()
    app.command()(lead)
    words = ["--url", f"{shop.client.base_url}/{path}/{shop.token}", "--count", "3", "--json"]
    ran = await asyncio.to_thread(CliRunner().invoke, app, words)
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["answers"] == {"201": 3}
    assert len({row[2] for row in shop.leads}) == 3


@pytest.fixture
def doors(desk: Desk, pool: Database) -> Any:
    """One request straight to the doors, with the given limit, address and archive."""

    async def ask(token: str, *, rate: int | None, client: str, archive: Any = None) -> tuple[int, Any]:
        async def nothing(arrival: FormArrival) -> None: ...

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request", "body": b'{"name": "x", "email": "a@b.co"}'}

        scope = {
            "type": "http", "method": "POST", "path": f"/api/v1/lead-forms/{token}", "query_string": b"",
            "headers": [(b"content-type", b"application/json")], "client": (client, 1),
        }  # fmt: skip
        await LeadForms(db=pool, archive=archive or nothing, rate=rate)(scope, receive, send)
        return sent[0]["status"], dict(sent[0]["headers"])

    return ask


async def test_an_address_may_send_so_many_a_minute_to_one_form(
    desk: Desk, pool: Database, doors: Any
) -> None:
    """Counted in the database: whichever process asks."""
    boss = desk.principal()
    async with pool.tenant(desk.org) as conn:
        one, two = [(await create_form(conn, boss, LeadFormDraft(name))).path_token for name in "AB"]
    at_once = await asyncio.gather(*(doors(one, rate=5, client="203.0.113.7") for _ in range(8)))
    assert sorted(status for status, _ in at_once) == [201] * 5 + [429] * 3
    status, headers = await doors(one, rate=5, client="203.0.113.7")
    assert status == 429
    assert 1 <= int(headers[b"retry-after"]) <= 60
    assert (await doors(two, rate=5, client="203.0.113.7"))[0] == 201
    assert (await doors(one, rate=5, client="203.0.113.8"))[0] == 201
    assert (await doors(one, rate=None, client="203.0.113.7"))[0] == 201, "dev has no limit"
    desk.conn.execute("UPDATE lead_form_rates SET ends_at = now() WHERE hits >= 5")
    assert (await doors(one, rate=5, client="203.0.113.7"))[0] == 201
    for client, expected in (("2001:db8::1", 201), ("2001:db8::ffff", 429), ("2001:db8:0:1::1", 201)):
        assert (await doors(one, rate=1, client=client))[0] == expected, "a customer's network is one address"
    for client, expected in (("::ffff:198.51.100.1", 201), ("198.51.100.1", 429)):
        assert (await doors(one, rate=1, client=client))[0] == expected


async def test_nothing_is_promised_that_was_not_written_down(desk: Desk, pool: Database, doors: Any) -> None:
    boss = desk.principal()
    async with pool.tenant(desk.org) as conn:
        form = await create_form(conn, boss, LeadFormDraft("A"))

    async def full(arrival: FormArrival) -> None:
        raise OSError("disk full")

    status, headers = await doors(form.path_token, rate=None, client="203.0.113.7", archive=full)
    assert (status, headers[b"retry-after"]) == (503, b"10")
    assert desk.events("lead.created") == 0


async def test_a_database_that_is_away_is_503_not_404(shared: TestDatabase, doors: Any) -> None:
    away = Database(shared.app_url.replace("dbname=", "dbname=no_such_"), name="x", size=1, timeout=0.2)
    await away.open()
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def nothing(arrival: FormArrival) -> None: ...

    for method, path in (("POST", "/api/v1/lead-forms/some-token-1"), ("GET", "/f/some-token-1")):
        sent.clear()
        scope = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b""}
        await LeadForms(db=away, archive=nothing)(scope, receive, send)
        assert sent[0]["status"] == 503
    await away.close()


async def test_only_managers_keep_forms_and_only_their_own(desk: Desk, pool: Database) -> None:
    boss, agent = desk.principal("manager"), desk.principal("agent")
    other = Desk.open(desk.conn, desk.make)
    async with pool.tenant(desk.org) as conn:
        form = await create_form(conn, boss, LeadFormDraft("A"))
        with pytest.raises(Refusal):
            await create_form(conn, agent, LeadFormDraft("B"))
    async with pool.tenant(other.org) as conn:
        with pytest.raises(Refusal):
            await archive_form(conn, other.principal(), form.id)
        assert await list_forms(conn, other.org) == []
    assert len(form.path_token) >= 20
    assert isinstance(form.id, UUID)
    assert form.id != uuid4()
