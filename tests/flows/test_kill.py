"""The promise end to end (spec 6): kill -9 of web, worker and database at random moments under load.

Every message answered 200 is in `messages` exactly once, with its effects once, after the replay. Here a
hundred and fifty; `EVENTS=3000 KILLS=21 python -m pytest -s tests/flows/test_kill.py` for the whole of
it, and `SEED` for the same moments again.
"""

import asyncio
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psycopg
import pytest

from portaria.db.embedded import EmbeddedServer
from portaria.db.migrate import migrate
from portaria.identity.secret_box import SecretBox
from portaria.intake.providers import samples
from tests.conftest import APP_PASSWORD, app_url
from tests.support.factory import Channel, Factory
from tests.support.http import INSTALLATION_SECRET, SECRET_KEY
from tests.support.postgres import start_test_server
from tests.support.processes import until

EVENTS = int(os.environ.get("EVENTS", "150"))
KILLS = int(os.environ.get("KILLS", "3"))
SEED = int(os.environ.get("SEED", str(time.time_ns() % 100_000)))
MESSAGES_PER_PERSON = 3
SECRET = "segredo-inventado-zernio-0123456789"
DUE = "status = 'received' AND valid_signature"


class House:
    """One installation of real processes; what is killed is started again."""

    def __init__(self, folder: Path) -> None:
        self.server: EmbeddedServer = start_test_server(folder)
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        migrate(self.owner_url, app_password=APP_PASSWORD)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @property
    def owner_url(self) -> str:
        return self.server.url("postgres")

    def start(self, name: str) -> None:
        env = os.environ | {
            "DATABASE_URL": app_url(self.owner_url),
            "PORTARIA_SECRET_KEY": SECRET_KEY,
            "PORTARIA_INSTALLATION_SECRET": INSTALLATION_SECRET,
            "PORTARIA_PORT": str(self.port),
            "PORTARIA_REPLAY_EVERY": "1",
            "PORTARIA_LOG_LEVEL": "error",
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "portaria", name], env=env, stdout=log, stderr=log
            )

    def kill(self, name: str) -> None:
        """SIGKILL, and a new one at once."""
        if name == "database":
            self.server.kill()
            self.server.start()
            return
        process = self.processes[name]
        assert process.poll() is None, (self.folder / f"{name}.log").read_text()[-2000:]
        process.kill()
        process.wait()
        self.start(name)

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.server.stop()

    @contextmanager
    def asked(self) -> Iterator[psycopg.Connection]:
        with psycopg.connect(self.owner_url, autocommit=True) as conn:
            yield conn

    def count(self, table: str, where: str = "true") -> int:
        with self.asked() as conn:
            ((found,),) = conn.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchall()
        return int(found)


class Provider(threading.Thread):
    """Delivers messages, sixteen at once, each until it is answered 2xx; `allowed` opens the tap."""

    def __init__(self, url: str, bodies: list[bytes]) -> None:
        super().__init__(daemon=True)
        self.url, self.bodies = url, bodies
        self.allowed, self.taken, self.failed = 0, 0, 0
        self.answered: set[int] = set()
        self.other: set[int] = set()

    def run(self) -> None:
        asyncio.run(self._deliver_all())

    async def _deliver_all(self) -> None:
        limits = httpx.Limits(max_connections=16, max_keepalive_connections=16)
        async with httpx.AsyncClient(timeout=5.0, limits=limits) as client:
            await asyncio.gather(*(self._deliver(client) for _ in range(16)))

    async def _deliver(self, client: httpx.AsyncClient) -> None:
        while self.taken < len(self.bodies):
            if self.taken >= self.allowed:
                await asyncio.sleep(0.002)
                continue
            number, self.taken = self.taken, self.taken + 1
            raw = self.bodies[number]
            while number not in self.answered:
                try:
                    answer = await client.post(self.url, content=raw, headers=samples.sign(raw, SECRET))
                except httpx.HTTPError:
                    self.failed += 1
                    await asyncio.sleep(0.1)
                    continue
                if answer.status_code == 200:
                    self.answered.add(number)
                elif answer.status_code == 503:
                    self.failed += 1
                    await asyncio.sleep(0.1)
                else:
                    self.other.add(answer.status_code)
                    return


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.stop()


