"""Signing in and out, in both languages."""

import pytest

from tests.browser.conftest import Pages
from tests.support.factory import Factory


@pytest.mark.parametrize(
    ("locale", "refused", "heading"),
    [
        ("pt-BR", "O e-mail ou a senha está errado.", "Visão geral"),
        ("en-US", "The e-mail or the password is wrong.", "Overview"),
    ],
)
def test_a_wrong_password_is_said_where_it_happened_and_the_right_one_goes_on(
    pages: Pages, locale: str, refused: str, heading: str
) -> None:
    organization = Factory(pages.owner).organization()
    email = pages.person(organization, "Ana", "agent", locale=locale[:2] if locale != "pt-BR" else "pt_BR")
    page = pages.anybody(locale=locale)
    page.goto("/leads?status=won")
    page.locator("#email").fill(email)
    page.locator("#password").fill("errada-errada")
    page.keyboard.press("Enter")
    assert page.get_by_role("alert").inner_text() == refused
    assert page.locator("#email").input_value() == email
    page.locator("#password").fill("senha-inventada-1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/leads?status=won")
    page.goto("/")
    assert page.locator("h1").inner_text() == heading
