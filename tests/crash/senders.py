"""The provider, the accounts service, the people at the forms: they send until they are answered."""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from tests.crash.world import Delivery
from tests.support.raw_http import RawAnswer, head, wire

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
        try:
            async with asyncio.timeout(PATIENCE), wire(self._rng.choice(self.urls)) as line:
                await line.send(_request(delivery))
                answer = await line.answer()
        except (OSError, EOFError, AssertionError, TimeoutError) as error:
            # Not reached, cut off half-way, or not in time.
            self.tally.answers[f"{delivery.kind} {type(error).__name__}"] += 1
            return False
        good = 200 <= answer.status < 300
        self.tally.answers[f"{delivery.kind} {answer.status} {_outcome(answer)}".strip()] += 1
        if good:
            self.tally.answered.add(delivery.id)
            if row := answer.json().get("id"):
                self.tally.named.add(UUID(row))
        return good

    async def _hang_up(self, delivery: Delivery) -> None:
        """Sends the whole request and closes without reading: nobody knows what became of it."""
        with suppress(OSError):
            async with wire(self._rng.choice(self.urls)) as line:
                await line.send(_request(delivery))
        self.tally.answers[f"{delivery.kind} hung up"] += 1


def _request(delivery: Delivery) -> bytes:
    length = {"content-length": str(len(delivery.raw)), "connection": "close"}
    return head("POST", delivery.path, {**delivery.headers, **length}) + delivery.raw


def _outcome(answer: RawAnswer) -> str:
    """What a 2xx says, or the problem's code; the HTTP server's own answers have none (spec 6)."""
    try:
        said = answer.json()
    except ValueError:
        return "without a code"
    return " ".join(str(said[key]) for key in ("code", "status", "reason") if isinstance(said.get(key), str))
