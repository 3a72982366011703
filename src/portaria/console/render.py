"""Templates into pages. Whatever comes from outside is escaped: there is no way around it in here."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from litestar import MediaType, Response
from markupsafe import Markup

from portaria.console import notice_words, words
from portaria.console.assets import asset_text, asset_url
from portaria.console.language import Language

# Set for the time of one rendering, which never awaits: imported macros find their language here.
_speaking: ContextVar[Language] = ContextVar("speaking")

_SPRITE: Final = "vendor/tabler-icons.svg"
_ICON: Final = Markup(
    '<svg class="icon{}" width="24" height="24" aria-hidden="true" focusable="false">'
    '<use href="{}#{}"></use></svg>'
)


def html(
    template: str,
    language: Language,
    context: Mapping[str, Any],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response[str]:
    """The template as a page or a part of one."""
    with _in(language):
        content = environment().get_template(template).render(context, lang=language)
    return Response(content, media_type=MediaType.HTML, status_code=status, headers=dict(headers or {}))


@cache
def environment() -> Environment:
    """The templates, with what they may call. Compiled once."""
    made = Environment(
        loader=PackageLoader("portaria.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.loopcontrols"],
    )
    made.globals.update(
        _=lambda sentence, **values: _speaking.get().say(sentence, **values),
        ngettext=lambda one, many, n, **values: _speaking.get().count(one, many, n, **values),
        asset=asset_url,
        icon=icon,
        now=lambda: datetime.now(UTC),
        words=words,
        say_title=lambda title: notice_words.say_title(_speaking.get(), title),
        say_body=lambda body: notice_words.say_body(_speaking.get(), body),
    )
    made.filters.update({name: _spoken(said) for name, said in _FILTERS.items()})
    made.filters["utc"] = lambda at: at.astimezone(UTC).isoformat()
    return made


_FILTERS: Final[Mapping[str, Callable[..., object]]] = {
    "number": Language.number,
    "moment": Language.moment,
    "clock": Language.clock,
    "ago": Language.ago,
    "span": Language.span,
    "word": lambda language, key, kind: language.say(words.word(kind, key)),
}


def _spoken(said: Callable[..., object]) -> Callable[..., object]:
    """The filter in the language of the rendering. With the context, so that a constant is not filtered
    once for all when the template is compiled."""

    @pass_context
    def spoken(_context: Context, *values: object) -> object:
        return said(_speaking.get(), *values)

    return spoken


def icon(name: str, style: str = "") -> Markup:
    """An icon of the sprite; the words beside it say what it means."""
    if name not in _icons():
        raise KeyError(f"the sprite has no icon {name}: see scripts/vendor_assets.py")
    return _ICON.format(f" {style}" if style else "", asset_url(_SPRITE), name)


@cache
def _icons() -> frozenset[str]:
    return frozenset(re.findall(r'<symbol id="([^"]+)"', asset_text(_SPRITE)))


@contextmanager
def _in(language: Language) -> Iterator[None]:
    token = _speaking.set(language)
    try:
        yield
    finally:
        _speaking.reset(token)
