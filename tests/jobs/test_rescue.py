"""Jobs of workers that were killed or frozen come back, and nobody ends a run that is not theirs."""

import asyncio
from typing import Any

import psycopg
from procrastinate.jobs import Job as QueueJob
from procrastinate.jobs import Status
from structlog.testing import capture_logs

from portaria.db.pool import Database
from portaria.jobs import Job, Queue, Runner, enqueue
from tests.conftest import TestDatabase
from tests.jobs.conftest import jobs, working
from tests.support.waiting import until

STALE = "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour') RETURNING id"
LIVE = "INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id"


def abandon(owner: psycopg.Connection, worker: str) -> int:
    """A job that a worker has taken up, and that worker's number."""
    [(number,)] = owner.execute(worker).fetchall()
    owner.execute("SELECT fn_enqueue_job('test.note', 'notes', '{}', 0)")
    owner.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", [number])
    return int(number)


async def noted(job: Job, /, **arguments: Any) -> None:
    return None


async def test_a_silent_workers_job_runs_again(queue: Queue, owner: psycopg.Connection) -> None:
    abandon(owner, STALE)
    runs: list[int] = []

    async def body(job: Job, /, **arguments: Any) -> None:
        runs.append(job.comebacks)

    queue.register("test.note", body, queue="notes")
    async with working(queue):
        await until(lambda: runs and not jobs(owner))
    assert runs == [1]


async def test_a_job_whose_worker_was_pruned_runs_again(queue: Queue, owner: psycopg.Connection) -> None:
    abandon(owner, STALE)
    owner.execute("DELETE FROM procrastinate_workers")
    assert jobs(owner) == [("doing", 0, None)]
    queue.register("test.note", noted, queue="notes")
    async with working(queue):
        await until(lambda: not jobs(owner))


async def test_a_living_workers_job_is_left_alone(queue: Queue, owner: psycopg.Connection) -> None:
    worker = abandon(owner, LIVE)
    abandoned = abandon(owner, STALE)
    owner.execute("UPDATE procrastinate_jobs SET worker_id = %s WHERE id = 1", [worker])
    assert abandoned != worker
    queue.register("test.note", noted, queue="notes")
    async with working(queue, stale=60.0):
        await until(lambda: len(jobs(owner)) == 1)
    assert jobs(owner) == [("doing", 0, worker)]


async def test_two_rescuers_put_a_job_back_once(
    db: Database, queue: Queue, owner: psycopg.Connection, database: TestDatabase
) -> None:
    """The second waits for the first, finds the job fetched anew by a living worker, and leaves it."""
    abandon(owner, STALE)
    rescue = Runner(queue)._pulse._rescue
    async with db.connection() as first, db.connection() as second:
        async with first.transaction():
            await rescue(first)
            waiting = asyncio.create_task(rescue(second))
            await until(lambda: _waits_for_lock(owner))
            [(worker,)] = owner.execute(LIVE).fetchall()
            await first.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", [worker])
        await waiting
    assert jobs(owner) == [("doing", 1, worker)]


async def test_a_late_ending_does_not_end_the_new_run(
    db: Database, queue: Queue, owner: psycopg.Connection
) -> None:
    """Whatever it is, and whoever has the new run: also the very worker that was frozen."""
    worker = abandon(owner, LIVE)
    await queue.open()
    mine = QueueJob(
        id=1,
        queue="notes",
        lock=None,
        queueing_lock=None,
        task_name="test.note",
        attempts=0,
        worker_id=worker,
    )
    owner.execute("UPDATE procrastinate_jobs SET attempts = 1")  # put back, and fetched again
    await queue.endings.finish_job(mine, Status.SUCCEEDED, True)
    await queue.endings.finish_job(mine, Status.FAILED, False)
    await queue.endings.retry_job(mine)
    assert jobs(owner) == [("doing", 1, worker)]
    await queue.endings.finish_job(mine.evolve(attempts=1), Status.SUCCEEDED, True)
    assert jobs(owner) == []


async def test_an_aborted_run_is_put_back(db: Database, queue: Queue, owner: psycopg.Connection) -> None:
    started = asyncio.Event()

    async def body(job: Job, /, **arguments: Any) -> None:
        started.set()
        if job.comebacks == 0:
            raise asyncio.CancelledError

    queue.register("test.note", body, queue="notes", again_in=lambda _: 0.05)
    async with working(queue), db.connection() as conn:
        await enqueue(conn, "test.note", "notes", {})
        await started.wait()
        await until(lambda: not jobs(owner))


async def test_a_worker_that_was_pruned_registers_anew(queue: Queue, owner: psycopg.Connection) -> None:
    queue.register("test.note", noted, queue="notes")
    workers = "SELECT id FROM procrastinate_workers"
    async with working(queue):
        await until(lambda: owner.execute(workers).fetchone())
        pruned = owner.execute("DELETE FROM procrastinate_workers RETURNING id").fetchone()
        await until(lambda: owner.execute(workers).fetchone() not in (None, pruned))


async def test_an_ending_the_database_does_not_take_is_tried_until_it_does(
    db: Database, queue: Queue, owner: psycopg.Connection
) -> None:
    """Else the job stays `doing` under a worker that lives, and nobody ever puts it back."""
    ran = asyncio.Event()

    async def body(job: Job, /, **arguments: Any) -> None:
        ran.set()

    queue.register("test.note", body, queue="notes")
    owner.execute("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$")
    owner.execute("CREATE TRIGGER t BEFORE DELETE ON procrastinate_jobs EXECUTE FUNCTION refuse()")
    async with working(queue), db.connection() as conn:
        await enqueue(conn, "test.note", "notes", {})
        await ran.wait()
        await until(lambda: [row[0] for row in jobs(owner)] == ["doing"])
        owner.execute("DROP TRIGGER t ON procrastinate_jobs")
        await until(lambda: not jobs(owner))


async def test_the_worker_outlives_its_database(
    db: Database, queue: Queue, owner: psycopg.Connection, database: TestDatabase
) -> None:
    """Every connection is cut, and new ones refused for a while; then work goes on."""
    runs: list[int] = []

    async def body(job: Job, /, **arguments: Any) -> None:
        runs.append(job.id)

    queue.register("test.note", body, queue="notes")
    async with working(queue):
        owner.execute("SELECT fn_enqueue_job('test.note', 'notes', '{}', 0)")
        await until(lambda: len(runs) == 1)
        with capture_logs() as logs:
            _cut_off(owner, database.name)
            owner.execute("SELECT fn_enqueue_job('test.note', 'notes', '{}', 0)")
            await until(lambda: [line["event"] for line in logs].count("job_pulse_lost") >= 2)
        assert len(runs) == 1
        owner.execute(f"ALTER DATABASE {database.name} CONNECTION LIMIT -1")
        await until(lambda: len(runs) == 2 and not jobs(owner), within=15.0)


def _cut_off(owner: psycopg.Connection, name: str) -> None:
    owner.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 0")
    owner.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def _waits_for_lock(owner: psycopg.Connection) -> bool:
    found = owner.execute(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ).fetchone()
    return found is not None
