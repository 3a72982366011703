"""kill -9 and SIGSTOP between any two steps, on real processes (spec 3, 6).

Never a pending event without a job, never a use case's writes without `processed`, never both
`processed` and `failed`.
"""

import asyncio
import json
import os
import signal
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from portaria.accounts.http import PREFIX
from tests.accounts.workbench import TITLE, Events, envelope
from tests.conftest import TestDatabase
from tests.support.accounts_process import web, worker
from tests.support.processes import until

TOKEN = "token-inventado"
# A step that waits until the test lets go of the lock.
GATE = (
    "CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " PERFORM pg_advisory_xact_lock(7); RETURN coalesce(NEW, OLD); END $$"
)


def held(folder: Path, **more: Any) -> dict[str, Any]:
    """An event whose use case waits inside, the first time, until the test lets it go on."""
    return {"title": "escrito", "say": str(folder / "inside"), "until": str(folder / "go")} | more


def inside(folder: Path) -> int:
    """Waits until the use case has written; the pid of its worker."""
    said = folder / "inside"
    until(lambda: said.exists() and said.read_text(), within=20)
    return int(said.read_text())


def writes(owner: psycopg.Connection) -> int:
    """How often the use case's writes were committed."""
    [(count,)] = owner.execute(
        "SELECT coalesce(sum(occurrences), 0) FROM notices WHERE kind = 'test'"
    ).fetchall()
    return int(count)


def waiting_at_gate(owner: psycopg.Connection) -> int | None:
    """The server process that waits at the gate."""
    found = owner.execute(
        "SELECT l.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
        " WHERE l.locktype = 'advisory' AND NOT l.granted AND a.datname = current_database()"
    ).fetchone()
    return found and found[0]


def orphans(owner: psycopg.Connection) -> list[tuple[Any, ...]]:
    """Pending events without a job that starts from where they stand."""
    return owner.execute(
        "SELECT e.id FROM incoming_events e WHERE e.status = 'pending' AND NOT EXISTS ("
        " SELECT 1 FROM procrastinate_jobs j WHERE j.status IN ('todo', 'doing')"
        " AND j.args ->> 'incoming_event_id' = e.id::text AND (j.args ->> 'attempts')::int = e.attempts)"
    ).fetchall()


def test_killed_inside_the_use_case_the_attempt_is_spent_and_the_next_succeeds(
    events: Events, database: TestDatabase, tmp_path: Path
) -> None:
    """F1, A7."""
    row, _ = events.event(event_type="HELD", data=held(tmp_path))
    with worker(database.app_url) as victim:
        os.kill(inside(tmp_path), signal.SIGKILL)
        victim.wait()
        assert (events.row(row)[:2], writes(events.owner), orphans(events.owner)) == (("pending", 0), 0, [])
        with worker(database.app_url):
            until(lambda: events.row(row)[1] == 1, within=20)
            assert writes(events.owner) == 0
            until(lambda: events.row(row)[0] == "processed", within=20)
            until(lambda: events.count("procrastinate_jobs") == 0)
    assert events.row(row) == ("processed", 1, "", True)
    assert writes(events.owner) == 1


def test_the_third_attempt_killed_ends_failed_and_not_running_for_ever(
    events: Events, database: TestDatabase, tmp_path: Path
) -> None:
    """F8."""
    row, _ = events.event(attempts=2, event_type="HELD", data=held(tmp_path))
    with worker(database.app_url) as victim:
        os.kill(inside(tmp_path), signal.SIGKILL)
        victim.wait()
    with worker(database.app_url):
        until(lambda: events.row(row)[0] == "failed", within=20)
        until(lambda: events.count("procrastinate_jobs") == 0)
    assert events.row(row)[1] == 3
    assert events.owner.execute("SELECT title, occurrences FROM notices").fetchall() == [(TITLE, 1)]


def test_killed_after_the_commit_the_event_is_processed_once(events: Events, database: TestDatabase) -> None:
    """The job is not ended; it comes back, and finds nothing to do."""
    events.owner.execute(GATE)
    events.owner.execute(
        "CREATE TRIGGER t BEFORE DELETE ON procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION gate()"
    )
    with psycopg.connect(database.owner_url, autocommit=True) as gatekeeper:
        gatekeeper.execute("SELECT pg_advisory_lock(7)")
        row, _ = events.event(event_type="HELD", data={"title": "escrito"})
        with worker(database.app_url) as victim:
            until(lambda: waiting_at_gate(events.owner), within=20)
            victim.kill()
            victim.wait()
        events.owner.execute("SELECT pg_terminate_backend(%s)", [waiting_at_gate(events.owner)])
    assert events.count("procrastinate_jobs") == 1
    with worker(database.app_url):
        until(lambda: events.count("procrastinate_jobs") == 0, within=20)
    assert events.row(row) == ("processed", 0, "", True)
    assert writes(events.owner) == 1


def test_killed_before_the_failure_is_recorded_it_is_recorded_once(
    events: Events, database: TestDatabase
) -> None:
    events.owner.execute(GATE)
    events.owner.execute(
        "CREATE TRIGGER t BEFORE UPDATE ON incoming_events FOR EACH ROW"
        " WHEN (NEW.attempts > OLD.attempts) EXECUTE FUNCTION gate()"
    )
    with psycopg.connect(database.owner_url, autocommit=True) as gatekeeper:
        gatekeeper.execute("SELECT pg_advisory_lock(7)")
        row, _ = events.event(event_type="REFUSED")
        with worker(database.app_url) as victim:
            until(lambda: waiting_at_gate(events.owner), within=20)
            victim.kill()
            victim.wait()
        events.owner.execute("SELECT pg_terminate_backend(%s)", [waiting_at_gate(events.owner)])
    until(lambda: waiting_at_gate(events.owner) is None)
    assert (events.row(row)[:2], orphans(events.owner)) == (("pending", 0), [])
    with worker(database.app_url, retry_delay=60):
        until(lambda: events.row(row)[1] == 1, within=20)
        until(lambda: events.count("procrastinate_jobs") == 1)
    assert "cut off" in events.row(row)[2]
    assert orphans(events.owner) == []


