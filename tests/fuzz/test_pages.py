"""What came in is looked at: every page of the console, and every row of the API's lists, whatever was sent.

The pages are walked by their own links, as a person would.
"""

import asyncio
import html
import re
from collections import Counter
from urllib.parse import urlsplit

import httpx

from portaria.identity.passwords import Passwords
from portaria.intake.providers import samples
from tests.fuzz.inputs import EXTREME
from tests.fuzz.target import ACCOUNTS_TOKEN, EVENTS, FUZZ, Target

PASSWORD = "senha-inventada-1"
PLANTED = "<i id=planted onerror=x>\x00\ud800\u202e"
LISTS = [
    "webhook-events",
    "conversations",
    "leads",
    "notices",
    "incoming-events",
    "audit",
    "members",
    "channels",
]
MOST = min(FUZZ // 6, 1500)
_LINK = re.compile(r'(?:href|hx-get)="(/[^"]*)"')
_NOT_WALKED = ("/static/", "/live", "/sign-out", "/service-worker")


def plant(target: Target) -> None:
    """Something nasty in everything that a page shows."""
    for raw in EXTREME.values():
        target.deliver(target.doors[0], raw)
        target.send("POST", EVENTS, raw, {"Authorization": f"Bearer {ACCOUNTS_TOKEN}"})
    for n, text in enumerate([PLANTED, PLANTED * 200, "", "\u202e" * 50, "a" * 100_000]):
        body = {
            **_message(target, f"planted-{n}", text), "event_id": f"{n}{PLANTED[:24]}",
            "event_type": PLANTED[:24], "occurred_at": "2026-10-27T10:00:00Z", "data": {PLANTED: text},
        }  # fmt: skip
        assert target.deliver(target.doors[0], samples.encode(body)).status_code == 200
        target.send("POST", EVENTS, samples.encode(body), {"Authorization": f"Bearer {ACCOUNTS_TOKEN}"})
        fields = {"name": text[:255] or "x", "email": "lia@exemplo.test"}
        label = {"Content-Type": "application/json"}
        target.send("POST", f"/api/v1/lead-forms/{target.form}", samples.encode(fields), label)
    broken = _message(target, "planted-9", PLANTED)
    broken["message"].pop("sentAt")  # type: ignore[attr-defined]
    assert target.deliver(target.doors[0], samples.encode(broken)).status_code == 200  # a notice
    leaving = _message(target, f"planted-8{PLANTED}", "PARAR")
    assert target.deliver(target.doors[0], samples.encode(leaving)).status_code == 200  # audited
    target.check()


def _message(target: Target, external_id: str, text: str) -> dict[str, object]:
    message = samples.message_received(
        target.channel.account_id, external_id, f"+55119876500{external_id[-1:]}1", text,
        samples.datetime.now(samples.UTC), PLANTED + text[:300], f"{external_id}{PLANTED[:24]}",
    )  # fmt: skip
    attachment = {"type": PLANTED, "url": f"javascript:{PLANTED}", "filename": PLANTED}
    message["message"]["attachments"] = [attachment]  # type: ignore[index]
    return message


def sign_in(target: Target) -> httpx.Client:
    email = f"{target.admin}@exemplo.test"
    hashed = asyncio.run(Passwords().hash(PASSWORD))
    target.make.conn.execute(
        "UPDATE users SET email = %s, password_hash = %s WHERE id = %s", (email, hashed, target.admin)
    )
    browser = httpx.Client(base_url=target.url, timeout=30, follow_redirects=True)
    form = browser.get("/sign-in").text
    token = re.search(r'name="csrf" value="([^"]+)"', form)
    assert token, form
    given = {"email": email, "password": PASSWORD, "csrf": token[1]}
    answer = browser.post("/sign-in", data=given)
    assert urlsplit(str(answer.url)).path == "/", answer.text
    return browser


def kind_of(address: str) -> str:
    """Pages that differ by an id alone are of one kind."""
    return re.sub(r"[0-9a-f-]{36}", "{id}", urlsplit(address).path)


def erase_somebody(target: Target) -> None:
    """A contact, a conversation and a lead without a person."""
    [(contact,)] = target.rows(
        "SELECT contact_id FROM messages WHERE organization_id = %s AND external_id = 'planted-1'",
        target.organization_id,
    )
    answer = target.send(
        "POST", f"/api/v1/contacts/{contact}/erase", b"", {"Authorization": f"Bearer {target.token}"}
    )
    assert answer.status_code == 200, answer.text


def test_no_page_is_poisoned(target: Target) -> None:
    plant(target)
    erase_somebody(target)
    browser = sign_in(target)
    waiting, seen = ["/"], {"/"}
    kinds: Counter[str] = Counter()
    while waiting and kinds.total() < MOST:
        address = min(waiting, key=lambda link: kinds[kind_of(link)])
        waiting.remove(address)
        kinds[kind_of(address)] += 1
        answer = browser.get(address)
        assert answer.status_code == 200, (address, answer.text[:2000])
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        text = answer.content.decode("utf-8")
        assert "<i id=planted" not in text, address
        assert 'href="javascript:' not in text, address
        assert "\x00" not in text, address
        for link in map(html.unescape, _LINK.findall(text)):
            if link not in seen and not link.startswith(_NOT_WALKED):
                seen.add(link)
                waiting.append(link)
    assert {
        "/", "/arrivals", "/arrivals/{id}", "/conversations", "/conversations/{id}", "/leads", "/leads/{id}",
        "/notices", "/accounts-events", "/accounts-events/{id}", "/audit", "/members", "/channels",
    } - kinds.keys() == set()  # fmt: skip


def test_no_list_of_the_api_is_poisoned(target: Target) -> None:
    plant(target)
    for name in LISTS:
        path: str | None = f"/api/v1/{name}?limit=200"
        rows = 0
        while path is not None and rows < 10 * MOST:
            page = target.ask(path)
            assert page.status_code == 200, (path, page.text)
            document = page.json()
            rows += len(document["items"])
            if name in ("webhook-events", "incoming-events", "conversations"):
                for item in document["items"][: MOST // 4]:
                    shown = target.ask(f"/api/v1/{name}/{item['id']}")
                    assert shown.status_code == 200, (name, item, shown.text)
            cursor = document["next_cursor"]
            path = f"/api/v1/{name}?limit=200&cursor={cursor}" if cursor else None
        assert rows > 0, name
