"""No sentence goes untranslated, nothing inline, nothing from elsewhere: templates and catalog, walked."""

import importlib.util
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

from portaria.console.language import Language
from portaria.console.outcomes import REFUSALS
from portaria.console.render import environment
from portaria.console.words import WORDS

ROOT = Path(__file__).parent.parent.parent
CONSOLE = ROOT / "src/portaria/console"
TEMPLATES = sorted((CONSOLE / "templates").glob("*.html"))
SPOKEN = {"alt", "aria-label", "placeholder", "title", "data-confirm"}
# Names, signs, and what a provider calls its things.
NOT_SPOKEN = re.compile(
    r"[^\w]*|(· )?Portaria|message\.received|lead\.assigned|\+\d[\d -]+|https://|@|[A-Z]?\d*"
    # Markup shown as text (a form's snippet), and attributes that a macro writes.
    r"|<.*>|aria-[\w-]+=.*",
    re.ASCII,
)


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Sayings(HTMLParser):
    """What a template says in its own words, outside of any expression."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.faults: list[str] = []

    def handle_data(self, data: str) -> None:
        self.said += [line.strip() for line in data.splitlines()]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in SPOKEN or name.startswith("data-say-"):
                self.said.append((value or "").strip())
            if name == "style" or name.startswith("on"):
                self.faults.append(f"<{tag} {name}>")
            if name in ("src", "href", "action") and (value or "").startswith(("http", "//")):
                self.faults.append(f"<{tag} {name}={value}>")
        if tag == "style" or (tag == "script" and "src" not in dict(attrs)):
            self.faults.append(f"<{tag}>")


def _read(template: Path) -> Sayings:
    text = template.read_text(encoding="utf-8")
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", text, flags=re.DOTALL)
    found = Sayings()
    found.feed(text)
    return found


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.name)
def test_a_template_says_nothing_of_its_own_and_holds_nothing_inline(template: Path) -> None:
    found = _read(template)
    assert [words for words in found.said if not NOT_SPOKEN.fullmatch(words)] == []
    assert found.faults == []


def test_the_walk_would_find_a_sentence_of_its_own(tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text('<p onclick="x()" style="a">{{ _("Name") }} Nome</p><img alt="Foto" src="//x">', "utf-8")
    found = _read(bad)
    assert [words for words in found.said if not NOT_SPOKEN.fullmatch(words)] == ["Nome", "Foto"]
    assert found.faults == ["<p onclick>", "<p style>", "<img src=//x>"]


def test_every_sentence_is_in_the_catalog_with_its_placeholders() -> None:
    catalog = _script("catalog")
    wanted = catalog.sentences()
    assert len(wanted) > 500
    assert list(catalog.faults(catalog.read(), wanted)) == []


def test_templates_translate_literals_alone_and_never_declare_anything_safe() -> None:
    """A name that somebody gave is no sentence to look up, and nothing is exempt from escaping."""
    for template in TEMPLATES:
        text = template.read_text(encoding="utf-8")
        assert re.findall(r"(?<![\w.])_\((?!')[^)]*", text) == [], template.name
        assert not re.search(r"\|\s*safe|autoescape", text), template.name


def test_every_word_and_refusal_is_said_in_portuguese() -> None:
    language = Language("pt_BR")
    same = {"WhatsApp", "Standard Webhooks", "WhatsApp Cloud API (Meta)", "Console", "API", "Lead"}
    said = [word for kind, words in WORDS.items() if kind != "language" for word in words.values()]
    assert [w for w in [*said, *REFUSALS.values()] if str(language.say(w)) == w and w not in same] == []


def test_every_refusal_that_a_verb_of_the_console_may_raise_has_its_sentence() -> None:
    """Codes that only machines meet stand apart, by name."""
    machines = {
        "body_too_large", "body_too_slow", "content_encoding", "headers_too_large", "internal_error",
        "invalid_cursor", "invalid_if_match", "invalid_json", "invalid_keep", "invalid_organization",
        "invalid_owner", "invalid_payload", "invalid_signature", "invalid_token", "media_type",
        "method_not_allowed", "organization_missing", "token_expired", "too_many", "unauthorized",
        "unavailable", "webhook_event_not_found", "incoming_event_not_found", "not_processed",
        "account_unknown", "arrivals_pending", "contact_ambiguous",
    }  # fmt: skip
    raised = set()
    for file in (ROOT / "src/portaria").rglob("*.py"):
        if "api" not in file.parts and "cli" not in file.parts:
            raised |= set(re.findall(r'Refusal\(\s*\d{3},\s*"(\w+)"', file.read_text(encoding="utf-8")))
    assert raised - machines - REFUSALS.keys() == set()


def test_templates_compile_and_the_vendored_assets_are_what_their_manifests_say() -> None:
    for template in TEMPLATES:
        environment().get_template(template.name)
    vendor = _script("vendor_assets")
    assert [p for folder, packages in vendor.FOLDERS.items() for p in vendor.check(folder, packages)] == []
    for script in (CONSOLE / "static").glob("*.js"):
        assert "http:" not in script.read_text(encoding="utf-8"), script.name
        assert "innerHTML" not in script.read_text(encoding="utf-8"), script.name
