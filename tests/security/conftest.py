"""The console on a real database, called in process, and people of every role with a browser session."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from portaria.console.app import create_console
from portaria.console.deps import Console
from portaria.crm.departure import release_leads
from portaria.db.pool import Database
from portaria.identity.browser_sessions import BrowserSessionConfig, BrowserSessions
from portaria.identity.passwords import Passwords
from portaria.identity.throttle import Throttle
from portaria.identity.tokens import Tokens
from portaria.intake.by_hand import Replayed, replay_by_hand
from tests.api.conftest import BOX
from tests.api.world import House, World
from tests.support.factory import Factory

CSRF = "senha-do-formulario-0123456789"


@dataclass
class Visits:
    """Asks the console as one of its people. A request that changes something carries the form's token."""

    sessions: BrowserSessions
    client: httpx.AsyncClient
    world: World

    async def cookie(self, who: UUID, organization: UUID | None = None) -> str:
        """A browser session of `who`."""
        kept = {
            "user_id": str(who), "epoch": 0, "csrf": CSRF,
            "organization_id": str(organization) if organization else None,
        }  # fmt: skip
        return await self.sessions.create(json.dumps(kept).encode())

    async def ask(
        self, cookie: str | None, method: str, path: str, *, csrf: bool = True, **more: Any
    ) -> httpx.Response:
        headers = dict(more.pop("headers", {}))
        if cookie is not None:
            headers["Cookie"] = f"portaria={cookie}"
        if method == "POST" and csrf:
            more["data"] = {"csrf": CSRF, **more.get("data", {})}
        return await self.client.request(method, path, headers=headers, **more)

    def house(self, number: int) -> House:
        """With a lead form, which pages know too."""
        house = self.world.house(number)
        house.ids["form_id"] = self.world.row(
            "lead_forms", house, path_token=f"form-{house.id}", name=house.mark
        )
        return house


@pytest.fixture
async def visits(db: Database, owner: psycopg.Connection, make: Factory) -> AsyncIterator[Visits]:
    async def replay(row: UUID, actor: str, organization_id: UUID | None) -> Replayed:
        return await replay_by_hand(db, row, actor=actor, organization_id=organization_id)

    sessions = BrowserSessions(db, 3600.0)
    app = create_console(
        Console(
            db=db, box=BOX, sessions=BrowserSessionConfig(sessions, secure=False), passwords=Passwords(),
            throttle=Throttle(), replay=replay, on_revoke=release_leads, address="https://crm.exemplo.test",
        )
    )  # fmt: skip
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://portaria.test") as client:
        yield Visits(sessions, client, World(owner, make, Tokens(BOX, 600), client))
