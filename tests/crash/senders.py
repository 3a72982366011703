"""The provider, the accounts service, the people at the forms: they send until they are answered."""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

import httpx

from tests.crash.world import Delivery

PATIENCE: Final = 5.0
"""Seconds until a provider takes a delivery for failed (spec 2)."""
_AT_ONCE: Final = 32


@dataclass(slots=True)
class Tally:
    """What was sent and what came back. `answered` are ids, `named` the archived rows in the answers."""

    answered: set[str] = field(default_factory=set)
    named: set[UUID] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    settled: int = 0
    """Deliveries that were answered 2xx, or that their sender gave up."""


class Senders:
    """Sends the world's deliveries, in order, never more than `allowed` of them."""

    def __init__(self, world: Sequence[Delivery], urls: Sequence[str], *, seed: int) -> None:
        self.urls = urls
        self.tally = Tally()
        self.allowed = 0
        self._begun = 0
        self._waiting = deque(world)
        self._urged: list[asyncio.Task[None]] = []
        self._rng = random.Random(f"senders {seed}")

    async def run(self) -> None:
        """Returns when every delivery is settled."""
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=_AT_ONCE)
        async with httpx.AsyncClient(timeout=PATIENCE, limits=limits) as self._client:
            await asyncio.gather(*(self._sender() for _ in range(_AT_ONCE)))
            await asyncio.gather(*self._urged)

    def urge(self, wanted: Callable[[Delivery], bool]) -> None:
        """Sends a delivery of this kind now, out of turn: the last one that waits."""
        for delivery in reversed(self._waiting):
            if wanted(delivery):
                self._waiting.remove(delivery)
                self._urged.append(asyncio.create_task(self._settle(delivery)))
                return

    async def _sender(self) -> None:
        while self._waiting:
            if self._begun >= self.allowed:
                await asyncio.sleep(0.02)
                continue
            self._begun += 1
            await self._settle(self._waiting.popleft())

    async def _settle(self, delivery: Delivery) -> None:
        await self._deliver(delivery)
        self.tally.settled += 1

    async def _deliver(self, delivery: Delivery) -> None:
        pause = 0.2
        if delivery.hangs_up:
            await self._hang_up(delivery)
        while True:
            posts = [self._post(delivery) for _ in range(delivery.copies)]
            if any(await asyncio.gather(*posts)):
                break
            if not delivery.persists:
                return
            await asyncio.sleep(pause * self._rng.uniform(0.5, 1.5))
            pause = min(2 * pause, 2.0)
        if delivery.again:
            await asyncio.sleep(self._rng.uniform(0, 1))
            await self._post(delivery)

    async def _post(self, delivery: Delivery) -> bool:
        """Whether it was answered 2xx."""
        url = self._rng.choice(self.urls) + delivery.path
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._client.post(url, content=delivery.raw, headers=delivery.headers)
        except (httpx.HTTPError, TimeoutError) as error:
            self.tally.answers[f"{delivery.kind} {type(error).__name__}"] += 1
            return False
        if not answer.is_success:
            self.tally.answers[f"{delivery.kind} {answer.status_code} {_code(answer)}"] += 1
            return False
        said = answer.json()
        outcome = f"{said.get('status', '')} {said.get('reason', '')}".strip()
        self.tally.answers[f"{delivery.kind} {answer.status_code} {outcome}".strip()] += 1
        self.tally.answered.add(delivery.id)
        if "id" in said:
            self.tally.named.add(UUID(said["id"]))
        return True

    async def _hang_up(self, delivery: Delivery) -> None:
        """Sends the whole request and closes without reading: nobody knows what became of it."""
        where = urlsplit(self._rng.choice(self.urls))
        fields = {"host": where.netloc, "content-length": str(len(delivery.raw)), **delivery.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        try:
            _reader, writer = await asyncio.open_connection(where.hostname, where.port)
            writer.write(f"POST {delivery.path} HTTP/1.1\r\n{head}\r\n".encode() + delivery.raw)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        except OSError:
            pass
        self.tally.answers[f"{delivery.kind} hung up"] += 1


def _code(answer: httpx.Response) -> str:
    """The problem's code; the HTTP server's own answers have none (spec 6)."""
    try:
        return str(answer.json()["code"])
    except (ValueError, KeyError):
        return "without a code"
