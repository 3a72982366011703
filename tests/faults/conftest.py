"""A front desk to be troubled: web and worker on one database, senders at its doors, every id looked up."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from portaria import wiring
from portaria.db.pool import Database
from portaria.intake.replay import run_replay
from portaria.jobs import Queue, Runner
from portaria.settings import Settings
from portaria.wiring.basics import opened
from portaria.wiring.worker import register_jobs
from tests.conftest import TestDatabase
from tests.crash import checks
from tests.crash.desk import HERE, SECRETS, Q, furnish
from tests.crash.senders import Senders, Tally
from tests.crash.world import Delivery, Doors, make_world
from tests.support.http import make_settings, serving
from tests.support.waiting import until

OURS = "FROM pg_stat_activity WHERE datname = current_database() AND usename = 'portaria_app'"
"""The installation's connections; other tests' databases are on the same server."""


@dataclass
class FrontDesk:
    """One installation in this event loop. `owner` reaches its database whatever the app's way to it."""

    url: str
    owner: psycopg.Connection
    doors: Doors
    worlds: list[list[Delivery]] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)

    def begin(self, events: int) -> tuple["asyncio.Task[None]", Tally]:
        """Starts sending new deliveries, each until it is answered 2xx or its sender gives up."""
        first = sum(map(len, self.worlds))
        world = make_world(self.doors, events, seed=first, first=first)
        self.moves()
        senders = Senders(world, self.urls, seed=first)
        senders.allowed = events
        self.worlds.append(world)
        self.tallies.append(senders.tally)
        return asyncio.create_task(senders.run()), senders.tally

    def moves(self) -> None:
        """From now on everybody sends to `url`."""
        self.urls[:] = [self.url]

    async def send(self, events: int) -> Tally:
        sending, tally = self.begin(events)
        await sending
        return tally

    def ask(self, name: str) -> list[tuple[Any, ...]]:
        """The rows of a query of the crash harness."""
        cursor = self.owner.execute(Q[name])
        return cursor.fetchall() if cursor.description else []

    async def rest(self, within: float = 30.0) -> None:
        """Until everything that was promised is done; time is moved by SQL."""
        deadline = time.monotonic() + within
        while self.ask("unfinished") != [(0, 0, 0)]:
            assert time.monotonic() < deadline, f"not at rest: {self.ask('unfinished')}"
            for move in ("age_pending", "hurry_jobs", "bury_silent_workers", "reprocess_failed"):
                self.ask(move)
            await asyncio.sleep(0.05)
        self.ask("age_unaccepted")
        await until(lambda: not self.rows("SELECT id FROM webhook_events_log WHERE status = 'received'"))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.owner.execute(query).fetchall()

    def look(self, *, besides: tuple[str, ...] = ()) -> dict[str, list[str]]:
        """The checks that do not hold. A lock may be held by a round that runs just now."""
        answered = set().union(*(tally.answered for tally in self.tallies))
        named = set().union(*(tally.named for tally in self.tallies))
        checks.tell_what_was_sent(self.owner, (d for world in self.worlds for d in world), answered, named)
        broken = checks.look(self.owner).broken
        return {name: ids for name, ids in broken.items() if name not in ("broken_lock", *besides)}


OpenFrontDesk = Callable[..., AbstractAsyncContextManager[FrontDesk]]


@pytest.fixture
def open_front_desk(monkeypatch: pytest.MonkeyPatch) -> OpenFrontDesk:
    """`async with open_front_desk(owner_url, app_url) as desk`; further settings by name."""
    monkeypatch.syspath_prepend(str(HERE / "use_cases"))

    @asynccontextmanager
    async def open_one(owner_url: str, app_url: str, **more: Any) -> AsyncIterator[FrontDesk]:
        config = settings(app_url, **more)
        stop = asyncio.Event()
        with psycopg.connect(owner_url, autocommit=True) as owner:
            doors = furnish(owner)
            working = asyncio.create_task(work(config, stop))
            async with serving(wiring.web_app(config)) as url:
                yield FrontDesk(url, owner, doors)
            stop.set()
            await working

    return open_one


@pytest.fixture
async def desk(open_front_desk: OpenFrontDesk, database: TestDatabase) -> AsyncIterator[FrontDesk]:
    async with open_front_desk(database.owner_url, database.app_url) as opened_desk:
        yield opened_desk


def settings(app_url: str, **more: Any) -> Settings:
    given = {
        "secret_key": SECRETS["PORTARIA_SECRET_KEY"],
        "installation_secret": SECRETS["PORTARIA_INSTALLATION_SECRET"],
        "accounts_webhook_token": SECRETS["ACCOUNTS_WEBHOOK_TOKEN"],
        "form_rate": 0,
        "replay_every": 0.5,
    }
    return make_settings(app_url, **(given | more))


async def work(config: Settings, stop: asyncio.Event) -> None:
    """What a worker process runs, at a pace for tests."""
    url = config.database_url.get_secret_value()
    replay_db, queue = Database(url, name="replay", size=6), Queue(Database(url, name="jobs", size=18))
    async with opened(replay_db), opened(queue.db):
        register_jobs(config, queue, None)
        runner = Runner(queue, poll=0.1, pulse=0.5, stale=3.0)
        await asyncio.gather(run_replay(replay_db, stop, every=config.replay_every), runner.run(stop))
