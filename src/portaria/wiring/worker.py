"""The worker process: jobs and their rescue, the one-minute replay, retention."""

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from functools import partial

from portaria import events
from portaria.accounts.process import Processor
from portaria.accounts.retention import empty_events
from portaria.accounts.use_cases import UseCases
from portaria.automations.engine import run_rules
from portaria.db.pool import Database
from portaria.events import Event
from portaria.intake.replay import Pace, run_replay
from portaria.intake.retention import empty_arrivals
from portaria.jobs import Queue, Runner
from portaria.jobs.rounds import run_rounds
from portaria.push import Courier
from portaria.settings import Settings
from portaria.telemetry import configure_logging
from portaria.wiring.basics import database_url, guarded, opened
from portaria.wiring.push import build_courier

_TIDIES_EVERY = 600.0


async def run_worker(config: Settings) -> None:
    """The worker process, until SIGTERM or SIGINT."""
    configure_logging(config.log_level, config.log_format)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    url = database_url(config)
    replay_db = Database(
        url, name="portaria replay", size=config.replay_concurrency + 2, statement_timeout=15.0
    )
    queue = Queue(Database(url, name="portaria jobs", size=4 * config.worker_concurrency + 2))
    async with opened(replay_db), opened(queue.db), guarded(replay_db), AsyncExitStack() as stack:
        if (courier := build_courier(config)) is not None:
            stack.push_async_callback(courier.close)
        register_jobs(config, queue, courier)
        runner = Runner(queue, concurrency=config.worker_concurrency)
        pace = Pace(at_once=config.replay_concurrency)
        await asyncio.gather(
            run_replay(replay_db, stop, every=config.replay_every, pace=pace),
            runner.run(stop),
            *retention(config, replay_db, stop),
        )


def retention(config: Settings, db: Database, stop: asyncio.Event) -> list[Coroutine[None, None, None]]:
    """The loops that empty what was kept long enough; none for what is kept for ever."""
    loops = []
    if config.keep_arrivals:
        arrivals = partial(empty_arrivals, db, stop, keep_days=config.keep_arrivals)
        loops.append(run_rounds(db, stop, "retention-arrivals", arrivals, every=_TIDIES_EVERY))
    if config.keep_events:
        kept = partial(empty_events, db, stop, keep_days=config.keep_events)
        loops.append(run_rounds(db, stop, "retention-events", kept, every=_TIDIES_EVERY))
    return loops


def register_jobs(config: Settings, queue: Queue, courier: Courier | None) -> None:
    """Every task of this version."""

    async def on_assigned(db: Database, event: Event, comebacks: int) -> None:
        if courier is not None:
            await courier.tell_owner(db, event, comebacks)

    Processor(queue.db, UseCases(), use_case_within=config.use_case_within).register(queue)
    events.register(queue, on_fact=run_rules, on_assigned=on_assigned)
