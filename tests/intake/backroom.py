"""The intake behind its answer: archived rows put in place by SQL, tried by the code under test."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from portaria.db.embedded import EmbeddedServer
from portaria.db.pool import Database
from portaria.ids import uuid7
from portaria.intake.accepted import AcceptedRow, TryOutcome, load_row
from portaria.intake.apply import SyncArrival, apply_event
from portaria.intake.first_attempt import first_attempt
from portaria.intake.json_body import parse_object
from portaria.intake.providers import provider_for, samples
from portaria.intake.replay import Pace, Round, replay_round
from portaria.intake.sessions import Secrets, Session
from tests.conftest import TestDatabase, app_url
from tests.support.factory import Channel, Factory

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
"""A time of the provider's; nothing depends on how far it is from now."""
PHONE = "+5511987650001"
QUICK = Pace(round_seconds=5.0, row_seconds=2.0)

Body = Mapping[str, object]


class Backroom:
    """One organization with one channel, and ways to put rows in place and to look at what became of them."""

    def __init__(self, owner: psycopg.Connection, db: Database, database: TestDatabase) -> None:
        self.owner, self.db, self.database, self.make = owner, db, database, Factory(owner)
        self.organization_id = self.make.organization()
        self.channel = self.make.channel(self.organization_id)
        self._numbers = count(1)

    # What the provider sends: each call another external id and a minute later, unless told otherwise.

    def message(self, text: str | None = "Olá", **more: Any) -> Body:
        return samples.message_received(text=text, **self._given(more))

    def echo(self, text: str | None = "Bom dia", **more: Any) -> Body:
        """Outbound: the business wrote."""
        return samples.message_sent(text=text, **self._given(more))

    def _given(self, more: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        channel: Channel = more.pop("channel", self.channel)
        return {
            "account_id": channel.account_id, "external_id": f"wamid.{number:06d}", "phone": PHONE,
            "sent_at": NOON + timedelta(minutes=number), "name": "Cliente Exemplo", "conversation_id": "c0a1",
        } | more  # fmt: skip

    # Rows of the archive.

    def archived(
        self,
        body: Body | bytes,
        *,
        age: str = "0",
        attempts: int = 0,
        tried: str | None = None,
        marked: bool | None = True,
        channel: Channel | None = None,
    ) -> UUID:
        """A row as archive and accept leave it: received `age` ago, tried `tried` ago, for the last time."""
        row, raw = uuid7(), body if isinstance(body, bytes) else samples.encode(body)
        channel = channel or self.channel
        self.owner.execute(
            "INSERT INTO webhook_events_log (id, organization_id, channel_session_id, provider, raw_body,"
            " valid_signature, attempts, received_at, last_attempt_at) VALUES (%s, %s, %s, %s, %s, %s, %s,"
            " clock_timestamp() - %s::interval, clock_timestamp() - %s::interval)",
            (row, channel.organization_id, channel.id, channel.provider, raw, marked, attempts, age, tried),
        )
        return row

    def age(self, row: UUID, interval: str) -> None:
        """Moves time by SQL: the row arrived `interval` ago."""
        self.owner.execute(
            "UPDATE webhook_events_log SET received_at = clock_timestamp() - %s::interval WHERE id = %s",
            (interval, row),
        )

    def row(self, row: UUID) -> dict[str, Any]:
        cursor = self.owner.cursor(row_factory=dict_row)
        found = cursor.execute("SELECT * FROM webhook_events_log WHERE id = %s", (row,)).fetchone()
        assert found is not None
        return found

    def standing(self, row: UUID) -> tuple[str, int, str | None]:
        """Status, attempts, error message."""
        found = self.row(row)
        return found["status"], found["attempts"], found["error_message"]

    # The code under test.

    async def load(self, row: UUID) -> AcceptedRow:
        async with self.db.connection() as conn:
            found = await load_row(conn, row)
        assert found is not None
        return found

    async def first(self, row: UUID) -> TryOutcome:
        """The row's first attempt, as the web process runs it."""
        return await first_attempt(self.db, await self.load(row))

    async def take_in(self, body: Body | bytes, **more: Any) -> UUID:
        """Archived, accepted and ingested at its first attempt."""
        row = self.archived(body, **more)
        await self.first(row)
        return row

    async def replay(self, pace: Pace = QUICK) -> Round:
        """One round."""
        done = await replay_round(self.db, pace=pace)
        assert done is not None
        return done

    async def apply(self, body: Body, *, channel: Channel | None = None) -> str:
        """A synchronous event, as the route applies it."""
        c = channel or self.channel
        session = Session(
            c.organization_id, c.id, c.provider, c.account_id, c.phone_number, None, False, Secrets(())
        )
        row, raw = self.archived(body, marked=None, channel=c), samples.encode(body)
        arrival = SyncArrival(row, session, provider_for(c.provider), parse_object(raw))
        return await apply_event(self.db, arrival)

    # Looking.

    def rows(self, query: str, *params: object) -> list[tuple[Any, ...]]:
        return self.owner.execute(query, params or None).fetchall()

    def one(self, query: str, *params: object) -> Any:
        """The only value of the only row."""
        ((value,),) = self.rows(query, *params)
        return value

    def count(self, table: str, where: str = "true") -> int:
        here = " AND datname = current_database()" if table == "pg_stat_activity" else ""
        return int(self.one(f"SELECT count(*) FROM {table} WHERE {where}{here}"))

    def facts(self) -> dict[str, int]:
        """How many of everything that ingestion makes."""
        kinds = dict(self.rows("SELECT event_type, count(*) FROM event_log GROUP BY 1"))
        tables = ("contacts", "conversations", "messages", "crm_leads")
        return {table: self.count(table) for table in tables} | {
            "received": kinds.get("message.received", 0),
            "dispatch": kinds.get("ai_agent.dispatch_requested", 0),
            "unread": self.one("SELECT coalesce(sum(unread_count), 0) FROM conversations"),
        }

    def notices(self) -> dict[str, tuple[str, int]]:
        """Live notices: status and occurrences by title."""
        found = self.rows("SELECT title, status, occurrences FROM notices WHERE status <> 'resolved'")
        return {title: (status, occurrences) for title, status, occurrences in found}

    def audited(self, action: str) -> list[dict[str, Any]]:
        """The metadata of every such entry, in order."""
        return [
            m
            for (m,) in self.rows("SELECT metadata FROM api_audit_log WHERE action = %s ORDER BY id", action)
        ]

    # Making trouble.

    def sql(self, statement: str) -> None:
        self.owner.execute(statement)

    @contextmanager
    def holding(self, statement: str) -> Iterator[psycopg.Connection]:
        """Another session that ran `statement` in a transaction, committed at the end of the block."""
        with psycopg.connect(self.database.owner_url) as other:
            other.execute(statement)
            yield other

    async def blocked(self, waiters: int = 1, *, on: str = "%") -> None:
        """Until so many sessions wait for a lock, in a statement like `on`."""
        await until(
            lambda: (
                self.one(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND wait_event_type = 'Lock' AND query LIKE %s",
                    on,
                )
                >= waiters
            )
        )

    def fail(
        self,
        table: str,
        state: str = "P0001",
        *,
        when: str = "true",
        event: str = "INSERT",
        times: int = 10**9,
    ) -> None:
        """The first `times` writes to `table` where `when` (about NEW) holds raise the SQLSTATE `state`."""
        self.sql(
            f"CREATE SEQUENCE IF NOT EXISTS failures; GRANT USAGE ON SEQUENCE failures TO public;"
            f"SELECT setval('failures', 1, false);"
            f"CREATE OR REPLACE FUNCTION fail_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" IF nextval('failures') <= {times} THEN"
            f" RAISE EXCEPTION 'made to fail' USING ERRCODE = '{state}'; END IF; RETURN NEW; END $$;"
            f"CREATE OR REPLACE TRIGGER fail_{table} BEFORE {event} ON {table} FOR EACH ROW WHEN ({when})"
            f" EXECUTE FUNCTION fail_{table}()"
        )

    def tries(self) -> int:
        """How many writes met the trigger of `fail`."""
        return int(self.one("SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END FROM failures"))

    def work(self, table: str) -> None:
        """Ends `fail`."""
        self.sql(f"DROP TRIGGER fail_{table} ON {table}")


@contextmanager
def one_database(server: EmbeddedServer, name: str) -> Iterator[TestDatabase]:
    """A migrated database of this name, dropped at the end."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} TEMPLATE template_portaria")
        yield TestDatabase(name, server.url(name), app_url(server.url(name)))
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


def empty(owner: psycopg.Connection) -> None:
    """Nothing of an earlier test stays: no session, no trigger of `fail`, no row."""
    owner.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    made = owner.execute(
        "SELECT tgname, tgrelid::regclass FROM pg_trigger WHERE tgname LIKE 'fail_%'"
    ).fetchall()
    for trigger, table in made:
        owner.execute(f"DROP TRIGGER {trigger} ON {table}")
    with owner.transaction():
        owner.execute("SET LOCAL session_replication_role = replica")
        for table in EMPTIED:
            owner.execute(f"DELETE FROM {table}")


EMPTIED = (
    "webhook_events_log", "messages", "conversations", "crm_leads", "contact_identities",
    "contact_opt_outs", "contact_suppressions", "contacts", "event_log", "notices", "api_audit_log",
    "channel_templates", "channel_sessions", "cron_rounds", "user_organizations", "users", "organizations",
    "procrastinate_events", "procrastinate_jobs",
)  # fmt: skip


@asynccontextmanager
async def named(room: Backroom, name: str) -> AsyncIterator[Database]:
    """A pool of its own, whose sessions `held_back` tells apart by their name."""
    db = Database(room.database.app_url, name=name, size=4)
    await db.open()
    try:
        yield db
    finally:
        await db.close()


@contextmanager
def held_back(room: Backroom, table: str, name: str) -> Iterator[None]:
    """Inserts into `table` by sessions called `name` wait until the block ends."""
    room.sql(
        f"CREATE OR REPLACE FUNCTION hold_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF current_setting('application_name') = '{name}' THEN"
        f" PERFORM pg_advisory_xact_lock(hashtext('{name}')); END IF; RETURN NEW; END $$;"
        f"CREATE TRIGGER fail_{name} BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION hold_{name}()"
    )
    with room.holding(f"SELECT pg_advisory_xact_lock(hashtext('{name}'))"):
        yield


async def until(condition: Callable[[], bool], within: float = 10.0) -> None:
    """Polls until the condition holds; fails after `within` seconds."""
    ends = time.monotonic() + within
    while not condition():
        assert time.monotonic() < ends, "the condition did not come true in time"
        await asyncio.sleep(0.005)


WHOLE = {
    "contacts": 1, "conversations": 1, "messages": 1, "crm_leads": 1, "received": 1, "dispatch": 1,
    "unread": 1,
}  # fmt: skip
"""What one inbound message of an unknown sender comes to."""
