"""The console's two languages: sentences from a gettext catalog, times and numbers by locale.

Sentences stand in the code in English; `locale/pt_BR` holds the Portuguese ones, and is read as it is
when the process starts: no compiled copy that could be older. Nothing here is global: a `Language` is
what one request speaks, in the time zone of its organization.
"""

import gettext
import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Final
from zoneinfo import ZoneInfo

from babel import dates, numbers
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from markupsafe import Markup, escape

LOCALES: Final = ("pt_BR", "en")
DEFAULT: Final = "pt_BR"
DEFAULT_ZONE: Final = "America/Sao_Paulo"
_DOMAIN: Final = "portaria.po"


def N_(sentence: str) -> str:
    """Marks a sentence for the catalog; it is translated where it is shown."""
    return sentence


@dataclass(frozen=True, slots=True)
class Language:
    """A locale and a time zone. Whatever it says is safe to stand in a page."""

    locale: str = DEFAULT
    time_zone: str = DEFAULT_ZONE

    @property
    def tag(self) -> str:
        """As HTML names it: `pt-BR`."""
        return self.locale.replace("_", "-")

    def say(self, sentence: str, **values: object) -> Markup:
        """The sentence in this language. Its own text and its values are escaped, markup values are not."""
        return _filled(_catalog(self.locale).gettext(sentence), values)

    def count(self, one: str, many: str, n: int, **values: object) -> Markup:
        """`one` or `many` by `n`, which stands in them as `%(n)s`."""
        text = _catalog(self.locale).ngettext(one, many, n)
        return _filled(text, {"n": self.number(n), **values})

    def number(self, value: float) -> str:
        return numbers.format_decimal(value, locale=self.locale)

    def moment(self, at: datetime, form: str = "medium") -> str:
        """Date and time of day in the organization's zone."""
        return dates.format_datetime(at, form, tzinfo=_zone(self.time_zone), locale=self.locale)

    def clock(self, at: datetime) -> str:
        """The time of day, in hours and minutes."""
        return dates.format_time(at, "short", tzinfo=_zone(self.time_zone), locale=self.locale)

    def day(self, at: datetime) -> str:
        return dates.format_date(self.local(at), "full", locale=self.locale)

    def ago(self, at: datetime, now: datetime | None = None) -> str:
        """How long ago, roughly: `há 5 minutos`."""
        past = (now or datetime.now(UTC)) - at
        return dates.format_timedelta(-past, add_direction=True, threshold=1, locale=self.locale)

    def span(self, length: timedelta | float) -> str:
        """A length of time, roughly; a number is of seconds."""
        seconds = length.total_seconds() if isinstance(length, timedelta) else length
        if 0 < seconds < 1:
            return f"{numbers.format_decimal(seconds * 1000, '#,##0', locale=self.locale)} ms"
        return dates.format_timedelta(
            timedelta(seconds=seconds), threshold=1, format="short", locale=self.locale
        )

    def local(self, at: datetime) -> datetime:
        """The moment by the organization's clock."""
        return at.astimezone(_zone(self.time_zone))


def preferred(accept_language: str | None) -> str:
    """The locale for whoever has not signed in: Portuguese, unless the browser asks for English first."""
    for tag in (accept_language or "").lower().split(","):
        if tag.strip().startswith("pt"):
            return "pt_BR"
        if tag.strip().startswith("en"):
            return "en"
    return DEFAULT


def warm_up() -> None:
    """Loads catalogs and locale data before the first request needs them."""
    for locale in LOCALES:
        language = Language(locale)
        now = datetime.now(UTC)
        language.say("Overview")
        language.moment(now), language.ago(now), language.day(now), language.clock(now), language.number(1)


def _filled(text: str, values: Mapping[str, object]) -> Markup:
    return escape(text) % values if values else escape(text)


@cache
def _catalog(locale: str) -> gettext.NullTranslations:
    source = files("portaria.console") / "locale" / locale / "LC_MESSAGES" / _DOMAIN
    if not source.is_file():
        return gettext.NullTranslations()
    compiled = io.BytesIO()
    with source.open("rb") as catalog:
        write_mo(compiled, read_po(catalog, locale=locale))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
