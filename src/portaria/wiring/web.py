"""The web process: the doors, the API, the console."""

import asyncio
import gc
import os
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from uuid import UUID

import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from portaria.accounts.http import PREFIX as EVENTS_PREFIX
from portaria.accounts.lost import LostDeliveries
from portaria.api.app import create_api
from portaria.api.deps import ApiDeps
from portaria.asgi import App, Front, Receive, Scope, Send
from portaria.console.app import create_console
from portaria.console.deps import Console
from portaria.console.pages.live import LIVE
from portaria.crm.departure import release_leads
from portaria.crm.forms.http import PAGE_PREFIX as FORM_PAGE_PREFIX
from portaria.crm.forms.http import PREFIX as FORMS_PREFIX
from portaria.db.pool import Database
from portaria.identity.browser_sessions import BrowserSessionConfig, BrowserSessions
from portaria.identity.passwords import Passwords
from portaria.identity.throttle import Throttle, ThrottleLimits
from portaria.identity.tokens import Tokens
from portaria.intake.by_hand import Replayed, replay_by_hand
from portaria.intake.http import PREFIX as INTAKE_PREFIX
from portaria.intake.overview import Minutes
from portaria.intake.readiness import check_promise
from portaria.push import Hub
from portaria.push.greeting import Greeter
from portaria.settings import Settings
from portaria.telemetry import configure_logging
from portaria.wiring.basics import database_url, guarded, opened, secret_box
from portaria.wiring.doors import build_incoming_events, build_intake, build_lead_forms
from portaria.wiring.protocol import PlainHttp
from portaria.wiring.push import build_greeter

_ACCEPTS_A_TURN = 128
"""libuv accepts one connection per listening descriptor and turn of its loop. A provider that opens one for
each delivery would wait in line for it: under load a turn takes milliseconds.
"""
_CONNECTIONS = 65_536
_GARBAGE = 5_000
"""New objects between two searches for garbage in cycles, of which an answer makes next to none. Those that
the program itself consists of are left out of the search.
"""
_API_PATHS = ("/api/", "/healthz", "/readyz", "/metrics", "/schema")


async def run_web(config: Settings) -> None:
    """The web process, until SIGTERM or SIGINT."""
    configure_logging(config.log_level, config.log_format)
    web = uvicorn.Config(
        web_app(config), host=config.host, port=config.port, loop="uvloop", http=PlainHttp,
        ws="none", lifespan="on", access_log=False, log_config=None, server_header=False,
        timeout_keep_alive=75, timeout_graceful_shutdown=int(config.stop_grace), backlog=4096,
        proxy_headers=False,
    )  # fmt: skip
    accepts = min(_ACCEPTS_A_TURN, _descriptors() // 32)
    listener = web.bind_socket()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE, 10, 10)
    await uvicorn.Server(web).serve([listener, *(listener.dup() for _ in range(accepts - 1))])


def _descriptors() -> int:
    """How many files and connections this process may have open: as many as the system lets it ask for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, _CONNECTIONS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return soft
    return wanted


def web_app(config: Settings) -> Front:
    """The ASGI application of a web process. Each kind of work has connections of its own, so that none
    waits for another's.
    """
    url = database_url(config)
    db = Database(url, name="portaria web", size=config.pool_size)
    pages_db = Database(
        url, name="portaria pages", size=config.pool_size, statement_timeout=config.read_within
    )
    ingest_db = Database(url, name="portaria ingest", size=config.first_attempts, statement_timeout=60.0)
    # Whatever events processed before their answer wait for, new messages find their session.
    lookup_db = Database(url, name="portaria lookups", size=2, statement_timeout=4.0)
    minutes = Minutes(db)
    intake = build_intake(config, db, ingest_db, lookup_db, minutes)
    lost = LostDeliveries(db)
    hub = Hub(url)
    forms = _behind_proxy(build_lead_forms(config, db, intake))
    greeter = build_greeter(config)
    api, console = build_framework(config, db, pages_db, hub, greeter)

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        async with opened(db), opened(pages_db), opened(ingest_db), opened(lookup_db), guarded(db):
            loops = [asyncio.create_task(hub.run()), asyncio.create_task(minutes.run())]
            try:
                async with intake.running(config.stop_grace):
                    yield
            finally:
                for loop in loops:
                    loop.cancel()
                await asyncio.gather(*loops, return_exceptions=True)
                await lost.stop()
                if greeter is not None:
                    await greeter.close()

    doors: dict[str, App] = {
        INTAKE_PREFIX: intake,
        EVENTS_PREFIX: build_incoming_events(config, db, lost),
        FORMS_PREFIX: forms,
        FORM_PAGE_PREFIX: forms,
    }

    async def framework(scope: Scope, receive: Receive, send: Send) -> None:
        app = api if scope.get("path", "").startswith(_API_PATHS) else console
        await app(scope, receive, send)

    return Front(
        doors,
        _behind_proxy(framework),
        running,
        header_limit=config.header_limit,
        refuse_unread=intake.pressure.refuse_unread,
        endless=frozenset({LIVE}),
    )


def _behind_proxy(app: App) -> App:
    """The client's own address and scheme, as a trusted proxy tells them; deliveries do without."""
    trusted = os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1")
    return ProxyHeadersMiddleware(app, trusted)  # type: ignore[arg-type,return-value]


def build_framework(
    config: Settings, db: Database, pages_db: Database, hub: Hub, greeter: Greeter | None
) -> tuple[App, App]:
    """API and console, two applications of the framework that share everything below them."""
    box, passwords = secret_box(config), Passwords()
    throttle = Throttle(
        ThrottleLimits(
            window=config.sign_in_window,
            per_email_and_address=config.sign_in_per_email_and_address,
            per_email=config.sign_in_per_email,
            per_address=config.sign_in_per_address,
        )
    )

    async def replay(row: UUID, actor: str, organization_id: UUID | None) -> Replayed:
        return await replay_by_hand(db, row, actor=actor, organization_id=organization_id)

    api = create_api(
        ApiDeps(
            db=pages_db, box=box, tokens=Tokens(box, config.token_lifetime), passwords=passwords,
            throttle=throttle, readiness=partial(check_promise, db), replay=replay,
            on_revoke=release_leads, address=config.address, read_within=config.read_within,
        )
    )  # fmt: skip
    sessions = BrowserSessions(pages_db, config.session_lifetime)
    console = create_console(
        Console(
            db=pages_db, box=box,
            sessions=BrowserSessionConfig(sessions, secure=config.address.startswith("https://")),
            passwords=passwords, throttle=throttle, replay=replay, on_revoke=release_leads,
            address=config.address, hub=hub, push=greeter,
        )
    )  # fmt: skip
    return api, console  # type: ignore[return-value]
