"""hookrelay as its documentation shows it: FastAPI, its PostgreSQL backend, a signature, the message's id
as idempotency key.
"""

import hmac
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from fastapi import FastAPI
from hookrelay.backends.postgres import PostgresBackend
from hookrelay.fastapi import create_webhook_router
from sqlalchemy.ext.asyncio import create_async_engine

_SECRET = os.environ["SECRET"].encode()
_URL = os.environ["DATABASE_URL"].replace("postgresql:", "postgresql+asyncpg:", 1).split("&sslmode")[0]
engine = create_async_engine(_URL, pool_size=16)
backend = PostgresBackend(engine)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    await backend.init_schema()
    yield
    await engine.dispose()


def _signed(raw: bytes, headers: Mapping[str, str]) -> bool:
    given = headers.get("x-zernio-signature", "")
    return hmac.compare_digest(hmac.digest(_SECRET, raw, "sha256").hex(), given)


app = FastAPI(lifespan=_lifespan)
router = create_webhook_router(
    backend=backend,
    source="zernio",
    path="/webhook",
    verify_signature=_signed,
    idempotency_key=lambda payload: payload["message"]["platformMessageId"],
)
app.include_router(router)
