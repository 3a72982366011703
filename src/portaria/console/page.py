"""A signed-in page: its content in the frame that every page shares, with the live badges."""

from dataclasses import dataclass
from typing import Any

from litestar import Response
from litestar.response import Redirect

from portaria.console.deps import Console
from portaria.console.outcomes import DONE
from portaria.console.render import html
from portaria.console.visitor import AnyRequest, Visitor, theme_of
from portaria.crm.inbox import count_unread
from portaria.db.pool import Connection
from portaria.notices import count_live


@dataclass(frozen=True, slots=True)
class Badges:
    """What waits: live notices, and conversations with something unread."""

    notices: int
    unread: int


async def page(
    request: AnyRequest, console: Console, visitor: Visitor, template: str, *, code: int = 200, **context: Any
) -> Response[str]:
    """The template in its frame. `section` in the context is the entry of the menu it belongs to."""
    async with console.tenant(visitor) as conn:
        badges = await count_badges(conn, visitor)
    done = DONE.get(request.query_params.get("done", ""))
    frame = {
        "visitor": visitor, "badges": badges, "theme": theme_of(request), "path": request.url.path,
        "done": visitor.language.say(done) if done else None, "errors": {}, "section": None,
    }  # fmt: skip
    return html(template, visitor.language, {**frame, **context}, status=code)


def part(visitor: Visitor, template: str, *, code: int = 200, **context: Any) -> Response[str]:
    """A piece of a page, for a page that is open already."""
    return html(template, visitor.language, {"visitor": visitor, "errors": {}, **context}, status=code)


async def count_badges(conn: Connection, visitor: Visitor) -> Badges:
    organization_id, operator = visitor.organization_id, visitor.principal.is_operator
    return Badges(
        await count_live(conn, organization_id, operator=operator), await count_unread(conn, organization_id)
    )


def go(path: str, done: str | None = None) -> Redirect:
    """After something was done: on to a page, which says so."""
    if done is not None:
        path += f"{'&' if '?' in path else '?'}done={done}"
    return Redirect(path, status_code=303)
