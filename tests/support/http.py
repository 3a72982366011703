"""A web process's application behind a real uvicorn, in this event loop, on a free port."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from pydantic import SecretStr

from portaria.asgi import App
from portaria.settings import Settings
from portaria.wiring.protocol import PlainHttp

SECRET_KEY = "chave-de-teste-0123456789-0123456789"
INSTALLATION_SECRET = "segredo-da-instalacao-0123456789"


def make_settings(app_url: str, **more: object) -> Settings:
    """Settings for a test's own database."""
    return Settings.model_validate(
        {
            "database_url": SecretStr(app_url),
            "secret_key": SecretStr(SECRET_KEY),
            "installation_secret": SecretStr(INSTALLATION_SECRET),
            **more,
        }
    )


class _Server(uvicorn.Server):
    """Notices its end at once and not ten times a second: most tests are shorter than that."""

    async def main_loop(self) -> None:
        while not self.should_exit:  # noqa: ASYNC110 - uvicorn's own flag, which tells nobody
            await asyncio.sleep(0.002)


@asynccontextmanager
async def serving(app: App) -> AsyncIterator[str]:
    """The base URL of `app`, served until the block ends."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, http=PlainHttp, lifespan="on", ws="none", log_config=None, access_log=False,
        timeout_graceful_shutdown=2, proxy_headers=False,
    )  # fmt: skip
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        if running.done():
            running.result()
            raise RuntimeError("the server did not start")
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        listener.close()
