"""Every page and every form of the console tried by everybody who must not: from its own routes, so that
a new one is tried at once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from portaria.console.pages import ROUTES
from portaria.identity.principal import Role
from tests.api.world import OPERATOR, House
from tests.security.conftest import Visits

ROLES = [*(role.name for role in Role), OPERATOR]
# For whoever has not signed in; and what never ends.
OPEN = {"/sign-in"}
NEVER_ENDS = {"/live"}
OPERATORS = "/accounts-events"
_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")


@dataclass(frozen=True)
class Page:
    """A route and the rows that it names."""

    method: str
    path: str
    parameters: tuple[str, ...]

    def url(self, house: House) -> str:
        ids = {**house.ids, "row": house.ids["row_id" if self.path.startswith(OPERATORS) else "event_id"]}
        return self.path.format(**{name: ids[name] for name in self.parameters})


def pages() -> list[Page]:
    found = list(_pages())
    assert len(found) > 50
    # Signing out last: it ends the session that the others need.
    return sorted(found, key=lambda page: "sign-out" in page.path)


def _pages() -> Iterator[Page]:
    for handler in ROUTES:
        for path in handler.paths:
            parameters = tuple(_PARAMETER.findall(path))
            plain = _PARAMETER.sub(r"{\1}", path)
            if plain not in OPEN | NEVER_ENDS:
                for method in {str(m) for m in handler.http_methods} - {"OPTIONS", "HEAD"}:
                    yield Page(method, plain, parameters)


async def test_who_has_not_signed_in_sees_nothing_and_changes_nothing(visits: Visits) -> None:
    house = visits.house(1)
    before = visits.world.fingerprint(house)
    wrong = []
    for page in pages():
        for cookie in (None, "unknown", "a" * 5000):
            answer = await visits.ask(cookie, page.method, page.url(house))
            led_to_sign_in = answer.headers.get("location", "").startswith("/sign-in")
            refused = led_to_sign_in or answer.status_code in (401, 403)
            if not refused or house.mark in answer.text:
                wrong.append((page.method, page.path, answer.status_code))
    assert wrong == []
    assert visits.world.fingerprint(house) == before


@pytest.mark.parametrize("role", ROLES)
async def test_nobody_sees_or_changes_another_organizations_rows(visits: Visits, role: str) -> None:
    theirs, ours = visits.house(1), visits.house(2)
    before = visits.world.fingerprint(theirs)
    cookie = await visits.cookie(ours.people[role])
    wrong = []
    for page in pages():
        if "sign-out" in page.path:
            continue
        answer = await visits.ask(cookie, page.method, page.url(theirs), data=form(theirs, page))
        if page.parameters and not (page.path.startswith(OPERATORS) and role == OPERATOR):
            right = answer.status_code in (403, 404)
        else:
            right = answer.status_code < 500
        if not right or theirs.mark in answer.text.replace(f"evt-{theirs.id}", ""):
            wrong.append((page.method, page.path, answer.status_code))
    assert wrong == []
    assert visits.world.fingerprint(theirs) == before


async def test_a_session_of_one_organization_does_not_open_another_by_its_id(visits: Visits) -> None:
    theirs, ours = visits.house(1), visits.house(2)
    cookie = await visits.cookie(ours.people["admin"], organization=theirs.id)
    for page in pages():
        if page.method == "GET":
            answer = await visits.ask(cookie, "GET", page.url(theirs))
            assert theirs.mark not in answer.text
            if page.parameters:
                assert answer.status_code in (403, 404), page.path
    switched = await visits.ask(
        await visits.cookie(ours.people["admin"]), "POST", "/profile/organization",
        data={"organization_id": str(theirs.id)},
    )  # fmt: skip
    assert switched.status_code in (403, 404, 422)


@pytest.mark.parametrize("role", ["viewer", "agent", "manager"])
async def test_what_needs_a_higher_role_is_refused_and_changes_nothing(visits: Visits, role: str) -> None:
    house = visits.house(1)
    cookie = await visits.cookie(house.people[role])
    for path in FOR_ADMINS if role == "manager" else FOR_ADMINS + FOR_MANAGERS:
        before = visits.world.fingerprint(house)
        answer = await visits.ask(cookie, "POST", path.format(**house.ids), data=FORMS)
        assert answer.status_code == 403, (path, answer.text)
        assert visits.world.fingerprint(house) == before


FOR_ADMINS = [
    "/members", "/members/{user_id}/role", "/members/{user_id}/revoke", "/organization", "/channels",
    "/channels/{channel_id}/rotate", "/channels/{channel_id}/archive",
]  # fmt: skip
FOR_MANAGERS = [
    "/automations", "/automations/{rule_id}", "/automations/{rule_id}/active",
    "/automations/{rule_id}/delete", "/forms", "/forms/{form_id}", "/forms/{form_id}/archive",
    "/arrivals/{event_id}/replay", "/arrivals/replay",
]  # fmt: skip
FORMS = {
    "email": "x@exemplo.test", "name": "x", "role": "admin", "provider": "zernio_social",
    "account_id": "a-1", "trigger_event": "lead.created", "active": "", "status": "dead", "version": "1",
    "password": "senha-nova-1", "phone": "+5511987650001", "through": "9",
}  # fmt: skip


def form(house: House, page: Page) -> dict[str, str] | None:
    """Good values, that name rows of `house` wherever they can."""
    if page.method != "POST":
        return None
    return FORMS | {name: str(value) for name, value in house.ids.items()} | {
        "owner_user_id": str(house.ids["user_id"]), "mode": "fixed", "user": str(house.ids["user_id"]),
    }  # fmt: skip


async def test_a_form_without_its_token_changes_nothing(visits: Visits) -> None:
    """CSRF: an admin's browser sent here by another site."""
    house = visits.house(1)
    cookie = await visits.cookie(house.people["admin"])
    wrong = []
    before = visits.world.fingerprint(house)
    for page in pages():
        if page.method == "GET":
            continue
        attempts = [
            {"csrf": False, "data": form(house, page)},
            {"csrf": False, "data": {**(form(house, page) or {}), "csrf": "x"}},
            {"csrf": False, "data": {**(form(house, page) or {}), "csrf": ""}},
            {"data": form(house, page), "headers": {"Sec-Fetch-Site": "cross-site"}},
            {"data": form(house, page), "headers": {"Sec-Fetch-Site": "same-site"}},
            {"data": form(house, page), "headers": {"Origin": "https://evil.example"}},
            {"data": form(house, page), "headers": {"Origin": "null"}},
        ]  # fmt: skip
        for attempt in attempts:
            answer = await visits.ask(cookie, page.method, page.url(house), **attempt)  # type: ignore[arg-type]
            if answer.status_code != 403:
                wrong.append((page.path, attempt, answer.status_code))
    assert wrong == []
    assert visits.world.fingerprint(house) == before
    assert (await visits.ask(cookie, "GET", "/")).status_code == 200, "still signed in"


async def test_every_page_forbids_what_is_not_ours_and_is_kept_by_nobody(visits: Visits) -> None:
    house = visits.house(1)
    cookie = await visits.cookie(house.people["admin"])
    for page in pages():
        if page.method != "GET":
            continue
        for seen in (cookie, None):
            answer = await visits.ask(seen, "GET", page.url(house))
            policy = dict(
                part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; ")
            )
            assert policy["default-src"] == "'none'"
            assert policy["script-src"] == "'self'"
            assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
            assert "unsafe" not in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store", page.path
            assert "access-control-allow-origin" not in answer.headers
            if answer.headers.get("content-type", "").startswith("text/html"):
                assert " onclick=" not in answer.text
                assert " style=" not in answer.text, page.path
                assert "<script>" not in answer.text
