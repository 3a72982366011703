"""What every page owes: the headers, who may enter, what is refused and in which words."""

import re
from uuid import uuid4

import pytest

from portaria.console.assets import asset_url
from portaria.console.security import CONTENT_POLICY
from tests.console.conftest import PASSWORDS, Street
from tests.support.factory import Factory


async def test_every_answer_has_the_strict_policy_also_a_refusal_and_an_asset(
    street: Street, make_shared: Factory
) -> None:
    admin = await street.member(make_shared.organization(), "admin")
    for browser, path, status in [
        (street.anybody(), "/sign-in", 200), (street.anybody(), "/leads", 303),
        (admin, "/", 200), (admin, f"/leads/{uuid4()}", 404), (admin, "/nothing", 404),
        (admin, asset_url("portaria.js"), 200),
    ]:  # fmt: skip
        answer = await browser.get(path)
        assert answer.status_code == status, path
        assert answer.headers["content-security-policy"] == CONTENT_POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in CONTENT_POLICY
    assert "http" not in CONTENT_POLICY


async def test_whoever_is_not_signed_in_comes_back_to_the_page_they_asked_for(
    street: Street, make_shared: Factory
) -> None:
    organization = make_shared.organization()
    user = make_shared.member(organization, "Ana", role="viewer")
    street.owner.execute(
        "UPDATE users SET email = 'ana.volta@exemplo.test', password_hash = %s WHERE id = %s",
        (await PASSWORDS.hash("senha-inventada-1"), user),
    )
    browser = street.anybody()
    asked = await browser.get("/leads?status=won")
    assert asked.headers["location"] == "/sign-in?next=%2Fleads%3Fstatus%3Dwon"
    await browser.get(asked.headers["location"])
    given = {"email": "ana.volta@exemplo.test", "password": "senha-inventada-1"}
    answer = await browser.post(asked.headers["location"], given)
    assert (answer.status_code, answer.headers["location"]) == (303, "/leads?status=won")
    cookie = next(c for c in answer.headers.get_list("set-cookie") if c.startswith("portaria="))
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert (await browser.get("/leads?status=won")).status_code == 200


