"""A real Chromium in front of a whole front desk. Without a browser these tests are skipped, and say so."""

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from portaria.db.embedded import EmbeddedServer
from portaria.identity.browser_sessions import BrowserSessions
from portaria.identity.passwords import Passwords
from tests.conftest import TestDatabase, app_url
from tests.console.workbench import FrontDesk, front_desk
from tests.support.browser import FLAGS, find_chromium
from tests.support.factory import Factory

PASSWORD = "senha-inventada-1"
_HASH = asyncio.run(Passwords().hash(PASSWORD))
_TIMEOUT = 10_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/browser/" in item.nodeid or item.nodeid.startswith("tests/browser"):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    """Per module: while it runs, its event loop is this thread's, and no asynchronous test could start."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip("NO CHROMIUM FOUND: the browser tests did not run (see scripts/ensure-chromium)")
    started = playwright.chromium.launch(executable_path=str(program), args=list(FLAGS[1:]))
    yield started
    started.close()


@pytest.fixture(scope="session")
def desk_database(server: EmbeddedServer) -> TestDatabase:
    """One database for every browser test; each has an organization of its own."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as conn:
        conn.execute("CREATE DATABASE browser TEMPLATE template_portaria")
    return TestDatabase("browser", server.url("browser"), app_url(server.url("browser")))


@pytest.fixture(scope="session")
def desk(desk_database: TestDatabase) -> Iterator[FrontDesk]:
    with front_desk(desk_database.app_url) as started:
        yield started


@pytest.fixture
def owner(desk_database: TestDatabase) -> Iterator[psycopg.Connection]:
    with psycopg.connect(desk_database.owner_url, autocommit=True) as conn:
        yield conn


@dataclass
class Pages:
    """Opens pages as somebody: signed in through the form, in their language."""

    desk: FrontDesk
    owner: psycopg.Connection
    open_context: Callable[..., BrowserContext]

    def sign_in(self, email: str, *, locale: str = "pt-BR", **options: object) -> Page:
        page = self.anybody(locale=locale, **options)
        page.goto("/sign-in")
        page.locator("#email").fill(email)
        page.locator("#password").fill(PASSWORD)
        page.locator("form button[type=submit]").click()
        page.wait_for_url(lambda url: "/sign-in" not in url)
        return page

    def at_work(self, email: str, **options: object) -> Page:
        """Somebody who signed in before: a session like the form makes one, without its slow hash."""
        [(user,)] = self.owner.execute("SELECT id FROM users WHERE email = %s", (email,)).fetchall()
        known = {"user_id": str(user), "epoch": 0, "csrf": secrets.token_urlsafe(24), "organization_id": None}
        session = self.desk.do(lambda: BrowserSessions(self.desk.db, 3600).create(json.dumps(known).encode()))
        page = self.anybody(**options)  # type: ignore[arg-type]
        page.context.add_cookies([{"name": "portaria", "value": session, "url": self.desk.url}])
        return page

    def anybody(self, *, locale: str = "pt-BR", **options: object) -> Page:
        context = self.open_context(base_url=self.desk.url, locale=locale, **options)
        context.set_default_timeout(_TIMEOUT)
        page = context.new_page()
        page.on("dialog", lambda dialog: dialog.accept())
        return page

    def person(
        self, organization_id: object, name: str, role: str, *, locale: str = "pt_BR", operator: bool = False
    ) -> str:
        """A member with a password; the e-mail."""
        user = Factory(self.owner).member(organization_id, name, role=role)  # type: ignore[arg-type]
        email = f"{user}@exemplo.test"
        self.owner.execute(
            "UPDATE users SET email = %s, password_hash = %s, locale = %s, is_operator = %s WHERE id = %s",
            (email, _HASH, locale, operator, user),
        )
        return email


@pytest.fixture
def pages(desk: FrontDesk, chromium: Browser, owner: psycopg.Connection) -> Iterator[Pages]:
    """Whatever a page does that it must not fails the test: an error in a script, another host, a fault."""
    opened: list[BrowserContext] = []
    faults: list[str] = []

    def open_context(**options: object) -> BrowserContext:
        context = chromium.new_context(**options)  # type: ignore[arg-type]
        context.on("request", lambda request: _note_foreign(request.url, desk.url, faults))
        context.on("weberror", lambda error: faults.append(f"script error: {error.error}"))
        context.on("console", lambda message: _note_message(message.type, message.text, faults))
        context.on("response", lambda r: faults.append(f"{r.status} {r.url}") if r.status >= 500 else None)
        opened.append(context)
        return context

    yield Pages(desk, owner, open_context)
    for context in opened:
        context.close()
    assert not faults, "\n".join(faults)


def _note_foreign(url: str, ours: str, faults: list[str]) -> None:
    if not url.startswith((ours, "data:", "blob:")):
        faults.append(f"a request to another host: {url}")


def _note_message(kind: str, text: str, faults: list[str]) -> None:
    # The browser reports answers like 409 here too: those are asserted where they are meant.
    if kind == "error" and "Failed to load resource" not in text:
        faults.append(f"console: {text}")
