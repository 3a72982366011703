"""The only place where things are built, and the only reader of settings (design 3)."""

from collections.abc import Callable, Coroutine
from typing import Any

from portaria.asgi import App
from portaria.settings import Settings
from portaria.wiring.basics import (
    NotConfigured,
    command_database,
    database_url,
    secret_box,
    settings,
)

ProcessMain = Callable[[Settings], Coroutine[Any, Any, None]]
"""What a process runs until it is told to stop."""

__all__ = [
    "NotConfigured",
    "ProcessMain",
    "command_database",
    "database_url",
    "run_web",
    "run_worker",
    "secret_box",
    "settings",
    "web_app",
]

# The processes are imported late: a one-shot command must not wait for the framework to load.


async def run_web(config: Settings) -> None:
    """The web process, until SIGTERM or SIGINT."""
    from portaria.wiring import web

    await web.run_web(config)


async def run_worker(config: Settings) -> None:
    """The worker process, until SIGTERM or SIGINT."""
    from portaria.wiring import worker

    await worker.run_worker(config)


def web_app(config: Settings) -> App:
    """The ASGI application of a web process."""
    from portaria.wiring import web

    return web.web_app(config)
