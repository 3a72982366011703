"""A server that is told to stop: what has no end of its own is cut off, every other answer is finished."""

import asyncio
import time
from contextlib import nullcontext

import httpx
import pytest

from portaria.asgi import Front, Receive, Scope, Send
from portaria.console.pages.live import LIVE
from portaria.wiring.web import web_app
from tests.support.http import make_settings, serving


async def _drip(scope: Scope, receive: Receive, send: Send) -> None:
    """Two pieces of an answer, the last when the server has begun to stop; on `LIVE` there is no last."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"one ", "more_body": True})
    if scope["path"] == LIVE:
        while (await receive())["type"] != "http.disconnect":
            pass
        return
    await asyncio.sleep(0.5)
    await send({"type": "http.response.body", "body": b"two"})


@pytest.fixture
def front() -> Front:
    return Front({"/": _drip}, _drip, nullcontext, header_limit=64 * 1024, endless=frozenset({LIVE}))


async def test_an_open_page_does_not_hold_up_the_stop(front: Front) -> None:
    async with httpx.AsyncClient() as client:
        async with serving(front) as url:
            listening = client.stream("GET", url + LIVE)
            pieces = (await listening.__aenter__()).aiter_bytes()
            assert await anext(pieces) == b"one "
            told = time.monotonic()
        assert time.monotonic() - told < 1.0
        with pytest.raises(httpx.RemoteProtocolError):
            await anext(pieces)


async def test_an_answer_that_ends_is_finished(front: Front) -> None:
    async with httpx.AsyncClient() as client:
        async with serving(front) as url:
            answer = client.stream("GET", url + "/export")
            pieces = (await answer.__aenter__()).aiter_bytes()
            assert await anext(pieces) == b"one "
        assert [piece async for piece in pieces] == [b"two"]


def test_the_web_process_says_which_answers_have_no_end() -> None:
    assert web_app(make_settings("postgresql://unused/x")).endless == {LIVE}
