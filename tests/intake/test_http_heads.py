"""A request's head comes in time, or its connection ends: nobody holds a connection with nothing."""

import asyncio

import pytest

from portaria.wiring import protocol
from tests.intake.conftest import Desk
from tests.intake.reused import database
from tests.support.raw_http import head, wire

__all__ = ["database"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_WITHIN", 0.3)


async def test_a_connection_that_says_nothing_is_closed(desk: Desk) -> None:
    for said in (b"", b"\r\n", b"\r\n\r\n\r\n"):
        async with wire(desk.url) as line:
            await line.send(said)
            assert await line.ended()


async def test_a_head_that_stops_half_way_is_given_up_with_408(desk: Desk) -> None:
    for said in (b"P", b"POST /api HTTP/1.1\r\n", b"POST /api HTTP/1.1\r\nHost: x\r\nContent-"):
        async with wire(desk.url) as line:
            await line.send(said)
            assert (await line.answer()).status == 408
            assert await line.ended()


async def test_a_head_that_drips_is_given_up_all_the_same(desk: Desk) -> None:
    async with wire(desk.url) as line:
        await line.send(b"POST /api HTTP/1.1\r\n")

        async def drip() -> None:
            while True:
                await line.send(b"X: y\r\n")
                await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        assert (await line.answer()).status == 408
        dripping.cancel()


async def test_the_next_request_of_a_connection_is_bounded_too_and_a_good_one_waits_unharmed(
    desk: Desk,
) -> None:
    async with wire(desk.url) as line:
        await line.send(head("GET", "/nothing"))
        assert (await line.answer()).status == 404
        await asyncio.sleep(0.5)  # an idle connection is kept: the next request may come late
        await line.send(head("GET", "/nothing"))
        assert (await line.answer()).status == 404
        await line.send(b"GET /noth")
        assert (await line.answer()).status == 408
        assert await line.ended()


async def test_a_body_may_take_longer_than_a_head(desk: Desk) -> None:
    raw = b'{"event": "webhook.test"}'
    async with wire(desk.url) as line:
        request = desk.request(raw)
        await line.send(request[:-5])
        await asyncio.sleep(0.5)
        await line.send(request[-5:])
        assert (await line.answer()).status == 200


async def test_what_is_answered_without_its_body_may_go_on_sending_it(desk: Desk) -> None:
    """The rest of a body that nobody waited for is no head: it is passed over, the next request served."""
    async with wire(desk.url) as line:
        await line.send(head("POST", "/nothing", {"Content-Length": "2000000"}))
        assert (await line.answer()).status == 404
        await line.send(b"x" * 2_000_000, head("GET", "/nothing"))
        assert (await line.answer()).status == 404
