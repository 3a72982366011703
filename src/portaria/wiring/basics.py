"""What every process and command needs first: settings, the database's address, the secret box."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

import structlog

from portaria.db.pool import Database
from portaria.db.sqlstate import is_infrastructure
from portaria.identity.secret_box import SecretBox
from portaria.settings import Settings

log = structlog.get_logger()


class NotConfigured(Exception):
    """A setting is missing or unusable; the message says which and what to do."""


@cache
def settings() -> Settings:
    """The settings of this process, read once."""
    return Settings()


def database_url(config: Settings) -> str:
    """The configured DATABASE_URL. Raises NotConfigured."""
    url = config.database_url.get_secret_value()
    if not url:
        raise NotConfigured("DATABASE_URL is not set: give the address of the PostgreSQL database.")
    return url


def secret_box(config: Settings) -> SecretBox:
    """The box for channel secrets. Raises NotConfigured without a real secret key."""
    previous = [k for k in config.previous_secret_keys.get_secret_value().split(",") if k]
    try:
        return SecretBox(config.secret_key.get_secret_value(), previous)
    except ValueError:
        raise NotConfigured("PORTARIA_SECRET_KEY must be set, with at least 32 characters.") from None


@asynccontextmanager
async def command_database(config: Settings) -> AsyncIterator[Database]:
    """A small pool for a one-shot command, with the service's rights also on the owner's URL (spec 7)."""
    async with opened(
        Database(database_url(config), name="portaria command", size=4, service_role=True)
    ) as db:
        yield db


@asynccontextmanager
async def opened(db: Database) -> AsyncIterator[Database]:
    await db.open()
    try:
        yield db
    finally:
        await db.close()


@asynccontextmanager
async def guarded(db: Database) -> AsyncIterator[None]:
    """Refuses to start as owner or superuser, else row-level security is not in force (spec 7).

    A database that is away must not stop a start: it is asked again until it answers.
    """
    asked = asyncio.create_task(_refuse_owner(db))
    done, _ = await asyncio.wait([asked], timeout=5.0)
    if done:
        asked.result()
    else:
        asked.add_done_callback(_end_process)
    try:
        yield
    finally:
        asked.remove_done_callback(_end_process)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)


async def _refuse_owner(db: Database) -> None:
    while True:
        try:
            async with db.connection() as conn:
                if await db.is_owner(conn):
                    raise NotConfigured(
                        "DATABASE_URL's login owns the tables or is a superuser; web and worker need"
                        " portaria_app."
                    )
                return
        except Exception as error:
            if not is_infrastructure(error):
                raise
            log.warning("database_away", error=type(error).__name__)
            await asyncio.sleep(1)


def _end_process(asked: asyncio.Task[None]) -> None:
    if not asked.cancelled() and (error := asked.exception()) is not None:
        log.error("refused_to_run", reason=str(error))
        signal.raise_signal(signal.SIGTERM)
