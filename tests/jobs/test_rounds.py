"""Cares that come round: one round when it is due, in the whole installation, by the database's clock."""

import asyncio

import psycopg

from portaria.db.pool import Database
from portaria.jobs.rounds import run_rounds, take_due
from tests.support.waiting import until


async def test_of_many_that_ask_at_once_one_runs_the_round(db: Database) -> None:
    asked = await asyncio.gather(*(take_due(db, "tidy", every=600) for _ in range(10)))
    assert sorted(asked) == [False] * 9 + [True]
    assert await take_due(db, "another", every=600)


async def test_it_is_due_again_by_the_databases_clock(db: Database, owner: psycopg.Connection) -> None:
    assert await take_due(db, "tidy", every=600)
    for ago, due in (("599 seconds", False), ("600 seconds", True), ("-1 hour", True)):
        owner.execute("UPDATE cron_rounds SET last_round_at = clock_timestamp() - %s::interval", (ago,))
        assert await take_due(db, "tidy", every=600) is due, ago


async def test_a_round_that_raises_is_not_the_last(db: Database) -> None:
    stop, ran = asyncio.Event(), 0

    async def raises() -> None:
        nonlocal ran
        ran += 1
        raise ValueError

    running = asyncio.create_task(run_rounds(db, stop, "tidy", raises, every=0.05))
    await until(lambda: ran >= 3)
    stop.set()
    await running
