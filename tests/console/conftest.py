"""The console on a real database, called in process, as a browser would call it."""

import json
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

import httpx
import psycopg
import pytest

from portaria.asgi import App
from portaria.console.app import create_console
from portaria.console.deps import Console
from portaria.crm.departure import release_leads
from portaria.db.pool import Database
from portaria.identity.browser_sessions import BrowserSessionConfig, BrowserSessions
from portaria.identity.passwords import Passwords
from portaria.identity.secret_box import SecretBox
from portaria.identity.throttle import Throttle, ThrottleLimits
from portaria.intake.by_hand import Replayed, replay_by_hand
from tests.support.factory import Factory
from tests.support.shared import pool, shared, shared_owner

__all__ = ["pool", "shared", "shared_owner"]

PASSWORDS = Passwords()
_TOKEN = re.compile(r'name="csrf" value="([^"]+)"')


@pytest.fixture
def app(pool: Database) -> App:
    async def replay(row: UUID, actor: str, organization_id: UUID | None) -> Replayed:
        return await replay_by_hand(pool, row, actor=actor, organization_id=organization_id)

    return create_console(
        Console(
            db=pool, box=SecretBox("chave-de-teste-" * 3), passwords=PASSWORDS,
            sessions=BrowserSessionConfig(BrowserSessions(pool, 3600.0), secure=False),
            throttle=Throttle(ThrottleLimits(per_email_and_address=2)), replay=replay,
            on_revoke=release_leads, address="https://crm.exemplo.test",
        )
    )  # fmt: skip


@dataclass
class Browser:
    """Somebody's browser: keeps cookies, sends the token of the page it was last on."""

    client: httpx.AsyncClient
    token: str = ""

    async def get(self, path: str, **headers: str) -> httpx.Response:
        answer = await self.client.get(path, headers=headers)
        if found := _TOKEN.search(answer.text):
            self.token = found[1]
        return answer

    async def post(self, path: str, data: dict[str, str] | None = None, **headers: str) -> httpx.Response:
        fields = {"csrf": self.token, **(data or {})}
        return await self.client.post(path, data=fields, headers=headers)


@dataclass
class Street:
    """Where browsers come from."""

    app: App
    pool: Database
    owner: psycopg.Connection
    opened: list[httpx.AsyncClient]

    def anybody(self, **cookies: str) -> Browser:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)  # type: ignore[arg-type]
        client = httpx.AsyncClient(transport=transport, base_url="http://portaria.test", cookies=cookies)
        self.opened.append(client)
        return Browser(client)

    async def member(self, organization_id: UUID, role: str, *, operator: bool = False) -> Browser:
        """A new member who is signed in."""
        user = Factory(self.owner).member(organization_id, f"Alguém ({role})", role=role)
        self.owner.execute("UPDATE users SET is_operator = %s WHERE id = %s", (operator, user))
        token = secrets.token_urlsafe(24)
        known = {"user_id": str(user), "epoch": 0, "csrf": token, "organization_id": None}
        session = await BrowserSessions(self.pool, 3600).create(json.dumps(known).encode())
        browser = self.anybody(portaria=session)
        browser.token = token
        return browser


@pytest.fixture
async def street(app: App, pool: Database, shared_owner: psycopg.Connection) -> AsyncIterator[Street]:
    made = Street(app, pool, shared_owner, [])
    yield made
    for client in made.opened:
        await client.aclose()


@pytest.fixture
def make_shared(shared_owner: psycopg.Connection) -> Factory:
    return Factory(shared_owner)
