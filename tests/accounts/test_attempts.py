"""An attempt is spent once: two jobs, a job that comes back, a run that was only frozen (spec 3)."""

import asyncio
from typing import Any

import psycopg
import pytest

from portaria.accounts.process import Outcome
from portaria.accounts.use_cases import Failure, Success, UseCase
from portaria.db.pool import Connection
from tests.accounts.workbench import REFUSE, TITLE, Bench, Held, explode, give_up, succeed


@pytest.mark.parametrize("way", [succeed, give_up])
async def test_two_jobs_for_one_event_spend_one_attempt(bench: Bench, way: UseCase) -> None:
    """The second while the first runs, and another after it."""
    held = Held()

    async def use_case(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
        await held(data, transaction)
        return await way(data, transaction)

    row, first = bench.event()
    second = bench.job(row, 0)
    processor = bench.processor(use_case)
    running = asyncio.create_task(processor.process(row, 0, first))
    await held.inside.wait()
    assert await processor.process(row, 0, second) is Outcome.nothing
    held.release.set()
    outcome = await running
    assert await processor.process(row, 0, second) is Outcome.nothing
    if way is succeed:
        assert (outcome, bench.row(row)[:2]) == (Outcome.processed, ("processed", 0))
        assert bench.next_jobs(second) == []
    else:
        assert (outcome, bench.row(row)[:2]) == (Outcome.again, ("pending", 1))
        assert [starts for starts, _ in bench.next_jobs(second)] == [1]


@pytest.mark.parametrize("attempts", [0, 1, 2])
async def test_a_job_that_comes_back_spends_the_attempt_it_was_cut_off_in(
    bench: Bench, attempts: int
) -> None:
    """F1, F8: the use case does not run in it; the third is final."""
    row, job = bench.event(attempts=attempts)
    cut = asyncio.create_task(bench.processor(held := Held()).process(row, attempts, job))
    await held.inside.wait()
    cut.cancel()
    await asyncio.gather(cut, return_exceptions=True)
    assert bench.row(row)[:2] == ("pending", attempts)
    outcome = await bench.processor(succeed).process(row, attempts, job)
    status, count, message, _ = bench.row(row)
    assert (status, count) == (("pending", attempts + 1) if attempts < 2 else ("failed", 3))
    assert outcome.value == status
    assert "cut off" in message
    assert len(bench.next_jobs(job)) == (1 if attempts < 2 else 0)
    assert [title for (title,) in bench.owner.execute("SELECT title FROM notices")] == [TITLE] * (
        attempts == 2
    )


async def test_an_attempt_whose_job_is_gone_is_spent_by_any_other(bench: Bench) -> None:
    row, job = bench.event()
    later = bench.job(row, 0)
    bench.owner.execute("UPDATE incoming_events SET attempt_job = %s, attempt_started_at = now()", [job])
    assert await bench.processor(succeed).process(row, 0, later) is Outcome.nothing
    bench.owner.execute("DELETE FROM procrastinate_jobs WHERE id = %s", [job])
    assert await bench.processor(succeed).process(row, 0, later) is Outcome.again
    assert bench.row(row)[:2] == ("pending", 1)


@pytest.mark.parametrize("late", [succeed, give_up, explode])
async def test_a_frozen_run_that_goes_on_after_its_attempt_was_spent_changes_nothing(
    bench: Bench, late: UseCase
) -> None:
    held = Held()

    async def use_case(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
        await held(data, transaction)
        return await late(data, transaction)

    row, job = bench.event()
    frozen = asyncio.create_task(bench.processor(use_case).process(row, 0, job))
    await held.inside.wait()
    assert await bench.processor(succeed).process(row, 0, job) is Outcome.again
    held.release.set()
    assert await frozen is Outcome.nothing
    assert bench.row(row)[:2] == ("pending", 1)
    assert bench.count("notices") == 0
    assert [starts for starts, _ in bench.next_jobs(job)] == [1]


async def test_a_frozen_run_does_not_close_an_event_that_was_reprocessed(bench: Bench) -> None:
    """The count is 0 again, but the attempt is not this run's."""
    row, job = bench.event(attempts=2)
    bench.owner.execute("UPDATE incoming_events SET attempts = 0")
    frozen = asyncio.create_task(bench.processor(held := Held()).process(row, 0, job))
    await held.inside.wait()
    bench.owner.execute("UPDATE incoming_events SET status = 'failed', attempts = 3, processed_at = now()")
    [(verdict,)] = bench.owner.execute(
        "SELECT fn_reprocess_incoming_event(%s, false, 'cli')", [row]
    ).fetchall()
    assert verdict == "queued"
    held.release.set()
    assert await frozen is Outcome.nothing
    assert bench.row(row) == ("pending", 0, "", False)


async def test_an_attempt_that_could_not_be_recorded_is_recorded_when_its_job_runs_again(
    bench: Bench,
) -> None:
    """The queue refuses the next job: the failure is not recorded either, nothing is half done."""
    bench.owner.execute(REFUSE)
    row, job = bench.event()
    bench.owner.execute("CREATE TRIGGER t BEFORE INSERT ON procrastinate_jobs EXECUTE FUNCTION refuse()")
    for _ in range(2):
        with pytest.raises(psycopg.errors.RaiseException):
            await bench.processor(give_up).process(row, 0, job)
        assert bench.row(row)[:2] == ("pending", 0)
    bench.owner.execute("DROP TRIGGER t ON procrastinate_jobs")
    assert await bench.processor(give_up).process(row, 0, job) is Outcome.again
    assert bench.row(row)[:2] == ("pending", 1)
