"""The only place where things are built, and the only reader of settings (design 3)."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

import psycopg
import structlog
import uvicorn

from portaria.asgi import Front, Receive, Scope, Send, refuse, respond
from portaria.db.pool import Connection, Database, connection_options
from portaria.errors import Refusal
from portaria.identity.secret_box import SecretBox
from portaria.intake import archive
from portaria.intake.backlog import Backlog
from portaria.intake.first_attempt import FirstAttempts
from portaria.intake.group_commit import Bounds, GroupCommit
from portaria.intake.http import PREFIX, Intake, Limits
from portaria.intake.refusals import RefusalNotices
from portaria.intake.replay import Pace, run_replay
from portaria.intake.sessions import SessionDirectory, usable_secrets
from portaria.settings import Settings
from portaria.telemetry import configure_logging

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
    async with _open(
        Database(database_url(config), name="portaria command", size=4, service_role=True)
    ) as db:
        yield db


async def run_web(config: Settings) -> None:
    """The web process, until SIGTERM or SIGINT."""
    configure_logging(config.log_level, config.log_format)
    web = uvicorn.Config(
        web_app(config), host=config.host, port=config.port, loop="uvloop", http="httptools",
        ws="none", lifespan="on", access_log=False, log_config=None, server_header=False,
        timeout_keep_alive=75, timeout_graceful_shutdown=int(config.stop_grace), backlog=4096,
    )  # fmt: skip
    await uvicorn.Server(web).serve()


def web_app(config: Settings) -> Front:
    """The ASGI application of a web process."""
    url = database_url(config)
    db = Database(url, name="portaria web", size=config.pool_size)
    ingest_db = Database(url, name="portaria ingest", size=config.first_attempts, statement_timeout=60.0)
    intake = build_intake(config, db, ingest_db)

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        async with _open(db), _open(ingest_db), _guard(db), intake.running(config.stop_grace):
            yield

    return Front({PREFIX: intake}, _not_found, running, header_limit=config.header_limit)


def build_intake(config: Settings, db: Database, ingest_db: Database) -> Intake:
    """The intake with its two group commits, on connections of their own."""
    # What is left for reading, judging and sending is the difference to the provider's patience.
    within = config.answer_within * 0.9

    async def connect() -> Connection:
        options = connection_options(database_url(config), "portaria intake", statement_timeout=within)
        return await psycopg.AsyncConnection.connect(**options)

    bounds = Bounds(config.batch_rows, config.queue_rows, config.queue_bytes, within)
    return Intake(
        db=db,
        directory=SessionDirectory(db, secret_box(config), ttl=config.session_cache_ttl),
        archive=GroupCommit("archive", archive.archive, connect, depth=config.commit_depth, bounds=bounds),
        accept=GroupCommit("accept", archive.accept, connect, depth=config.commit_depth, bounds=bounds),
        first_attempts=FirstAttempts(
            ingest_db, at_once=config.first_attempts, waiting=config.first_attempts_waiting
        ),
        backlog=Backlog(db, rows=config.backlog_rows, age=config.backlog_age),
        installation=usable_secrets(
            config.installation_secret.get_secret_value(),
            config.installation_previous_secret.get_secret_value(),
        ),
        refusals=RefusalNotices(db),
        limits=Limits(config.body_limit, config.header_limit, config.body_within, within),
    )


async def run_worker(config: Settings) -> None:
    """The worker process, until SIGTERM or SIGINT: jobs, their rescue, the one-minute replay."""
    configure_logging(config.log_level, config.log_format)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    size = config.replay_concurrency + 2
    replay_db = Database(database_url(config), name="portaria replay", size=size, statement_timeout=15.0)
    async with _open(replay_db), _guard(replay_db):
        await run_replay(
            replay_db, stop, every=config.replay_every, pace=Pace(at_once=config.replay_concurrency)
        )


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, refuse(Refusal(404, "not_found", "There is no such route.")))


@asynccontextmanager
async def _open(db: Database) -> AsyncIterator[Database]:
    await db.open()
    try:
        yield db
    finally:
        await db.close()


@asynccontextmanager
async def _guard(db: Database) -> AsyncIterator[None]:
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
                        "DATABASE_URL's login owns the tables or is a superuser: web and worker need portaria_app."
                    )
                return
        except (psycopg.Error, OSError) as error:
            log.warning("database_away", error=type(error).__name__)
            await asyncio.sleep(1)


def _end_process(asked: asyncio.Task[None]) -> None:
    if not asked.cancelled() and (error := asked.exception()) is not None:
        log.error("refused_to_run", reason=str(error))
        signal.raise_signal(signal.SIGTERM)
