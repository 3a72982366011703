"""An inbox served by a real uvicorn, and the means to send to it and to look at what became of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from portaria.accounts.credentials import Signatures, Tokens
from portaria.accounts.http import PREFIX, EventLimits, IncomingEvents
from portaria.accounts.lost import LostDeliveries
from portaria.asgi import Front, Receive, Scope, Send
from portaria.db.pool import Database
from tests.accounts.workbench import Bench, Events
from tests.support.http import serving

LIMITS = EventLimits()
TOKEN = "token-inventado-do-accounts-0123456789"


@dataclass
class Inbox:
    """The served route, and the database behind it."""

    url: str
    client: httpx.AsyncClient
    owner: psycopg.Connection

    async def post(
        self, body: dict[str, Any] | bytes, headers: dict[str, str] | None = None, *, path: str = PREFIX
    ) -> httpx.Response:
        """With the token, unless `headers` say otherwise."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.client.post(
            path, content=raw, headers={"authorization": f"Bearer {TOKEN}"} if headers is None else headers
        )

    async def send(self, request: bytes, *, answers: int = 1) -> list[int]:
        """A request byte for byte as given; the statuses of its answers. None may hold a traceback."""
        where = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        try:
            writer.write(request)
            await writer.drain()
            async with asyncio.timeout(10):
                heads = [await reader.readuntil(b"\r\n\r\n") for _ in range(answers)]
        finally:
            writer.close()
        return [int(head.split(b" ", 2)[1]) for head in heads]

    def events(self) -> list[tuple[Any, ...]]:
        """(event_id, status, attempts) of every row, in their order."""
        query = "SELECT event_id, status, attempts FROM incoming_events ORDER BY received_at"
        return self.owner.execute(query).fetchall()

    def jobs(self) -> list[dict[str, Any]]:
        """The arguments of every job in the queue."""
        rows = self.owner.execute("SELECT args FROM procrastinate_jobs ORDER BY id").fetchall()
        return [row[0] for row in rows]

    def notices(self) -> list[tuple[Any, ...]]:
        """(kind, title, status, occurrences) of every notice."""
        query = "SELECT kind, title, status, occurrences FROM notices ORDER BY first_at"
        return self.owner.execute(query).fetchall()


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("the request should have gone to the inbox")


@asynccontextmanager
async def open_inbox(
    db: Database,
    owner: psycopg.Connection,
    *,
    tokens: tuple[str, ...] = (TOKEN,),
    secrets: tuple[str, ...] = (),
    limits: EventLimits = LIMITS,
    every: float = 60.0,
    now: float | None = None,
) -> AsyncIterator[Inbox]:
    """The route as the web process mounts it."""
    clock = {} if now is None else {"clock": lambda: now}
    lost = LostDeliveries(db, every=every)
    app = IncomingEvents(
        db, tokens=Tokens(tokens), signatures=Signatures(secrets), lost=lost, limits=limits, **clock
    )  # fmt: skip

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        yield
        await lost.stop()

    front = Front({PREFIX: app}, _not_found, running, header_limit=32 * 1024)
    async with serving(front) as url, httpx.AsyncClient(base_url=url, timeout=20) as client:
        yield Inbox(url, client, owner)


@pytest.fixture
async def inbox(db: Database, owner: psycopg.Connection) -> AsyncIterator[Inbox]:
    async with open_inbox(db, owner) as opened:
        yield opened


@pytest.fixture
def events(owner: psycopg.Connection) -> Events:
    return Events(owner)


@pytest.fixture
def bench(db: Database, owner: psycopg.Connection) -> Bench:
    return Bench(owner, db)
