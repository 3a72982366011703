"""A front desk for intake tests: a channel, its web application served by a real uvicorn, a client."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest

from portaria.asgi import Front, Receive, Scope, Send, refuse, respond
from portaria.db.embedded import EmbeddedServer
from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.intake.http import PREFIX, Intake
from portaria.intake.overview import Minutes
from portaria.intake.providers import samples
from portaria.settings import Settings
from portaria.wiring import secret_box
from portaria.wiring.basics import opened
from portaria.wiring.doors import build_intake
from tests.conftest import TestDatabase
from tests.intake.backroom import Backroom, empty, one_database
from tests.support.factory import Channel, Factory
from tests.support.http import INSTALLATION_SECRET, make_settings, serving
from tests.support.raw_http import head

SECRET = "segredo-inventado-zernio-0123456789"
INSTALLATION = "/api/v1/webhooks/canal-da-instalacao"


def channel_path(channel: Channel) -> str:
    """A channel session's own URL, without the host."""
    return f"/api/v1/webhooks/channel/{channel.token}"


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
    intake: Intake
    sent: int = field(default=0)

    def message(self, text: str | None = "Olá", **more: Any) -> dict[str, Any]:
        """The sample of a new inbound message; every call another external id."""
        self.sent += 1
        given = {
            "external_id": f"wamid.T{self.sent:06d}", "phone": "+5511987650001",
            "sent_at": datetime.now(UTC), "name": "Cliente Exemplo", "conversation_id": "c0a1",
        } | more  # fmt: skip
        return samples.message_received(self.channel.account_id, text=text, **given)

    def request(self, raw: bytes, path: str | None = None, **headers: str) -> bytes:
        """A whole signed delivery, for a socket."""
        path = path or channel_path(self.channel)
        signed = samples.sign(raw, INSTALLATION_SECRET if path == INSTALLATION else self.channel.secret)
        return head("POST", path, {**signed, "Content-Length": str(len(raw)), **headers}) + raw

    async def post_to_installation(self, body: dict[str, Any] | bytes, **more: Any) -> httpx.Response:
        """Signed by the installation's secret, to the URL that all channels share."""
        return await self.post(body, **{"path": INSTALLATION, "secret": INSTALLATION_SECRET, **more})

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
        path = path or channel_path(self.channel)
        signed = samples.sign(raw, secret or self.channel.secret)
        return await self.client.post(path, content=raw, headers={**signed, **(headers or {})})

    def rows(self, query: str, *params: object) -> list[tuple[Any, ...]]:
        return self.owner.execute(query, params).fetchall()

    def one(self, query: str, *params: object) -> Any:
        """The only value of the only row."""
        ((value,),) = self.rows(query, *params)
        return value

    def count(self, table: str, where: str = "true") -> int:
        here = " AND datname = current_database()" if table == "pg_stat_activity" else ""
        return int(self.one(f"SELECT count(*) FROM {table} WHERE {where}{here}"))

    def log_row(self, response: httpx.Response) -> dict[str, Any]:
        """The archived row that a JSON answer names."""
        return self._log_row("id = %s", response.json()["id"])

    def newest_row(self) -> dict[str, Any]:
        """The archived row of the last delivery: a refusal does not name it."""
        return self._log_row("received_at = (SELECT max(received_at) FROM webhook_events_log)")

    def _log_row(self, where: str, *params: object) -> dict[str, Any]:
        cursor = self.owner.cursor(row_factory=psycopg.rows.dict_row)
        found = cursor.execute(f"SELECT * FROM webhook_events_log WHERE {where}", params).fetchone()
        assert found is not None
        return found

    @contextmanager
    def held(self, table: str) -> Iterator[None]:
        """Nobody else can read or write `table` until the block ends."""
        with psycopg.connect(self.database.owner_url) as conn:
            conn.execute(f"LOCK TABLE {table}")
            yield
            conn.rollback()

    def failing(self, table: str, what: str, sqlstate: str = "P0001", when: str = "true") -> None:
        """Makes `what` on `table` fail with `sqlstate` where `when` holds, until `mended`."""
        self.owner.execute(
            "CREATE OR REPLACE FUNCTION fail_it() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN RAISE EXCEPTION 'no such luck' USING ERRCODE = '{sqlstate}'; END $$"
        )
        self.owner.execute(
            f"CREATE TRIGGER fail_it BEFORE {what} ON {table} FOR EACH ROW WHEN ({when})"
            " EXECUTE FUNCTION fail_it()"
        )

    def mended(self, table: str) -> None:
        """Ends `failing`."""
        self.owner.execute(f"DROP TRIGGER fail_it ON {table}")

    def seed_message(self, external_id: str, direction: str = "inbound") -> None:
        """A message that is in, with its contact and conversation."""
        self.owner.execute(
            "WITH c AS (INSERT INTO contacts (organization_id, id) VALUES (%(org)s, gen_random_uuid())"
            "  RETURNING organization_id, id),"
            " v AS (INSERT INTO conversations (organization_id, id, contact_id, channel_session_id,"
            "  provider_conversation_id) SELECT organization_id, gen_random_uuid(), id, %(session)s, 'seeded'"
            "  FROM c RETURNING organization_id, id, contact_id)"
            " INSERT INTO messages (organization_id, id, conversation_id, contact_id, channel_session_id,"
            "  direction, external_id, type, status, sent_at)"
            " SELECT organization_id, gen_random_uuid(), id, contact_id, %(session)s, %(direction)s,"
            "  %(external_id)s, 'text', CASE %(direction)s WHEN 'inbound' THEN 'received' ELSE 'sent' END,"
            "  now()"
            " FROM v",
            {
                "org": self.channel.organization_id, "session": self.channel.id, "direction": direction,
                "external_id": external_id,
            },
        )  # fmt: skip

    async def settled(self, within: float = 10.0) -> None:
        """Waits until no accepted row waits for its first attempt."""
        await until(
            lambda: (
                not self.count(
                    "webhook_events_log",
                    "status = 'received' AND valid_signature AND attempts = 0 AND error_message IS NULL",
                )
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


def encrypted(secret: str) -> bytes:
    """As `channel_sessions` keeps it."""
    return secret_box(make_settings("postgresql://unused/x")).encrypt(secret)


def channel_with_secret(make: Factory, organization_id: Any, *, secret: str = SECRET, **more: Any) -> Channel:
    return make.channel(organization_id, secret_ciphertext=encrypted(secret), secret=secret, **more)


def intake_alone(settings: Settings) -> tuple[Intake, Front]:
    """A web process's intake and an application of nothing else: the rest takes longer to build."""
    url = settings.database_url.get_secret_value()
    db, ingest_db, lookup_db = (
        Database(url, name=name, size=settings.pool_size) for name in ("web", "ingest", "lookups")
    )
    intake = build_intake(settings, db, ingest_db, lookup_db, Minutes(db))

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        async with opened(db), opened(ingest_db), opened(lookup_db), intake.running(settings.stop_grace):
            yield

    async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, refuse(Refusal(404, "not_found", "Nothing but the intake.")))

    return intake, Front({PREFIX: intake}, nothing, running, header_limit=settings.header_limit)


OpenDesk = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def open_desk(db: Database, database: TestDatabase, owner: psycopg.Connection, make: Factory) -> OpenDesk:
    """A desk with other settings: `async with open_desk(backlog_rows=1) as desk`."""

    @asynccontextmanager
    async def open_one(**settings: Any) -> AsyncIterator[Desk]:
        channel = channel_with_secret(make, make.organization())
        intake, app = intake_alone(make_settings(database.app_url, **settings))
        async with serving(app) as url, httpx.AsyncClient(base_url=url, verify=False) as client:
            yield Desk(owner, db, database, channel, make, client, url, intake)

    return open_one


@pytest.fixture
async def desk(open_desk: OpenDesk) -> AsyncIterator[Desk]:
    async with open_desk() as made:
        yield made


@pytest.fixture(scope="session")
def desk_database(server: EmbeddedServer) -> Iterator[TestDatabase]:
    """What `reused.database` empties before each test."""
    with one_database(server, "desk") as made:
        yield made


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
