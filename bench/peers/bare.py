"""The same web server without a database: reads the body, answers 200."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

_BODY = b'{"status":"accepted","id":"01a22f61-de7d-7994-beb1-7a23ad059ea0"}'
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(_BODY))]


async def app(
    scope: MutableMapping[str, Any],
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
) -> None:
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": _BODY})
