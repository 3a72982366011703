"""FastAPI and Procrastinate: check the signature, defer a job with the body, 202."""

import hmac
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request
from procrastinate import App, PsycopgConnector

_SECRET = os.environ["SECRET"].encode()
jobs = App(connector=PsycopgConnector(conninfo=os.environ["DATABASE_URL"], min_size=4, max_size=16))


@jobs.task(name="process")
async def process(payload: dict[str, object]) -> None:
    """What a worker would do."""


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with jobs.open_async():
        if not await jobs.check_connection_async():
            await jobs.schema_manager.apply_schema_async()
        yield


app = FastAPI(lifespan=_lifespan)


@app.post("/webhook", status_code=202)
async def webhook(request: Request) -> dict[str, object]:
    raw = await request.body()
    given = request.headers.get("x-zernio-signature", "")
    if not hmac.compare_digest(hmac.digest(_SECRET, raw, "sha256").hex(), given):
        raise HTTPException(401)
    return {"status": "accepted", "job": await process.defer_async(payload=json.loads(raw))}
