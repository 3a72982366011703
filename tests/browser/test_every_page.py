"""Every page: read by machines that read pages aloud, at 360 pixels, dark and light, names that attack."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Pages
from tests.browser.scene import ATTACK, Scene
from tests.conftest import TestDatabase
from tests.console.workbench import FrontDesk

AXE = (Path(__file__).parent / "vendor/axe.min.js").read_text(encoding="utf-8")
_RUN = """async (rules) => (await axe.run(document, {resultTypes: ['violations'], ...rules})).violations
    .filter(v => ['serious', 'critical'].includes(v.impact))
    .map(v => v.id + ': ' + v.nodes.slice(0, 3).map(
        n => n.html.slice(0, 160) + ' ' + (n.any[0] || n.all[0] || n.none[0] || {}).message).join(' | '))"""
_WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def scene(desk: FrontDesk, desk_database: TestDatabase) -> Iterator[Scene]:
    with psycopg.connect(desk_database.owner_url, autocommit=True) as owner:
        made = Scene.open(desk, owner, f"Loja {ATTACK}")
        made.fill()
        yield made


def _visited(page: Page, scene: Scene, *, without: str = r"(?!)") -> Iterator[str]:
    for path in scene.paths():
        if not re.search(without, path):
            page.goto(path)
            yield path


@pytest.mark.parametrize(
    ("theme", "rules"),
    [("light", {}), ("dark", {"runOnly": ["color-contrast"]})],
    ids=["everything in the light", "contrast in the dark"],
)
def test_axe_finds_nothing_serious(pages: Pages, scene: Scene, theme: str, rules: dict[str, object]) -> None:
    email = pages.person(scene.organization, f"Chefe {ATTACK}", "admin", operator=True)
    page = pages.at_work(email, color_scheme=theme)
    page.context.add_init_script(AXE)
    # The dark changes colours alone, and these forms and filters have none of their own.
    seen = _visited(page, scene, without=r"\?|/new|/re(play|process)$" if theme == "dark" else r"(?!)")
    found = {path: problems for path in seen if (problems := page.evaluate(_RUN, rules))}
    assert not found, "\n".join(f"{path}: {problem}" for path in found for problem in found[path])


def test_nothing_is_wider_than_a_small_phone_and_no_name_is_markup(pages: Pages, scene: Scene) -> None:
    email = pages.person(scene.organization, f"Chefe {ATTACK}", "admin", operator=True)
    page = pages.at_work(email, viewport={"width": 360, "height": 740})
    for path in _visited(page, scene):
        assert page.evaluate(_WIDER) <= 0, path
        assert page.locator("img[src=x]").count() == 0, path
        assert page.title() != "hacked", path