def bodies(channel: Channel) -> list[bytes]:
    """Three messages a person, far apart from each other in the load."""
    people = EVENTS // MESSAGES_PER_PERSON
    start = datetime.now(UTC)
    return [
        samples.encode(
            samples.message_received(
                channel.account_id, f"wamid.{number}", f"+55119{number % people:08d}", "Olá",
                start + timedelta(milliseconds=number), "Cliente",
            )
        )
        for number in range(people * MESSAGES_PER_PERSON)
    ]  # fmt: skip


@pytest.mark.timeout(1200)
def test_nothing_answered_is_lost_or_doubled_whoever_is_killed(house: House) -> None:
    chance = random.Random(SEED)
    with house.asked() as conn:
        make = Factory(conn)
        box = SecretBox(SECRET_KEY, [])
        channel = make.channel(make.organization(), secret_ciphertext=box.encrypt(SECRET))
    for name in ("web", "worker"):
        house.start(name)
    sent = bodies(channel)
    provider = Provider(f"http://127.0.0.1:{house.port}/api/v1/webhooks/channel/{channel.token}", sent)
    provider.start()
    victims = [("web", "database", "worker")[n % 3] for n in range(KILLS)]
    for number, victim in enumerate(victims, start=1):
        before = len(provider.answered)
        provider.allowed = len(sent) * number // KILLS
        moment = before + chance.randint(0, max(1, (provider.allowed - before) * 2 // 3))
        until(lambda moment=moment: len(provider.answered) >= moment or provider.other, within=60)
        time.sleep(chance.uniform(0, 0.03))  # a random moment, not a wait for anything
        house.kill(victim)
        move_time(house)
    until(lambda: len(provider.answered) == len(sent) or provider.other, within=120)
    assert provider.other == set()

    until(lambda: move_time(house) == 0, within=90)
    lost, doubled = losses(house, len(sent))
    print(f"\n{len(sent)} events, {len(victims)} kills, {lost} lost, {doubled} doubled")
    replayed = house.count("webhook_events_log", "attempts > 0")
    print(f"seed {SEED}, {provider.failed} deliveries failed and came again, {replayed} rows were replayed")
    assert (lost, doubled) == (0, 0), f"seed {SEED}"
    assert house.count("notices") == 0
    with house.asked() as conn:  # what was archived and never promised
        conn.execute(
            "UPDATE webhook_events_log SET received_at = now() - interval '7 hours' WHERE status = 'received'"
        )
    until(lambda: house.count("webhook_events_log", "status = 'received'") == 0, within=30)
    assert house.count("webhook_events_log", "status NOT IN ('processed', 'error')") == 0
    assert house.count("webhook_events_log", "status = 'error' AND error_message <> 'not_accepted'") == 0


def move_time(house: House) -> int:
    """Six minutes pass for whatever waits; returns how many those are."""
    with house.asked() as conn:
        conn.execute(
            f"UPDATE webhook_events_log SET received_at = now() - interval '6 minutes' WHERE {DUE}"
            " AND received_at > now() - interval '5 minutes'"
        )
    return house.count("webhook_events_log", DUE)


def losses(house: House, events: int) -> tuple[int, int]:
    """Messages that are missing or lack an effect; messages or effects that are there too often."""
    people = events // MESSAGES_PER_PERSON
    counted = (
        "SELECT count(*) FROM messages",
        "SELECT count(DISTINCT entity_id) FROM event_log WHERE event_type = 'message.received'",
        "SELECT count(DISTINCT entity_id) FROM event_log WHERE event_type = 'ai_agent.dispatch_requested'",
        "SELECT coalesce(sum(unread_count), 0) FROM conversations",
        "SELECT count(*) FROM contacts",
        "SELECT count(*) FROM conversations",
        "SELECT count(*) FROM crm_leads",
        "SELECT count(*) FROM event_log WHERE entity_kind = 'message'",
    )
    with house.asked() as conn:
        found = [int(value) for query in counted for (value,) in conn.execute(query).fetchall()]
    wanted = (events, events, events, events, people, people, people, 2 * events)
    lost = sum(max(0, want - have) for have, want in zip(found, wanted, strict=True))
    return lost, sum(max(0, have - want) for have, want in zip(found, wanted, strict=True))
