"""A test push reaches the user's own browsers and nobody else's."""

import json
from collections.abc import AsyncIterator

import pytest

from portaria.db.pool import Database
from portaria.push import Reach, Vapid, generate_private_key, subscribe
from portaria.push.greeting import Greeter
from tests.support.push_service import PushService, push_service
from tests.support.rotation import Desk

ANYWHERE = Reach(anything=True)


@pytest.fixture
async def service() -> AsyncIterator[PushService]:
    async with push_service() as running:
        yield running


async def test_every_browser_of_the_user_is_greeted_and_one_that_is_gone_forgotten(
    desk: Desk, pool: Database, service: PushService
) -> None:
    ana, bia = desk.members("Ana", "Bia")
    devices = {name: service.device(name) for name in ("laptop", "phone", "gone", "bias")}
    async with pool.transaction() as conn:
        for name, device in devices.items():
            await subscribe(conn, desk.org, bia if name == "bias" else ana, device.draft, reach=ANYWHERE)
    service.status["/gone"] = 410
    greeter = Greeter(Vapid(generate_private_key(), "mailto:teste@exemplo.test"), reach=ANYWHERE)
    try:
        told = await greeter.greet(pool, desk.org, ana, title="Portaria: um teste", body="Chegou ✓")
    finally:
        await greeter.close()
    assert told == 2
    assert sorted(got.path for got in service.got) == ["/gone", "/laptop", "/phone"]
    got = next(got for got in service.got if got.path == "/laptop")
    message = json.loads(devices["laptop"].read(got.body))
    assert (message["title"], message["body"], message["url"]) == (
        "Portaria: um teste",
        "Chegou ✓",
        "/profile",
    )
    assert desk.value("SELECT count(*) FROM push_subscriptions WHERE user_id = %s", ana) == 2
