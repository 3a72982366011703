"""What changes, told to open pages while it happens (server-sent events)."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Final

from litestar import get
from litestar.response import Stream

from portaria.console.deps import Console, ConsoleDep, Typed, VisitorDep
from portaria.console.news import Mark, read_mark, take_mark
from portaria.console.visitor import Visitor
from portaria.db.sqlstate import is_infrastructure
from portaria.identity.organizations import find_organization
from portaria.identity.principal import Role
from portaria.push import Viewer

_EVERY: Final = 1.5
"""Seconds between two looks at what no signal tells of: messages, which are too many for signals."""

_TOGETHER: Final = 0.3
"""Seconds in which signals are gathered: fifty notices at once are one change to a page."""

_LIFETIME: Final = 55.0
"""Seconds after which the page asks anew, so that whoever may no longer listen stops hearing."""

_KINDS: Final = ("notice", "lead")
LIVE: Final = "/live"


@get(LIVE, media_type="text/event-stream")
async def listen(console: ConsoleDep, visitor: VisitorDep, seen: Typed = "") -> Stream:
    """The page's events: `changed` with the kinds of things that did, `badges` with what they count.
    `seen`: how things stood when the page was made.
    """
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Stream(_stream(console, visitor, read_mark(seen)), media_type="text/event-stream", headers=headers)


ROUTES = (listen,)


async def _stream(console: Console, visitor: Visitor, seen: Mark | None) -> AsyncIterator[bytes]:
    """Ends early when the database is away: the browser asks anew by itself."""
    try:
        async for event in _events(console, visitor, seen):
            yield event
    except Exception as error:
        if not is_infrastructure(error):
            raise


async def _events(console: Console, visitor: Visitor, seen: Mark | None) -> AsyncIterator[bytes]:
    ends, principal = time.monotonic() + _LIFETIME, visitor.principal
    with console.hub.page(await _viewer(console, visitor)) as feed:
        async with console.tenant(visitor) as conn:
            mark = await take_mark(conn, principal.organization_id, operator=principal.is_operator)
        kinds = mark.changed_since(seen) if seen else set()
        yield b"retry: 1500\n\n"
        while True:
            if kinds:
                yield _event("changed", sorted(kinds))
                yield _event("badges", {"notices": mark.notice, "unread": mark.unread})
            else:
                yield b": still here\n\n"
            if time.monotonic() > ends:
                return
            kinds, before = await _heard(feed), mark
            mark = await console.newsstand.latest(principal.organization_id, operator=principal.is_operator)
            kinds |= mark.changed_since(before)


async def _viewer(console: Console, visitor: Visitor) -> Viewer:
    principal = visitor.principal
    async with console.tenant(visitor) as conn:
        organization = await find_organization(conn, principal.organization_id)
    everything = principal.role != Role.agent
    return Viewer(
        principal.organization_id, principal.user_id, sees_every_lead=everything,
        sees_unowned=everything or organization.agents_see_unowned, is_operator=principal.is_operator,
    )  # fmt: skip


async def _heard(feed: "asyncio.Queue[tuple[str, str]]") -> set[str]:
    """The kinds of what was signalled within a moment."""
    try:
        async with asyncio.timeout(_EVERY):
            signals = [await feed.get()]
    except TimeoutError:
        return set()
    await asyncio.sleep(_TOGETHER)
    while not feed.empty():
        signals.append(feed.get_nowait())
    kinds = {kind.partition(".")[0] for kind, _ in signals}
    return set(_KINDS) if "resync" in kinds else kinds & set(_KINDS)


def _event(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
