"""A front desk for intake tests: a channel, its web application served by a real uvicorn, a client."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest

from portaria import wiring
from portaria.db.embedded import EmbeddedServer
from portaria.db.pool import Database
from portaria.intake.providers import samples
from tests.conftest import TestDatabase
from tests.intake.backroom import Backroom, empty, one_database
from tests.support.factory import Channel, Factory
from tests.support.http import make_settings, serving

SECRET = "segredo-inventado-zernio-0123456789"


@dataclass
class Desk:
    """One organization with one channel, and the ways to send to it and to look at what became of it."""

    owner: psycopg.Connection
    db: Database
    database: TestDatabase
    channel: Channel
    make: Factory
    client: httpx.AsyncClient
    url: str
    sent: int = field(default=0)

    def message(self, text: str | None = "Olá", **more: Any) -> dict[str, Any]:
        """The sample of a new inbound message; every call another external id."""
        self.sent += 1
        given = {
            "external_id": f"wamid.T{self.sent:06d}", "phone": "+5511987650001",
            "sent_at": datetime.now(UTC), "name": "Cliente Exemplo", "conversation_id": "c0a1",
        } | more  # fmt: skip
        return samples.message_received(self.channel.account_id, text=text, **given)

    async def post(
        self,
        body: dict[str, Any] | bytes,
        *,
        path: str | None = None,
        secret: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Signed by the channel's secret, to the channel's own URL unless told otherwise."""
        raw = body if isinstance(body, bytes) else samples.encode(body)
        path = path or f"/api/v1/webhooks/channel/{self.channel.token}"
        signed = samples.sign(raw, secret or self.channel.secret)
        return await self.client.post(path, content=raw, headers={**signed, **(headers or {})})

    def rows(self, query: str, *params: object) -> list[tuple[Any, ...]]:
        return self.owner.execute(query, params).fetchall()

    def one(self, query: str, *params: object) -> Any:
        """The only value of the only row."""
        ((value,),) = self.rows(query, *params)
        return value

    def count(self, table: str, where: str = "true") -> int:
        return int(self.one(f"SELECT count(*) FROM {table} WHERE {where}"))

    def log_row(self, response: httpx.Response) -> dict[str, Any]:
        """The archived row that a JSON answer names."""
        cursor = self.owner.cursor(row_factory=psycopg.rows.dict_row)
        found = cursor.execute(
            "SELECT * FROM webhook_events_log WHERE id = %s", (response.json()["id"],)
        ).fetchone()
        assert found is not None
        return found

    async def settled(self, within: float = 10.0) -> None:
        """Waits until no accepted row waits for its first attempt."""
        await until(
            lambda: not self.count(
                "webhook_events_log",
                "status = 'received' AND valid_signature AND attempts = 0 AND error_message IS NULL",
            ),
            within,
        )

    def age(self, interval: str, where: str = "true") -> None:
        """Moves time by SQL: the rows arrived `interval` ago, and were last tried before that."""
        self.owner.execute(
            f"UPDATE webhook_events_log SET received_at = clock_timestamp() - %s::interval WHERE {where}",
            (interval,),
        )


async def until(condition: Callable[[], bool], within: float = 10.0) -> None:
    """Polls until the condition holds; fails after `within` seconds."""
    ends = time.monotonic() + within
    while not condition():
        assert time.monotonic() < ends, "the condition did not come true in time"
        await asyncio.sleep(0.01)


def channel_with_secret(make: Factory, organization_id: Any, **more: Any) -> Channel:
    box = wiring.secret_box(make_settings("postgresql://unused/x"))
    return make.channel(
        organization_id, secret_ciphertext=box.encrypt(more.pop("secret", SECRET)), **more
    )


@pytest.fixture
async def desk(
    db: Database, database: TestDatabase, owner: psycopg.Connection, make: Factory
) -> AsyncIterator[Desk]:
    channel = channel_with_secret(make, make.organization())
    settings = make_settings(database.app_url)
    async with serving(wiring.web_app(settings)) as url, httpx.AsyncClient(base_url=url) as client:
        yield Desk(owner, db, database, channel, make, client, url)


@pytest.fixture(scope="session")
def shared_database(server: EmbeddedServer) -> Iterator[TestDatabase]:
    """One database for all tests that use `room`: emptied between them, which a new one costs ten times."""
    with one_database(server, "backroom") as made:
        yield made


@pytest.fixture
async def room(shared_database: TestDatabase) -> AsyncIterator[Backroom]:
    with psycopg.connect(shared_database.owner_url, autocommit=True) as owner:
        empty(owner)
        db = Database(shared_database.app_url, name="tests", size=16)
        await db.open()
        yield Backroom(owner, db, shared_database)
        await db.close()


def pretty(value: object) -> str:
    return json.dumps(value, default=str, indent=1)
