"""A whole front desk for console tests: doors, console, worker and live signals, in a thread of its own.

Beside the real processes only so that a test may ask for what a minute's cron would do: everything is
built as `wiring` builds it.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

import httpx
import uvicorn

from portaria.accounts.http import PREFIX as EVENTS_PREFIX
from portaria.accounts.lost import LostDeliveries
from portaria.api import ApiDeps, create_api
from portaria.asgi import Front
from portaria.console.app import create_console
from portaria.console.deps import Console
from portaria.crm.departure import release_leads
from portaria.crm.forms.http import PAGE_PREFIX as FORM_PAGE_PREFIX
from portaria.crm.forms.http import PREFIX as FORMS_PREFIX
from portaria.db.pool import Database
from portaria.identity.browser_sessions import BrowserSessionConfig, BrowserSessions
from portaria.identity.passwords import Passwords
from portaria.identity.throttle import Throttle
from portaria.identity.tokens import Tokens
from portaria.intake.by_hand import Replayed, replay_by_hand
from portaria.intake.http import PREFIX as INTAKE_PREFIX
from portaria.intake.overview import Minutes
from portaria.intake.providers import samples
from portaria.intake.replay import replay_round
from portaria.jobs import Queue, Runner
from portaria.push import Hub, Reach, Vapid, generate_private_key
from portaria.push.greeting import Greeter
from portaria.settings import Settings
from portaria.wiring import secret_box
from portaria.wiring.basics import opened
from portaria.wiring.doors import build_incoming_events, build_intake, build_lead_forms
from portaria.wiring.worker import register_jobs
from tests.support.http import make_settings

T = TypeVar("T")
ACCOUNTS_TOKEN = "ficha-inventada-do-accounts-0123456789"


@dataclass
class FrontDesk:
    """What a test has of it. `do` runs something in the front desk's own event loop."""

    url: str
    db: Database
    minutes: Minutes
    loop: asyncio.AbstractEventLoop

    def do(self, work: Callable[[], Awaitable[T]]) -> T:
        async def run() -> T:
            return await work()

        future: Future[T] = asyncio.run_coroutine_threadsafe(run(), self.loop)
        return future.result(30)

    def replay_now(self) -> None:
        """What the cron does every minute."""
        self.do(lambda: replay_round(self.db, wait=5.0))

    def write_minutes(self) -> None:
        self.do(self.minutes.write)

    def deliver(self, token: str, secret: str, body: dict[str, Any] | bytes) -> httpx.Response:
        """A signed delivery to a channel's own address."""
        raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        headers = samples.sign(raw, secret)
        return httpx.post(f"{self.url}/api/v1/webhooks/channel/{token}", content=raw, headers=headers)

    def accounts_event(self, event_id: str, event_type: str = "exemplo.aconteceu") -> httpx.Response:
        body = {
            "event_id": event_id, "event_type": event_type, "data": {},
            "occurred_at": datetime.now(UTC).isoformat(),
        }  # fmt: skip
        headers = {"Authorization": f"Bearer {ACCOUNTS_TOKEN}"}
        return httpx.post(f"{self.url}/api/v1/incoming_events", json=body, headers=headers)


@contextmanager
def front_desk(app_url: str) -> Iterator[FrontDesk]:
    """It runs until the block ends."""
    started: Future[FrontDesk] = Future()
    stop = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(app_url, started, stop)), daemon=True)
    thread.start()
    try:
        yield started.result(30)
    finally:
        stop.set()
        thread.join(15)


async def _serve(app_url: str, started: "Future[FrontDesk]", stop: threading.Event) -> None:
    try:
        async with AsyncExitStack() as stack:
            listener = stack.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            config = make_settings(app_url, accounts_webhook_token=ACCOUNTS_TOKEN)
            db = await stack.enter_async_context(opened(Database(app_url, name="desk", size=16)))
            minutes, hub, done = Minutes(db), Hub(app_url), asyncio.Event()
            front = await _front(config, db, hub, minutes, url, stack)
            queue = Queue(await stack.enter_async_context(opened(Database(app_url, name="jobs", size=12))))
            register_jobs(config, queue, None)
            tasks = [
                asyncio.create_task(hub.run()),
                asyncio.create_task(Runner(queue, concurrency=2).run(done)),
            ]
            server = _server(front)
            tasks.append(asyncio.create_task(server.serve(sockets=[listener])))
            await hub.listening.wait()
            while not server.started:  # noqa: ASYNC110 - uvicorn's own flag, which tells nobody
                await asyncio.sleep(0.005)
            started.set_result(FrontDesk(url, db, minutes, asyncio.get_running_loop()))
            await asyncio.to_thread(stop.wait)
            server.should_exit = True
            done.set()
            await asyncio.wait(tasks, timeout=5)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    except BaseException as error:
        if not started.done():
            started.set_exception(error)
        raise


def _server(front: Front) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            front, http="httptools", lifespan="on", ws="none", log_config=None, access_log=False,
            timeout_graceful_shutdown=1,
        )
    )  # fmt: skip


async def _front(
    config: Settings, db: Database, hub: Hub, minutes: Minutes, url: str, stack: AsyncExitStack
) -> Front:
    intake = build_intake(config, db, db, db, minutes)
    lost = LostDeliveries(db)
    box, passwords, throttle = secret_box(config), Passwords(), Throttle()

    async def replay(row: UUID, actor: str, organization_id: UUID | None) -> Replayed:
        return await replay_by_hand(db, row, actor=actor, organization_id=organization_id)

    async def ready() -> list[Any]:
        return []

    greeter = Greeter(Vapid(generate_private_key(), "mailto:teste@exemplo.test"), reach=Reach(anything=True))
    stack.push_async_callback(greeter.close)
    console = create_console(
        Console(
            db=db, box=box, sessions=BrowserSessionConfig(BrowserSessions(db, 3600.0), secure=False),
            passwords=passwords, throttle=throttle, replay=replay, on_revoke=release_leads, address=url,
            hub=hub, push=greeter,
        )
    )  # fmt: skip
    api = create_api(
        ApiDeps(
            db=db, box=box, tokens=Tokens(box, 600), passwords=passwords, throttle=throttle, readiness=ready,
            replay=replay, on_revoke=release_leads, address=url,
        )
    )  # fmt: skip
    forms = build_lead_forms(config, db, intake)
    doors = {
        INTAKE_PREFIX: intake,
        EVENTS_PREFIX: build_incoming_events(config, db, lost),
        FORMS_PREFIX: forms, FORM_PAGE_PREFIX: forms, "/api/": api,
    }  # fmt: skip
    return Front(doors, console, lambda: intake.running(1.0), header_limit=config.header_limit)  # type: ignore[arg-type]