@pytest.mark.parametrize("ending", ["lost", "committed"])
def test_the_web_process_killed_between_event_and_job_leaves_both_or_neither(
    events: Events, database: TestDatabase, ending: str
) -> None:
    """F11; then the sender tries again."""
    events.owner.execute(GATE)
    events.owner.execute(
        "CREATE TRIGGER t BEFORE INSERT ON procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION gate()"
    )
    with psycopg.connect(database.owner_url, autocommit=True) as gatekeeper:
        gatekeeper.execute("SELECT pg_advisory_lock(7)")
        with web(database.app_url, TOKEN) as (victim, url), pytest.raises(httpx.HTTPError):
            asyncio.run(_post_until(url, lambda: waiting_at_gate(events.owner), victim.kill))
        backend = waiting_at_gate(events.owner)
        if ending == "lost":
            events.owner.execute("SELECT pg_terminate_backend(%s)", [backend])
    gone = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
    until(lambda: events.owner.execute(gone, [backend]).fetchone() is None)
    expected = 0 if ending == "lost" else 1
    assert (events.count("incoming_events"), events.count("procrastinate_jobs")) == (expected, expected)
    with web(database.app_url, TOKEN) as (_, url):
        answer = httpx.post(
            url + PREFIX, json=envelope(), headers={"authorization": f"Bearer {TOKEN}"}, timeout=20
        )
    assert answer.status_code == (202 if ending == "lost" else 200)
    assert (events.count("incoming_events"), events.count("procrastinate_jobs")) == (1, 1)


async def _post_until(url: str, reached: Any, kill: Any) -> None:
    async with httpx.AsyncClient(timeout=20) as client:
        headers = {"authorization": f"Bearer {TOKEN}"}
        posting = asyncio.create_task(client.post(url + PREFIX, json=envelope(), headers=headers))
        await asyncio.to_thread(until, reached, within=20)
        kill()
        await posting


def test_a_worker_frozen_inside_a_use_case_and_continued_makes_one_outcome(
    events: Events, database: TestDatabase, tmp_path: Path
) -> None:
    """Its attempt is spent by another worker, and what it does when it goes on is rolled back."""
    row, _ = events.event(event_type="HELD", data=held(tmp_path))
    with worker(database.app_url) as frozen:
        pid = inside(tmp_path)
        os.kill(pid, signal.SIGSTOP)
        with worker(database.app_url):
            until(lambda: events.row(row)[0] == "processed", within=20)
            (tmp_path / "go").touch()
            os.kill(pid, signal.SIGCONT)
            # It is alive again, takes new work, and its old run has ended in nothing.
            until(lambda: _superseded(events.owner), within=20)
        frozen.terminate()
        assert frozen.wait(20) == 0
    assert events.row(row) == ("processed", 1, "", True)
    assert (writes(events.owner), events.count("procrastinate_jobs")) == (1, 0)


def _superseded(owner: psycopg.Connection) -> bool:
    """No transaction of a use case is open any more."""
    return not owner.execute(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'test worker' AND xact_start IS NOT NULL"
    ).fetchone()


def test_two_hundred_deliveries_over_two_web_processes_are_one_event(
    events: Events, database: TestDatabase
) -> None:
    async def deliver(urls: list[str]) -> Counter[int]:
        limits = httpx.Limits(max_connections=100)
        raw, headers = json.dumps(envelope()), {"authorization": f"Bearer {TOKEN}"}
        async with httpx.AsyncClient(timeout=30, limits=limits) as client:
            posts = [client.post(urls[n % 2] + PREFIX, content=raw, headers=headers) for n in range(200)]
            return Counter(answer.status_code for answer in await asyncio.gather(*posts))

    with ExitStack() as stack:
        urls = [stack.enter_context(web(database.app_url, TOKEN))[1] for _ in range(2)]
        assert asyncio.run(deliver(urls)) == {202: 1, 200: 199}
    assert (events.count("incoming_events"), events.count("procrastinate_jobs")) == (1, 1)


def test_two_workers_drain_a_backlog_each_event_once(events: Events, database: TestDatabase) -> None:
    for number in range(200):
        events.event(event_type="HELD", data={"title": f"escrito {number}"})
    with worker(database.app_url), worker(database.app_url):
        until(lambda: events.count("procrastinate_jobs") == 0, within=60)
    outcomes = "SELECT status, attempts, count(*) FROM incoming_events GROUP BY 1, 2"
    assert events.owner.execute(outcomes).fetchall() == [("processed", 0, 200)]
    assert (events.count("notices"), writes(events.owner)) == (200, 200)


def test_in_real_time_a_killed_workers_attempt_is_spent_within_15_s_and_the_next_comes_5_s_later(
    events: Events, database: TestDatabase, tmp_path: Path
) -> None:
    row, _ = events.event(event_type="HELD", data=held(tmp_path))
    with worker(database.app_url, real_time=True) as victim, worker(database.app_url, real_time=True):
        if (pid := inside(tmp_path)) == victim.pid:
            victim.kill()
        else:
            os.kill(pid, signal.SIGKILL)
        assert until(lambda: events.row(row)[1] == 1, within=15) < 15
        spent = time.monotonic()
        until(lambda: events.row(row)[0] == "processed", within=8)
        assert time.monotonic() - spent >= 4.5
    assert (events.row(row)[1], writes(events.owner)) == (1, 1)