@pytest.mark.parametrize("away", ["https://mal.example/", "//mal.example", "/\\mal.example", "/\x00", "mal"])
async def test_the_sign_in_leads_nobody_to_another_host(
    street: Street, make_shared: Factory, away: str
) -> None:
    user = make_shared.member(make_shared.organization(), "Ana")
    email = f"{user}@exemplo.test"
    street.owner.execute(
        "UPDATE users SET password_hash = %s WHERE id = %s", (await PASSWORDS.hash("senha-inventada-1"), user)
    )
    browser = street.anybody()
    await browser.get("/sign-in")
    browser.client.params = {"next": away}
    answer = await browser.post("/sign-in", {"email": email, "password": "senha-inventada-1"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_a_sign_in_is_throttled_and_says_so(street: Street) -> None:
    browser = street.anybody()
    await browser.get("/sign-in")
    given = {"email": f"{uuid4()}@exemplo.test", "password": "errada-errada"}
    seen = [(await browser.post("/sign-in", given)) for _ in range(3)]
    assert [answer.status_code for answer in seen] == [401, 401, 429]
    assert int(seen[-1].headers["retry-after"]) > 0
    assert "Tentativas demais" in seen[-1].text


async def test_a_form_without_its_token_or_from_elsewhere_changes_nothing(
    street: Street, make_shared: Factory
) -> None:
    organization = make_shared.organization("Antes")
    admin = await street.member(organization, "admin")
    change = {"name": "Depois", "time_zone": "America/Sao_Paulo", "locale": "pt_BR"}
    token = admin.token
    for kept, headers in [
        ("", {}), ("x" * 32, {}), ("é", {}), (token, {"sec-fetch-site": "cross-site"}),
        (token, {"sec-fetch-site": "same-site"}), (token, {"origin": "https://mal.example"}),
        (token, {"origin": "null"}),
    ]:  # fmt: skip
        admin.token = kept
        answer = await admin.post("/organization", change, **headers)
        assert answer.status_code == 403, (kept, headers)
    name = "SELECT name FROM organizations WHERE id = %s"
    assert street.owner.execute(name, (organization,)).fetchone() == ("Antes",)
    admin.token = token
    good = await admin.post("/organization", change, origin="http://portaria.test")
    assert good.status_code == 303
    assert street.owner.execute(name, (organization,)).fetchone() == ("Depois",)


async def test_signing_out_ends_the_session_and_everywhere_ends_the_others(
    street: Street, make_shared: Factory
) -> None:
    organization = make_shared.organization()
    first = await street.member(organization, "agent")
    other = street.anybody(portaria=first.client.cookies["portaria"])
    other.token = first.token
    assert (await other.post("/profile/sign-out-everywhere")).status_code == 303
    assert (await other.get("/")).status_code == 200
    assert (await first.get("/")).headers["location"] == "/sign-in"
    # Whoever was put out signs in again, with what is left of the old session still in the browser.
    await first.get("/sign-in")
    answer = await first.post("/sign-in", {"email": "ninguem@exemplo.test", "password": "errada-errada"})
    assert answer.status_code == 401
    await other.get("/")
    assert (await other.post("/sign-out")).headers["location"] == "/sign-in"
    assert (await other.get("/")).headers["location"] == "/sign-in"


_CHANGES = {
    "agent": ["/notices/{}/resolve", "/leads", "/leads/{}", "/leads/{}/assign", "/conversations/{}/read",
              "/conversations/{}/unblock"],
    "manager": ["/automations", "/automations/{}", "/automations/{}/delete", "/automations/{}/active",
                "/forms", "/forms/{}", "/forms/{}/archive", "/arrivals/{}/replay", "/arrivals/replay",
                "/leads/hand-over"],
    "admin": ["/channels", "/channels/{}/rotate", "/channels/{}/archive", "/members", "/members/{}/role",
              "/members/{}/revoke", "/organization"],
}  # fmt: skip
_ROLES = ["viewer", "agent", "manager", "admin"]


@pytest.mark.parametrize("role", _ROLES)
async def test_nobody_changes_what_their_role_does_not_allow(
    street: Street, make_shared: Factory, role: str
) -> None:
    """Below the role: 403. At it or above: anything else, most often that there is no such thing."""
    browser = await street.member(make_shared.organization(), role)
    given = {
        "name": "X", "trigger": "lead.created", "mode": "rotation", "title": "t", "stage": "s",
        "status": "open", "rule": str(uuid4()), "email": "x@exemplo.test", "phone": "11 98765-4321",
    }  # fmt: skip
    for needed, paths in _CHANGES.items():
        for path in paths:
            answer = await browser.post(path.format(uuid4()), given)
            allowed = _ROLES.index(role) >= _ROLES.index(needed)
            assert (answer.status_code != 403) == allowed, (path, answer.status_code)
            assert answer.status_code < 500, path


async def test_what_belongs_to_another_organization_is_not_there(
    street: Street, make_shared: Factory
) -> None:
    theirs, ours = make_shared.organization(), make_shared.organization()
    channel = make_shared.channel(theirs, phone_number=None)
    admin = await street.member(ours, "admin")
    for path in (f"/channels/{channel.id}", f"/conversations/{uuid4()}", f"/arrivals/{uuid4()}"):
        assert (await admin.get(path)).status_code == 404, path
    assert channel.account_id not in (await admin.get("/channels")).text
    assert (await admin.post(f"/channels/{channel.id}/archive")).status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/leads?after=x", "/leads?owner=x", "/arrivals?since=ontem", "/arrivals?before=1", "/audit?after=~",
     "/conversations?after=2026-01-01T00:00:00~x", "/leads?stage=%00", "/arrivals?text=%00%ff",
     "/audit?action=%00", "/conversations?q=%25%5c%00", "/notices?after=9999999-01-01~", "/?minutes=abc",
     "/leads?q=%00", "/accounts-events?event_id=%00", "/arrivals?event_type=%00&external_id=%00"],
)  # fmt: skip
async def test_an_odd_address_is_answered_in_words(street: Street, make_shared: Factory, path: str) -> None:
    admin = await street.member(make_shared.organization(), "admin", operator=True)
    answer = await admin.get(path)
    assert answer.status_code in (200, 400, 404, 422), answer.text
    assert "Traceback" not in answer.text


