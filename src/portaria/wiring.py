"""The only place where things are built, and the only reader of settings (design 3)."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import psycopg
import structlog
import uvicorn

from portaria.accounts.credentials import BadSecret, Signatures, Tokens
from portaria.accounts.http import PREFIX as EVENTS_PREFIX
from portaria.accounts.http import EventLimits, IncomingEvents
from portaria.accounts.lost import LostDeliveries
from portaria.accounts.process import Processor
from portaria.accounts.use_cases import UseCases
from portaria.asgi import App, Front, Receive, Scope, Send, refuse, respond
from portaria.db.pool import Connection, Database, connection_options
from portaria.errors import Refusal
from portaria.identity.secret_box import SecretBox
from portaria.intake import archive
from portaria.intake.backlog import Backlog
from portaria.intake.first_attempt import FirstAttempts
from portaria.intake.group_commit import Bounds, GroupCommit
from portaria.intake.http import PREFIX as INTAKE_PREFIX
from portaria.intake.http import Intake, Limits
from portaria.intake.refusals import RefusalNotices
from portaria.intake.replay import Pace, run_replay
from portaria.intake.sessions import SessionDirectory, usable_secrets
from portaria.jobs import Queue, Runner
from portaria.settings import Settings
from portaria.telemetry import configure_logging

log = structlog.get_logger()


ProcessMain = Callable[[Settings], Coroutine[Any, Any, None]]
"""What a process runs until it is told to stop."""


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
    # Of their own: whatever events processed before their answer wait for, new messages find their session.
    lookup_db = Database(url, name="portaria lookups", size=2, statement_timeout=4.0)
    intake = build_intake(config, db, ingest_db, lookup_db)
    lost = LostDeliveries(db)
    incoming_events = build_incoming_events(config, db, lost)

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        async with (
            _open(db),
            _open(ingest_db),
            _open(lookup_db),
            _guard(db),
            intake.running(config.stop_grace),
        ):
            try:
                yield
            finally:
                await lost.stop()

    doors: dict[str, App] = {INTAKE_PREFIX: intake, EVENTS_PREFIX: incoming_events}
    return Front(doors, _not_found, running, header_limit=config.header_limit)


def build_intake(config: Settings, db: Database, ingest_db: Database, lookup_db: Database) -> Intake:
    """The intake with its two group commits, on connections of their own."""
    # What is left for reading, judging and sending is the difference to the provider's patience.
    within = config.answer_within * 0.9

    async def connect() -> Connection:
        options = connection_options(database_url(config), "portaria intake", statement_timeout=within)
        return await psycopg.AsyncConnection.connect(**options)

    bounds = Bounds(config.batch_rows, config.queue_rows, config.queue_bytes, within)
    return Intake(
        db=db,
        directory=SessionDirectory(lookup_db, secret_box(config), ttl=config.session_cache_ttl),
        archive=GroupCommit("archive", archive.archive, connect, depth=config.commit_depth, bounds=bounds),
        accept=GroupCommit("accept", archive.accept, connect, depth=config.commit_depth, bounds=bounds),
        first_attempts=FirstAttempts(
            ingest_db, at_once=config.first_attempts, waiting=config.first_attempts_waiting
        ),
        backlog=Backlog(lookup_db, rows=config.backlog_rows, age=config.backlog_age),
        installation=usable_secrets(
            config.installation_secret.get_secret_value(),
            config.installation_previous_secret.get_secret_value(),
        ),
        refusals=RefusalNotices(db),
        limits=Limits(config.body_limit, config.header_limit, config.body_within, within),
    )


def build_incoming_events(config: Settings, db: Database, lost: LostDeliveries) -> IncomingEvents:
    """The accounts service's door. Raises NotConfigured for a signature secret that cannot be one."""
    try:
        signatures = Signatures(
            s.get_secret_value()
            for s in (config.accounts_signature_secret, config.accounts_signature_previous_secret)
        )
    except BadSecret as error:
        raise NotConfigured(f"PORTARIA_ACCOUNTS_SIGNATURE_SECRET: {error}") from None
    tokens = Tokens(
        t.get_secret_value() for t in (config.accounts_webhook_token, config.accounts_webhook_previous_token)
    )
    limits = EventLimits(
        body=config.body_limit, headers=config.header_limit, body_within=config.body_within,
        answer_within=config.answer_within * 0.9,
    )  # fmt: skip
    return IncomingEvents(db, tokens=tokens, signatures=signatures, lost=lost, limits=limits)


async def run_worker(config: Settings) -> None:
    """The worker process, until SIGTERM or SIGINT: jobs, their rescue, the one-minute replay."""
    configure_logging(config.log_level, config.log_format)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    url = database_url(config)
    replay_db = Database(
        url, name="portaria replay", size=config.replay_concurrency + 2, statement_timeout=15.0
    )
    queue = Queue(Database(url, name="portaria jobs", size=3 * config.worker_concurrency + 2))
    register_jobs(config, queue)
    runner = Runner(queue, concurrency=config.worker_concurrency)
    pace = Pace(at_once=config.replay_concurrency)
    async with _open(replay_db), _open(queue.db), _guard(replay_db):
        await asyncio.gather(
            run_replay(replay_db, stop, every=config.replay_every, pace=pace), runner.run(stop)
        )


def register_jobs(config: Settings, queue: Queue) -> None:
    """Every task of this version."""
    Processor(queue.db, UseCases(), use_case_within=config.use_case_within).register(queue)


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
