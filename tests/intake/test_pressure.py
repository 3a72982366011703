"""A process refuses at once what it could not answer in time, and only then (spec 2.2)."""

import asyncio
import json
import time

import pytest

from portaria.intake.pressure import Pressure
from tests.intake.conftest import until


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def run(pressure: Pressure, clock: Clock, *, per_second: int, seconds: float, under_way: int) -> None:
    """Keeps `under_way` deliveries under way while `per_second` are finished."""
    while pressure.under_way < under_way:
        pressure.begin()
    for _ in range(int(per_second * seconds)):
        clock.now += 1 / per_second
        pressure.end(answered=True)
        pressure.begin()


def test_a_burst_onto_an_idle_process_is_taken() -> None:
    clock = Clock()
    pressure = Pressure(within=4.0, clock=clock)
    run(pressure, clock, per_second=2, seconds=5, under_way=1)
    for _ in range(4_000):
        pressure.begin()
    assert pressure.admits()


def test_more_than_the_pace_can_finish_is_refused() -> None:
    clock = Clock()
    pressure = Pressure(within=4.0, clock=clock)
    run(pressure, clock, per_second=100, seconds=2, under_way=80)
    assert pressure.admits()
    while pressure.under_way < 120:
        pressure.begin()
    assert not pressure.admits()


def test_it_opens_again_when_the_load_is_gone() -> None:
    clock = Clock()
    pressure = Pressure(within=4.0, clock=clock)
    run(pressure, clock, per_second=100, seconds=2, under_way=400)
    assert not pressure.admits()
    while pressure.under_way:
        clock.now += 0.01
        pressure.end(answered=True)
    assert pressure.admits()
    run(pressure, clock, per_second=10, seconds=1, under_way=1)
    for _ in range(1_000):
        pressure.begin()
    assert pressure.admits()


def test_what_was_turned_away_is_no_pace() -> None:
    """A database that stood still for a moment leaves few admitted, and opens once those have ended."""
    clock = Clock()
    pressure = Pressure(within=4.0, clock=clock)
    for _ in range(400):
        pressure.begin()
    for _ in range(20):
        clock.now += 0.1
        pressure.end(answered=False)
    assert not pressure.admits()
    while pressure.under_way >= 32:
        pressure.end(answered=False)
    assert pressure.admits()


def delivery(*headers: str, body: bytes = b"{}") -> bytes:
    lines = ["POST /api/v1/webhooks/channel/abcdefgh HTTP/1.1", "Host: x", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def overloaded() -> Pressure:
    clock = Clock()
    pressure = Pressure(within=4.0, clock=clock)
    run(pressure, clock, per_second=100, seconds=2, under_way=400)
    return pressure


def test_a_whole_delivery_is_refused_unread() -> None:
    answer = overloaded().refuse_unread(delivery("Content-Length: 2"))
    assert answer is not None
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\nretry-after: " in head
    assert b"content-length: %d" % len(body) in head
    assert json.loads(body)["code"] == "unavailable"


@pytest.mark.parametrize(
    "data",
    [
        delivery("Content-Length: 3"),
        delivery("Content-Length: 1"),
        delivery("Content-Length: 2") + b"POST",
        delivery("Transfer-Encoding: chunked", "Content-Length: 2"),
        delivery("Content-Length: 2", "Expect: 100-continue"),
        delivery("Content-Length: 2", "Connection: close"),
        delivery("Content-Length: 2").replace(b"POST", b"GET"),
        delivery("Content-Length: 2").replace(b"webhooks", b"incoming_events"),
        delivery(),
        b"",
    ],
)
def test_anything_else_is_left_to_the_server(data: bytes) -> None:
    assert overloaded().refuse_unread(data) is None


def test_nothing_is_refused_unread_while_there_is_room() -> None:
    assert Pressure(within=4.0).refuse_unread(delivery("Content-Length: 2")) is None


async def test_a_loop_whose_turns_are_long_admits_nothing() -> None:
    """Two long turns in a row; one alone may be the machine's doing."""
    pressure = Pressure(within=0.1)
    pressure.start()
    try:
        await asyncio.sleep(0.06)
        time.sleep(0.2)  # noqa: ASYNC251 - the loop stands still: that is what is tested
        await asyncio.sleep(0.01)
        assert pressure.admits()
        for _turn in range(2):
            time.sleep(0.2)  # noqa: ASYNC251
            await asyncio.sleep(0.001)
        assert not pressure.admits()
        await until(pressure.admits)
    finally:
        await pressure.stop()
