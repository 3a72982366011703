"""What the API is built from; `wiring` supplies it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from litestar.di import NamedDependency

from portaria.db.pool import Database
from portaria.identity.members import OnRevoke
from portaria.identity.passwords import Passwords
from portaria.identity.secret_box import SecretBox
from portaria.identity.throttle import Throttle
from portaria.identity.tokens import Tokens
from portaria.intake.by_hand import Replayed


class HealthCheck(Protocol):
    """One thing that readiness looks at: its name, whether it is well, a sentence, perhaps a figure."""

    @property
    def name(self) -> str: ...
    @property
    def ok(self) -> bool: ...
    @property
    def detail(self) -> str: ...
    @property
    def value(self) -> float | None: ...


Readiness = Callable[[], Awaitable[Sequence[HealthCheck]]]
Replay = Callable[[UUID, str, UUID | None], Awaitable[Replayed]]
"""Replays an archived row by hand: row, actor, and whose rows the actor may replay (None: anybody's)."""


@dataclass(frozen=True, slots=True)
class ApiDeps:
    """Everything the routes use. `address`: the installation's own, for URLs shown to people; `read_within`:
    seconds one request may read."""

    db: Database
    box: SecretBox
    tokens: Tokens
    passwords: Passwords
    throttle: Throttle
    readiness: Readiness
    replay: Replay
    on_revoke: OnRevoke
    address: str
    read_within: float = 5.0


Deps = NamedDependency[ApiDeps]
