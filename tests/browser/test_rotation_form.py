"""The Assign form: drag, two editors at once, whoever left; in both languages."""

import psycopg
import pytest
from playwright.sync_api import Page, expect

from portaria.console.language import Language
from tests.browser.conftest import Pages
from tests.browser.scene import Scene
from tests.console.workbench import FrontDesk


@pytest.fixture
def scene(desk: FrontDesk, owner: psycopg.Connection) -> Scene:
    return Scene.open(desk, owner)


def _queue(page: Page) -> list[str]:
    return page.locator("[data-queue] .queue-name [data-entry-name]").all_inner_texts()


def _stored(scene: Scene) -> list[tuple[str, bool]]:
    fila = scene.one(
        "SELECT actions -> 0 -> 'config' -> 'fila' FROM automation_rules WHERE organization_id = %s",
        scene.organization,
    )
    names = dict(scene.owner.execute("SELECT id::text, name FROM users").fetchall())
    return [(names[entry["user_id"]], entry["pausado"]) for entry in fila]


@pytest.mark.parametrize("locale", ["pt_BR", "en"])
def test_two_editors_at_once_see_each_other_and_nobody_is_overwritten(
    pages: Pages, scene: Scene, locale: str
) -> None:
    say = Language(locale).say
    rule = scene.rule(*(scene.member(name) for name in ("Ana", "Bruno", "Carla")))
    one = pages.at_work(pages.person(scene.organization, "Chefe", "admin", locale=locale))
    other = pages.at_work(pages.person(scene.organization, "Gerente", "manager", locale=locale))
    for page in (one, other):
        page.goto(f"/automations/{rule}")

    one.get_by_role("button", name=f"{say('Up')} Carla").click()
    one.get_by_role("button", name=str(say("Save"))).click()
    expect(one.get_by_text(str(say("The automation is saved.")))).to_be_visible()

    other.get_by_role("button", name=f"{say('Take out')} Ana").click()
    other.get_by_role("button", name=str(say("Save"))).click()
    alert = other.get_by_role("alert")
    expect(alert).to_contain_text(
        str(say("Somebody changed this automation meanwhile. Nothing was overwritten."))
    )
    assert alert.get_by_role("listitem").all_inner_texts() == ["Ana", "Carla", "Bruno"]
    assert _queue(other) == ["Bruno", "Carla"]
    assert [name for name, _ in _stored(scene)] == ["Ana", "Carla", "Bruno"]

    other.get_by_role("button", name=str(say("Save over what is stored"))).click()
    expect(other.get_by_text(str(say("The automation is saved.")))).to_be_visible()
    assert [name for name, _ in _stored(scene)] == ["Bruno", "Carla"]


def test_dragging_the_handle_changes_the_order_that_is_saved(pages: Pages, scene: Scene) -> None:
    rule = scene.rule(*(scene.member(name) for name in ("Ana", "Bruno", "Carla")))
    page = pages.at_work(pages.person(scene.organization, "Chefe", "admin"))
    page.goto(f"/automations/{rule}")
    grip = page.locator("[data-entry]").filter(has_text="Carla").locator("[data-grip]")
    grip.drag_to(page.locator("[data-entry]").first)
    expect(page.locator("[data-queue] .queue-name").first).to_have_text("Carla")
    page.get_by_role("button", name="Salvar").click()
    expect(page.get_by_text("A automação foi salva.")).to_be_visible()
    assert [name for name, _ in _stored(scene)] == ["Carla", "Ana", "Bruno"]


def test_the_keyboard_alone_pauses_moves_and_takes_out(pages: Pages, scene: Scene) -> None:
    rule = scene.rule(*(scene.member(name) for name in ("Ana", "Bruno", "Carla")))
    page = pages.at_work(pages.person(scene.organization, "Chefe", "admin"))
    page.goto(f"/automations/{rule}")
    page.get_by_role("button", name="Descer Ana").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-queue-said]")).to_have_text("Ana está agora na posição 2.")
    page.keyboard.press("Enter")
    assert _queue(page) == ["Bruno", "Carla", "Ana"]
    # At the end the other arrow of the same row has the focus: the next key undoes, it does not vanish.
    page.keyboard.press("Space")
    assert _queue(page) == ["Bruno", "Ana", "Carla"]
    page.locator("[data-entry]").filter(has_text="Carla").get_by_label("pausado").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Tirar Bruno").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Salvar").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("A automação foi salva.")).to_be_visible()
    assert _stored(scene) == [("Ana", False), ("Carla", True)]


def test_a_former_member_is_named_as_such_and_can_be_taken_out(pages: Pages, scene: Scene) -> None:
    ana, bruno = scene.member("Ana"), scene.member("Bruno")
    rule = scene.rule(ana, bruno)
    scene.owner.execute("UPDATE user_organizations SET revoked_at = now() WHERE user_id = %s", (ana,))
    page = pages.at_work(pages.person(scene.organization, "Chefe", "admin"))
    page.goto(f"/automations/{rule}")
    expect(page.locator("[data-entry]").first).to_contain_text("ex-membro")
    expect(page.get_by_role("region", name="Quem é o próximo")).to_contain_text("saiu da organização")
    page.get_by_role("button", name="Tirar Ana").click()
    page.get_by_role("button", name="Salvar").click()
    expect(page.get_by_text("A automação foi salva.")).to_be_visible()
    assert _stored(scene) == [("Bruno", False)]


def test_an_agent_sees_the_queue_and_cannot_change_it(pages: Pages, scene: Scene) -> None:
    rule = scene.rule(scene.member("Ana"))
    page = pages.at_work(pages.person(scene.organization, "Bia", "agent"))
    page.goto(f"/automations/{rule}")
    expect(page.locator("[data-entry]")).to_contain_text("Ana")
    expect(page.get_by_role("button", name="Salvar")).to_have_count(0)
    expect(page.get_by_label("Nome")).to_be_disabled()
