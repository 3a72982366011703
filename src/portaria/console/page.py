"""A signed-in page: its content in the frame that every page shares, with the live badges."""

from typing import Any

from litestar import Response
from litestar.response import Redirect

from portaria.console.outcomes import DONE
from portaria.console.render import html
from portaria.console.visitor import AnyRequest, Visitor, theme_of


def page(
    request: AnyRequest, visitor: Visitor, template: str, *, code: int = 200, **context: Any
) -> Response[str]:
    """The template in its frame. `section` in the context is the entry of the menu it belongs to."""
    done = DONE.get(request.query_params.get("done", ""))
    frame = {
        "visitor": visitor, "theme": theme_of(request), "path": request.url.path,
        "done": visitor.language.say(done) if done else None, "errors": {}, "section": None,
        "mark": visitor.mark,
    }  # fmt: skip
    return html(template, visitor.language, {**frame, **context}, status=code)


def part(visitor: Visitor, template: str, *, code: int = 200, **context: Any) -> Response[str]:
    """A piece of a page, for a page that is open already."""
    return html(template, visitor.language, {"visitor": visitor, "errors": {}, **context}, status=code)


def go(path: str, done: str | None = None) -> Redirect:
    """After something was done: on to a page, which says so."""
    if done is not None:
        path += f"{'&' if '?' in path else '?'}done={done}"
    return Redirect(path, status_code=303)
