"""Sentences, times and numbers in both languages; nothing that somebody typed becomes markup."""

from datetime import UTC, datetime, timedelta

import pytest
from markupsafe import Markup

from portaria.console.language import Language, preferred
from portaria.console.raw import pieces

PT, EN = Language("pt_BR", "America/Sao_Paulo"), Language("en", "America/Sao_Paulo")
NOON = datetime(2026, 12, 1, 15, 0, tzinfo=UTC)


def test_values_are_escaped_and_markup_stays() -> None:
    said = PT.say("Turn of %(name)s, position %(position)s", name="<b>Ana</b>", position=Markup("<i>1</i>"))
    assert said == "Vez de &lt;b&gt;Ana&lt;/b&gt;, posição <i>1</i>"
    assert PT.say("<script>%</script>") == "&lt;script&gt;%&lt;/script&gt;"


@pytest.mark.parametrize(
    ("n", "portuguese", "english"),
    [(0, "0 byte", "0 bytes"), (1, "1 byte", "1 byte"), (1234, "1.234 bytes", "1,234 bytes")],
)
def test_counts_by_the_language_s_own_plural(n: int, portuguese: str, english: str) -> None:
    assert PT.count("%(n)s byte", "%(n)s bytes", n) == portuguese
    assert EN.count("%(n)s byte", "%(n)s bytes", n) == english


def test_times_stand_in_the_organization_s_zone() -> None:
    assert PT.clock(NOON) == "12:00"
    assert EN.clock(NOON).replace("\u202f", " ") == "12:00 PM"
    assert PT.day(NOON) == "terça-feira, 1 de dezembro de 2026"
    late = datetime(2026, 12, 1, 1, 0, tzinfo=UTC)
    assert PT.day(late) == "segunda-feira, 30 de novembro de 2026"
    assert PT.ago(NOON, NOON + timedelta(minutes=5)) == "há 5 minutos"
    assert EN.ago(NOON, NOON + timedelta(hours=30)) == "1 day ago"


@pytest.mark.parametrize(
    ("asked", "locale"),
    [
        (None, "pt_BR"),
        ("", "pt_BR"),
        ("en-US,en;q=0.9,pt;q=0.8", "en"),
        ("pt", "pt_BR"),
        ("fr,en", "en"),
        ("fr", "pt_BR"),
    ],
)
def test_before_the_sign_in_the_browser_is_asked(asked: str | None, locale: str) -> None:
    assert preferred(asked) == locale


def test_a_raw_body_keeps_its_digits_and_spells_out_odd_bytes() -> None:
    raw = b'{"n": 1234567890123456789012345678901234567890, "\xff": "a\x00b\r\n\xe2\x80\xae"}'
    shown = pieces(raw)
    assert "".join(p.text for p in shown) == (
        '{"n": 1234567890123456789012345678901234567890, "\\xFF": "a\\x00b\\x0D\n\\u202E"}'
    )
    assert [p.text for p in shown if p.odd] == ["\\xFF", "\\x00", "\\x0D", "\\u202E"]
