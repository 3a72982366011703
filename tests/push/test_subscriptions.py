"""Browsers that ask to be told, and addresses that must not be reached."""

import socket
from typing import Any

import msgspec
import pytest

from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.push import (
    BrowserKeys,
    EndpointRefused,
    Reach,
    SubscriptionDraft,
    Vapid,
    generate_private_key,
    subscribe,
    unsubscribe,
)
from tests.support.push_service import Device
from tests.support.rotation import Desk

GOOD = "https://updates.push.example.com/wpush/v2/abc?x=1"


def kept(desk: Desk) -> list[tuple[Any, ...]]:
    return desk.conn.execute(
        "SELECT user_id, endpoint, user_agent FROM push_subscriptions WHERE organization_id = %s"
        " ORDER BY created_at, endpoint",
        (desk.org,),
    ).fetchall()


async def test_again_from_the_same_browser_renews_it_and_a_new_user_takes_it_over(
    desk: Desk, pool: Database
) -> None:
    a, b = desk.members("Ana", "Bia")
    device = Device(GOOD)
    async with pool.transaction() as conn:
        await subscribe(conn, desk.org, a, device.draft, user_agent="Firefox\x00" + "x" * 300)
        await subscribe(conn, desk.org, a, Device(GOOD).draft, user_agent="Firefox")
    assert kept(desk) == [(a, GOOD, "Firefox")]
    elsewhere = Desk.open(desk.conn, desk.make)
    (c,) = elsewhere.members("Caio")
    async with pool.transaction() as conn:
        await subscribe(conn, elsewhere.org, c, device.draft)
    assert kept(desk) == [], "the browser's earlier user, in any organization, hears nothing through it"
    async with pool.transaction() as conn:
        assert await unsubscribe(conn, b, GOOD) is False
        assert await unsubscribe(conn, c, GOOD) is True
    assert kept(elsewhere) == []


async def test_the_oldest_browser_makes_room(desk: Desk, pool: Database) -> None:
    (a,) = desk.members("Ana")
    for number in range(22):
        async with pool.transaction() as conn:
            await subscribe(conn, desk.org, a, Device(f"https://push.example.com/{number:02}").draft)
    assert [row[1][-2:] for row in kept(desk)] == [f"{n:02}" for n in range(2, 22)]


REFUSED = [
    "http://push.example.com/x", "https://push.example.com:8443/x", "https://127.0.0.1/x", "https://[::1]/x",
    "https://user@push.example.com/x", "https://push.example.com/x#f", "https://2130706433/x", "https://127.1/x",
    "https://0x7f.0.0.1/x", "https://0x7f000001/x", "ftp://push.example.com/x", "https:///x", "x", "",
    "https://push.example.com/a b", "https://push.example.com/\n", "https://café.example/x",
    "https://push.example.com:99999/x", "https://[::1",
]  # fmt: skip


@pytest.mark.parametrize("endpoint", REFUSED)
async def test_an_address_that_is_refused_at_once(desk: Desk, pool: Database, endpoint: str) -> None:
    (a,) = desk.members("Ana")
    with pytest.raises(Refusal) as refused:
        async with pool.transaction() as conn:
            await subscribe(conn, desk.org, a, Device(endpoint).draft)
    assert (refused.value.status, refused.value.code) == (422, "invalid_subscription")


INNER = [
    "127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "::1", "::ffff:127.0.0.1", "fd00::1", "fe80::1", "64:ff9b::7f00:1", "2002:7f00:1::", "::",
]  # fmt: skip


@pytest.mark.parametrize("address", INNER)
async def test_a_name_that_leads_inside_is_refused_when_it_is_resolved(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One inner address among open ones is enough."""

    def resolver(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, port)) for found in ("93.184.215.14", address)
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    with pytest.raises(EndpointRefused):
        await Reach().resolve(GOOD)


async def test_the_connection_goes_to_the_judged_address_with_the_name_for_tls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: found)
    target = await Reach().resolve(GOOD)
    assert target.url == "https://93.184.215.14:443/wpush/v2/abc?x=1"
    assert (target.host, target.server_name) == ("updates.push.example.com",) * 2


BAD_KEYS = [
    {"p256dh": "A" * 87, "auth": "A" * 22}, {"auth": "A" * 20}, {"auth": "A" * 30}, {"p256dh": "BAAA"},
]  # fmt: skip


@pytest.mark.parametrize("keys", BAD_KEYS)
async def test_keys_that_are_none_are_refused(desk: Desk, pool: Database, keys: dict[str, str]) -> None:
    (a,) = desk.members("Ana")
    good = Device(GOOD).draft.keys
    draft = SubscriptionDraft(GOOD, BrowserKeys(**{"p256dh": good.p256dh, "auth": good.auth, **keys}))
    with pytest.raises(Refusal):
        async with pool.transaction() as conn:
            await subscribe(conn, desk.org, a, draft)
    assert kept(desk) == []


def test_a_subscription_as_the_browser_writes_it() -> None:
    draft = Device(GOOD).draft
    raw = {"endpoint": GOOD, "expirationTime": None, "keys": msgspec.to_builtins(draft.keys)}
    assert msgspec.convert(raw, SubscriptionDraft) == draft


def test_who_sends_is_signed_for_each_service_and_kept() -> None:
    vapid = Vapid(generate_private_key(), "mailto:teste@exemplo.test")
    first = vapid.authorization("https://a.example/1")
    assert vapid.authorization("https://a.example/2") == first != vapid.authorization("https://b.example/1")
    assert first.endswith(f"k={vapid.public_key}")


@pytest.mark.parametrize(
    ("key", "subject"), [("", "mailto:a@b.co"), ("x", "mailto:a@b.co"), (None, "nobody")]
)
def test_a_key_that_cannot_sign_stops_the_start(key: str | None, subject: str) -> None:
    with pytest.raises(ValueError, match=r"VAPID|subject"):
        Vapid(generate_private_key() if key is None else key, subject)
