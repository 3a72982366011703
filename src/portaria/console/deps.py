"""What the console is built from; `wiring` supplies it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, SkipValidation

from portaria.console.news import Newsstand
from portaria.console.visitor import Visitor
from portaria.db.pool import Connection, Database
from portaria.identity.browser_sessions import BrowserSessionConfig
from portaria.identity.members import OnRevoke
from portaria.identity.passwords import Passwords
from portaria.identity.secret_box import SecretBox
from portaria.identity.throttle import Throttle
from portaria.intake.by_hand import Replayed
from portaria.push import Hub
from portaria.push.greeting import Greeter

Replay = Callable[[UUID, str, UUID | None], Awaitable[Replayed]]
"""Replays an archived row by hand: row, actor, and whose rows the actor may replay (None: anybody's)."""


@dataclass(frozen=True, slots=True)
class Console:
    """Everything the pages use. `db`: a pool of the console's own, whose statements end after a few
    seconds, so that no page holds up intake. `address`: the installation's own, for URLs shown to people.
    `hub`: live signals, by default none; `push`: None where browser notifications are not set up.
    """

    db: Database
    box: SecretBox
    sessions: BrowserSessionConfig
    passwords: Passwords
    throttle: Throttle
    replay: Replay
    on_revoke: OnRevoke
    address: str
    hub: Hub = field(default_factory=lambda: Hub(""))
    push: Greeter | None = None
    newsstand: Newsstand = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "newsstand", Newsstand(self.db))

    @asynccontextmanager
    async def tenant(self, visitor: Visitor) -> AsyncIterator[Connection]:
        """A transaction that sees the visitor's organization alone; for an operator also what is nobody's."""
        principal = visitor.principal
        async with self.db.tenant(principal.organization_id, operator=principal.is_operator) as conn:
            yield conn


ConsoleDep = NamedDependency[SkipValidation[Console]]
VisitorDep = NamedDependency[SkipValidation[Visitor]]
Id = FromPath[UUID]
Typed = Annotated[str, QueryParameter(max_length=500, pattern=r"^[^\x00]*$")]
"""A filter out of the address, as somebody typed it."""

Place = FromQuery[str | None]
"""Where a list goes on; None for its beginning."""