async def test_assets_are_kept_for_ever_under_an_address_of_their_content(street: Street) -> None:
    browser = street.anybody()
    answer = await browser.get(asset_url("vendor/tabler.min.css"), **{"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    stale = re.sub("/static/[0-9a-f]+/", "/static/0000/", asset_url("portaria.css"))
    assert "immutable" not in (await browser.get(stale)).headers["cache-control"]
    for odd in ("/static/x/../app.py", "/static/x/%2e%2e/app.py", "/static/x/nothing.js", "/static/x/"):
        assert (await browser.get(odd)).status_code == 404, odd


async def test_a_browser_is_subscribed_only_as_itself_and_the_test_says_when_push_is_off(
    street: Street, make_shared: Factory
) -> None:
    agent = await street.member(make_shared.organization(), "agent")
    keys = {
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "auth": "BTBZMqHH6r4Tts7J_aSIgg",
    }
    draft = {"endpoint": "https://push.example.com/abc", "keys": keys}
    headers = {"x-csrf-token": agent.token}
    assert (await agent.client.post("/profile/push", json=draft)).status_code == 403
    assert (await agent.client.post("/profile/push", json=draft, headers=headers)).status_code == 204
    count = "SELECT count(*) FROM push_subscriptions WHERE endpoint = 'https://push.example.com/abc'"
    assert street.owner.execute(count).fetchone() == (1,)
    local = {**draft, "endpoint": "http://127.0.0.1/abc"}
    refused = await agent.client.post("/profile/push", json=local, headers=headers)
    assert refused.status_code == 422
    assert "Este navegador não pode ser avisado." in refused.text
    assert (await agent.client.post("/profile/push", content=b"{", headers=headers)).status_code == 422
    assert (await agent.post("/profile/push/test")).status_code == 409
    assert (await agent.post("/profile/push/off", {"endpoint": draft["endpoint"]})).status_code == 204
    assert street.owner.execute(count).fetchone() == (0,)


async def test_a_lead_that_somebody_took_meanwhile_stays_theirs(street: Street, make_shared: Factory) -> None:
    """H10: the form was made when nobody had it; the claim of whoever was faster stands."""
    organization = make_shared.organization()
    manager = await street.member(organization, "manager")
    ana, bia = (make_shared.member(organization, name) for name in ("Ana", "Bia"))
    contact, lead = uuid4(), uuid4()
    street.owner.execute(
        "INSERT INTO contacts (organization_id, id, name) VALUES (%s, %s, 'Rosa')", (organization, contact)
    )
    street.owner.execute(
        "INSERT INTO crm_leads (organization_id, id, contact_id, title, source, owner_user_id)"
        " VALUES (%s, %s, %s, 'Pedido', 'form', %s)",
        (organization, lead, contact, ana),
    )
    answer = await manager.post(f"/leads/{lead}/assign", {"owner": str(bia), "seen_owner": ""})
    assert answer.status_code == 409
    assert "Outra pessoa pegou este lead nesse meio-tempo" in answer.text
    owner = "SELECT owner_user_id FROM crm_leads WHERE id = %s"
    assert street.owner.execute(owner, (lead,)).fetchone() == (ana,)
    again = await manager.post(f"/leads/{lead}/assign", {"owner": str(bia), "seen_owner": str(ana)})
    assert again.status_code == 303
    assert street.owner.execute(owner, (lead,)).fetchone() == (bia,)


async def test_whoever_left_the_organization_they_chose_goes_on_in_another_of_theirs(
    street: Street, make_shared: Factory
) -> None:
    first, second = make_shared.organization("Primeira"), make_shared.organization("Segunda")
    browser = await street.member(first, "agent")
    [(user,)] = street.owner.execute(
        "SELECT user_id FROM user_organizations WHERE organization_id = %s", (first,)
    ).fetchall()
    street.owner.execute("INSERT INTO user_organizations VALUES (%s, %s, 'viewer')", (second, user))
    assert (await browser.post("/profile/organization", {"organization_id": str(second)})).status_code == 303
    assert "Segunda" in (await browser.get("/")).text
    street.owner.execute(
        "UPDATE user_organizations SET revoked_at = now() WHERE organization_id = %s", (second,)
    )
    answer = await browser.get("/")
    assert (answer.status_code, "Primeira" in answer.text) == (200, True)
    other = make_shared.organization()
    assert (await browser.post("/profile/organization", {"organization_id": str(other)})).status_code == 403
