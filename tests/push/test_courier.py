"""Web Push: who is told, what of, and what becomes of a browser that does not answer."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import UUID

import http_ece
import pytest

from portaria.db.pool import Database
from portaria.events import Event, find_event
from portaria.push import Courier, Reach, Vapid, courier, generate_private_key, prune, subscribe
from tests.support.push_service import Device, PushService, push_service
from tests.support.rotation import Desk

ANYWHERE = Reach(anything=True)


@pytest.fixture
async def service() -> AsyncIterator[PushService]:
    async with push_service() as running:
        yield running


@pytest.fixture
async def sender() -> AsyncIterator[Courier]:
    made = Courier(Vapid(generate_private_key(), "mailto:teste@exemplo.test"), reach=ANYWHERE)
    yield made
    await made.close()


async def told(pool: Database, desk: Desk, member: UUID, *devices: Device) -> None:
    async with pool.transaction() as conn:
        for device in devices:
            await subscribe(conn, desk.org, member, device.draft, reach=ANYWHERE)


async def assigned(pool: Database, desk: Desk, lead: UUID) -> Event:
    async with pool.connection() as conn:
        event = await find_event(conn, desk.org, desk.event(lead, "lead.assigned"))
    assert event is not None
    return event


def browsers(desk: Desk) -> int:
    return int(desk.value("SELECT count(*) FROM push_subscriptions WHERE organization_id = %s", desk.org))


async def test_the_owners_browser_can_read_what_only_it_can_read(
    desk: Desk, pool: Database, service: PushService, sender: Courier
) -> None:
    a, b = desk.members("Ana", "Bia")
    mine, other = service.device("ana"), service.device("bia")
    await told(pool, desk, a, mine)
    await told(pool, desk, b, other)
    lead, _ = desk.lead(owner=a, title="Ação " + "😀" * 200)
    event = await assigned(pool, desk, lead)
    await sender.tell_owner(pool, event)
    [got] = service.got
    assert got.path == "/ana"
    assert got.headers["authorization"].startswith("vapid t=")
    assert got.headers["content-encoding"] == "aes128gcm"
    assert (got.headers["ttl"], len(got.headers["topic"])) == ("3600", 22)
    message = json.loads(mine.read(got.body))
    assert (message["title"], message["lead_id"], message["tag"]) == (
        "Novo lead para você", str(lead), str(event.id)
    )  # fmt: skip
    assert message["body"].startswith("Ação 😀")
    assert len(got.body) < 4096, "no push service takes more"
    with pytest.raises(http_ece.ECEException):
        other.read(got.body)


async def test_one_gone_one_silent_one_good(
    desk: Desk, pool: Database, service: PushService, sender: Courier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I7: the good one is told, the one that is gone forgotten, the silent one tried again, alone; the
    owner and the turn were committed before."""
    monkeypatch.setattr(courier, "PATIENCE", 0.3)
    (a,) = desk.members("Ana")
    devices = [service.device(name) for name in ("gone", "missing", "silent", "good")]
    await told(pool, desk, a, *devices)
    service.status.update({"/gone": 410, "/missing": 404})
    service.hanging.add("/silent")
    lead, _ = desk.lead(owner=a)
    event = await assigned(pool, desk, lead)
    started = time.monotonic()
    with pytest.raises(courier.PushLater):
        await sender.tell_owner(pool, event)
    assert time.monotonic() - started < 3
    assert sorted(got.path for got in service.got) == ["/gone", "/good", "/missing", "/silent"]
    assert browsers(desk) == 2
    service.hanging.clear()
    await sender.tell_owner(pool, event, 1)
    assert [got.path for got in service.got[4:]] == ["/silent"]
    await sender.tell_owner(pool, event, 2)
    assert len(service.got) == 5, "each was told once"


@pytest.mark.parametrize(
    ("status", "again"), [(429, True), (500, True), (503, True), (400, False), (413, False)]
)
async def test_what_the_service_says_decides_whether_it_is_tried_again(
    desk: Desk, pool: Database, service: PushService, sender: Courier, status: int, again: bool
) -> None:
    (a,) = desk.members("Ana")
    await told(pool, desk, a, service.device("x"))
    service.status["/x"] = status
    event = await assigned(pool, desk, desk.lead(owner=a)[0])
    if again:
        with pytest.raises(courier.PushLater):
            await sender.tell_owner(pool, event)
        await sender.tell_owner(pool, event, 3)  # the fourth is the last
    else:
        await sender.tell_owner(pool, event)
    assert browsers(desk) == 1


async def test_a_redirect_is_not_followed(
    desk: Desk, pool: Database, service: PushService, sender: Courier
) -> None:
    (a,) = desk.members("Ana")
    await told(pool, desk, a, service.device("x"))
    service.status["/x"] = 307
    await sender.tell_owner(pool, await assigned(pool, desk, desk.lead(owner=a)[0]))
    assert [got.path for got in service.got] == ["/x"]


@pytest.mark.parametrize("why", ["another owner", "revoked", "took it themselves", "long ago"])
async def test_who_is_told_nothing(
    desk: Desk, pool: Database, service: PushService, sender: Courier, why: str
) -> None:
    a, b = desk.members("Ana", "Bia")
    await told(pool, desk, a, service.device("x"))
    if why == "took it themselves":
        lead, _ = desk.lead()
        with desk.conn.transaction():
            desk.conn.execute("SELECT set_config('portaria.cause', %s, true)", (f'{{"actor": "{a}"}}',))
            desk.conn.execute("UPDATE crm_leads SET owner_user_id = %s WHERE id = %s", (a, lead))
    else:
        lead, _ = desk.lead(owner=a)
    event = await assigned(pool, desk, lead)
    if why == "another owner":
        desk.conn.execute("UPDATE crm_leads SET owner_user_id = %s WHERE id = %s", (b, lead))
    elif why == "revoked":
        desk.conn.execute("UPDATE user_organizations SET revoked_at = now() WHERE user_id = %s", (a,))
    elif why == "long ago":
        object.__setattr__(event, "created_at", datetime(2026, 1, 1, tzinfo=UTC))
    await sender.tell_owner(pool, event)
    assert service.got == []


async def test_what_was_told_is_forgotten_after_a_week(
    desk: Desk, pool: Database, service: PushService, sender: Courier
) -> None:
    (a,) = desk.members("Ana")
    await told(pool, desk, a, service.device("x"))
    for _ in range(2):
        await sender.tell_owner(pool, await assigned(pool, desk, desk.lead(owner=a)[0]))
    desk.conn.execute(
        "UPDATE push_deliveries SET sent_at = now() - interval '8 days' WHERE event_id ="
        " (SELECT event_id FROM push_deliveries WHERE organization_id = %s LIMIT 1)",
        (desk.org,),
    )
    async with pool.connection() as conn:
        assert await prune(conn) == 1


async def test_many_browsers_are_told_at_once(
    desk: Desk, pool: Database, service: PushService, sender: Courier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow service delays nobody: ten that hang take as long as one."""
    monkeypatch.setattr(courier, "PATIENCE", 0.3)
    (a,) = desk.members("Ana")
    await told(pool, desk, a, *(service.device(str(n)) for n in range(10)))
    service.hanging.update(f"/{n}" for n in range(10))
    event = await assigned(pool, desk, desk.lead(owner=a)[0])
    started = time.monotonic()
    async with asyncio.timeout(5):
        with pytest.raises(courier.PushLater, match="10 of 10"):
            await sender.tell_owner(pool, event)
    assert time.monotonic() - started < 2
