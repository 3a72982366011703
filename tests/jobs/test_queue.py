"""Jobs go in with the caller's transaction and leave the table when they are done (design 2)."""

import asyncio
import time
from typing import Any

import psycopg
import pytest

from portaria.db.pool import Database
from portaria.jobs import Job, Queue, alive, enqueue
from tests.conftest import TestDatabase
from tests.jobs.conftest import jobs, working
from tests.support.waiting import until


class Recorder:
    """A body that notes its runs, and raises as often as told."""

    def __init__(self, failures: int = 0) -> None:
        self.runs: list[tuple[int, dict[str, Any]]] = []
        self.failures = failures

    async def __call__(self, job: Job, /, **arguments: Any) -> None:
        self.runs.append((job.comebacks, arguments))
        if len(self.runs) <= self.failures:
            raise RuntimeError("not yet")


async def test_a_job_runs_once_with_its_arguments_and_is_deleted(
    db: Database, queue: Queue, owner: psycopg.Connection
) -> None:
    body = Recorder()
    queue.register("test.note", body, queue="notes")
    async with working(queue):
        async with db.connection() as conn:
            await enqueue(conn, "test.note", "notes", {"n": 1})
        await until(lambda: body.runs and not jobs(owner))
    assert body.runs == [(0, {"n": 1})]


async def test_a_job_belongs_to_the_callers_transaction(db: Database, owner: psycopg.Connection) -> None:
    async with db.connection() as conn:
        async with conn.transaction(force_rollback=True):
            await enqueue(conn, "test.note", "notes", {})
        assert jobs(owner) == []
        async with conn.transaction():
            await enqueue(conn, "test.note", "notes", {})
        assert len(jobs(owner)) == 1


async def test_a_new_job_wakes_the_worker_long_before_it_would_poll(
    db: Database, queue: Queue, owner: psycopg.Connection
) -> None:
    body = Recorder()
    queue.register("test.note", body, queue="notes")
    async with working(queue, poll=60.0), db.connection() as conn:
        await until(lambda: _listener(owner))
        await enqueue(conn, "test.note", "notes", {})
        await until(lambda: body.runs, within=3.0)


async def test_a_lost_listener_is_replaced(db: Database, queue: Queue, owner: psycopg.Connection) -> None:
    body = Recorder()
    queue.register("test.note", body, queue="notes")
    async with working(queue, poll=60.0), db.connection() as conn:
        await until(lambda: _listener(owner))
        first = _listener(owner)
        owner.execute("SELECT pg_terminate_backend(%s)", [first])
        await until(lambda: _listener(owner) not in (None, first))
        await enqueue(conn, "test.note", "notes", {})
        await until(lambda: body.runs, within=3.0)


async def test_a_delayed_job_comes_by_polling_and_not_before_its_time(db: Database, queue: Queue) -> None:
    body = Recorder()
    queue.register("test.note", body, queue="notes")
    async with working(queue), db.connection() as conn:
        enqueued = time.monotonic()
        await enqueue(conn, "test.note", "notes", {}, delay=0.4)
        await until(lambda: body.runs)
        assert 0.4 <= time.monotonic() - enqueued < 2.0


async def test_a_body_that_raises_is_put_back_until_it_returns(
    db: Database, queue: Queue, owner: psycopg.Connection
) -> None:
    body = Recorder(failures=2)
    queue.register("test.note", body, queue="notes", again_in=lambda comebacks: 0.05)
    async with working(queue), db.connection() as conn:
        await enqueue(conn, "test.note", "notes", {"n": 1})
        await until(lambda: len(body.runs) == 3 and not jobs(owner))
    assert [comebacks for comebacks, _ in body.runs] == [0, 1, 2]


async def test_no_row_is_written_about_what_becomes_of_a_job(db: Database, owner: psycopg.Connection) -> None:
    async with db.connection() as conn:
        await enqueue(conn, "test.note", "notes", {}, delay=3600)
        await conn.execute("UPDATE procrastinate_jobs SET status = 'doing'")
        await conn.execute("UPDATE procrastinate_jobs SET abort_requested = true")
    assert owner.execute("SELECT count(*) FROM procrastinate_events").fetchall() == [(0,)]


async def test_a_task_of_a_newer_release_waits_for_a_worker_that_knows_it(
    db: Database, queue: Queue, owner: psycopg.Connection
) -> None:
    queue.register("test.note", Recorder(), queue="notes")
    async with working(queue), db.connection() as conn:
        await enqueue(conn, "test.from_tomorrow", "notes", {})
        await until(lambda: [row[:2] for row in jobs(owner)] == [("todo", 1)])


async def test_a_backlog_in_one_queue_does_not_hold_up_another(db: Database, queue: Queue) -> None:
    release = asyncio.Event()
    body = Recorder()

    async def stuck(job: Job, /, **arguments: Any) -> None:
        await release.wait()

    queue.register("test.stuck", stuck, queue="slow")
    queue.register("test.note", body, queue="notes")
    async with working(queue, concurrency=2), db.connection() as conn:
        for _ in range(5):
            await enqueue(conn, "test.stuck", "slow", {})
        await enqueue(conn, "test.note", "notes", {})
        await until(lambda: body.runs)
        release.set()


async def test_stopping_waits_for_the_running_job(
    db: Database, queue: Queue, owner: psycopg.Connection
) -> None:
    started, release = asyncio.Event(), asyncio.Event()
    ended: list[bool] = []

    async def slow(job: Job, /, **arguments: Any) -> None:
        started.set()
        await release.wait()
        ended.append(True)

    queue.register("test.slow", slow, queue="notes")
    async with working(queue) as stop, db.connection() as conn:
        await enqueue(conn, "test.slow", "notes", {})
        await started.wait()
        stop.set()
        await enqueue(conn, "test.slow", "notes", {})
        release.set()
    assert ended == [True]
    assert [row[0] for row in jobs(owner)] == ["todo"], "nothing new begins after the stop"
    assert owner.execute("SELECT count(*) FROM procrastinate_workers").fetchone() == (0,)


async def test_alive_counts_workers_that_beat_lately(
    db: Database, queue: Queue, owner: psycopg.Connection
) -> None:
    queue.register("test.note", Recorder(), queue="notes")
    async with db.connection() as conn:
        assert await alive(conn, 5.0) == 0
        async with working(queue):
            await until(lambda: owner.execute("SELECT 1 FROM procrastinate_workers").fetchone())
            assert await alive(conn, 5.0) == 1
            owner.execute(
                "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 min')"
            )
            assert await alive(conn, 5.0) == 1
        assert await alive(conn, 5.0) == 0


async def test_the_tenants_role_has_no_right_on_the_queue(db: Database, database: TestDatabase) -> None:
    async with db.transaction() as conn:
        await conn.execute("SET LOCAL ROLE authenticated")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await enqueue(conn, "test.note", "notes", {})


def _listener(owner: psycopg.Connection) -> int | None:
    """The server process of the connection that listens, once its worker has beaten on it."""
    found = owner.execute(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'portaria pulse'"
        " AND datname = current_database() AND query LIKE '%UPDATE procrastinate_%'"
    ).fetchone()
    return found and found[0]
