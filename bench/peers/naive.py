"""The naive way: check the signature, one INSERT, one commit, 200. A pool of 16 connections."""

import hmac
import json
import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from psycopg_pool import AsyncConnectionPool

_SECRET = os.environ["SECRET"].encode()
_INSERT = "INSERT INTO webhooks (headers, raw_body) VALUES (%s, %s)"
_BODY = b'{"status":"accepted"}'
_ANSWER = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(_BODY))]
_pool = AsyncConnectionPool(
    os.environ["DATABASE_URL"], min_size=16, max_size=16, kwargs={"autocommit": True}, open=False
)


async def app(
    scope: MutableMapping[str, Any],
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    raw, headers = b"".join(parts), dict(scope["headers"])
    good = hmac.compare_digest(
        hmac.digest(_SECRET, raw, "sha256").hex().encode(), headers.get(b"x-zernio-signature", b"")
    )
    if good:
        json.loads(raw)
        kept = json.dumps({k.decode(): v.decode() for k, v in headers.items()})
        async with _pool.connection() as conn:
            await conn.execute(_INSERT, (kept, raw))
    await send({"type": "http.response.start", "status": 200 if good else 401, "headers": _ANSWER})
    await send({"type": "http.response.body", "body": _BODY})


async def _lifespan(
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
) -> None:
    await receive()
    await _pool.open(wait=True)
    async with _pool.connection() as conn:
        await conn.execute(
            "CREATE TABLE IF NOT EXISTS webhooks (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
            " headers jsonb NOT NULL, raw_body bytea NOT NULL,"
            " received_at timestamptz NOT NULL DEFAULT now())"
        )
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await _pool.close()
    await send({"type": "lifespan.shutdown.complete"})
