"""The job: each row of the decision table (spec 3, R-010)."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from portaria.accounts.process import Outcome
from portaria.accounts.use_cases import Failure, Success, UseCase
from portaria.db.pool import Connection
from tests.accounts.workbench import TITLE, Bench, explode, give_up, succeed

UNSUCCESSFUL: dict[str, tuple[UseCase | None, str]] = {
    "returns Failure": (give_up, "the installment is unknown"),
    "raises": (explode, "LookupError: the installment is unknown"),
    "no use case": (None, "no use case registered for event: INSTALLMENT_OVERDUE"),
}


async def test_success_after_any_attempts_is_processed_and_not_queued_again(bench: Bench) -> None:
    for attempts in (0, 1, 2):
        row, job = bench.event(attempts=attempts)
        assert await bench.processor(succeed).process(row, attempts, job) is Outcome.processed
        assert bench.row(row) == ("processed", attempts, "", True)
        assert bench.next_jobs(job) == []
    assert bench.owner.execute("SELECT title, occurrences FROM notices").fetchall() == [("escrito", 3)]


@pytest.mark.parametrize("how", UNSUCCESSFUL)
async def test_an_unsuccessful_attempt_counts_and_comes_again_in_5_seconds(bench: Bench, how: str) -> None:
    use_case, message = UNSUCCESSFUL[how]
    for attempts in (0, 1):
        row, job = bench.event(attempts=attempts)
        assert await bench.processor(use_case).process(row, attempts, job) is Outcome.again
        assert bench.row(row) == ("pending", attempts + 1, message, False)
        [(starts_from, due_in)] = bench.next_jobs(job)
        assert starts_from == attempts + 1
        assert 4.0 < due_in <= 5.0
    assert bench.count("notices") == 0, "the use case's writes are rolled back"


@pytest.mark.parametrize("how", UNSUCCESSFUL)
async def test_the_third_unsuccessful_attempt_is_final_and_told(bench: Bench, how: str) -> None:
    """F12: whatever the error, and nothing takes it up again."""
    use_case, message = UNSUCCESSFUL[how]
    row, job = bench.event(attempts=2)
    assert await bench.processor(use_case).process(row, 2, job) is Outcome.failed
    assert bench.row(row) == ("failed", 3, message, True)
    assert bench.next_jobs(job) == []
    [notice] = bench.owner.execute(
        "SELECT organization_id, kind, title, status, occurrences, resource_id, body FROM notices"
    ).fetchall()
    assert notice[:6] == (None, "incoming_event_failed", TITLE, "open", 1, str(row))
    assert message in notice[6]
    other, job = bench.event(attempts=2)
    await bench.processor(use_case).process(other, 2, job)
    assert bench.owner.execute("SELECT title, occurrences FROM notices").fetchall() == [(TITLE, 2)]


async def test_an_event_no_longer_pending_is_left_as_it_is(bench: Bench) -> None:
    for status, attempts in (("processed", 0), ("processed", 2), ("failed", 3)):
        row, job = bench.event(attempts=attempts, status=status)
        before = bench.owner.execute("SELECT * FROM incoming_events WHERE id = %s", [row]).fetchall()
        assert await bench.processor(succeed).process(row, attempts, job) is Outcome.nothing
        assert bench.owner.execute("SELECT * FROM incoming_events WHERE id = %s", [row]).fetchall() == before
    assert bench.count("notices") == 0


async def test_a_job_that_starts_from_another_count_does_nothing(bench: Bench) -> None:
    row, job = bench.event(attempts=1)
    for attempts in (0, 2, 3):
        assert await bench.processor(succeed).process(row, attempts, job) is Outcome.nothing
    assert bench.row(row) == ("pending", 1, "", False)


async def test_the_use_case_gets_the_data_alone_clean_and_exact(bench: Bench) -> None:
    given: list[Any] = []

    async def keep(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
        given.append(data)
        return Success()

    row, job = bench.event(data={"name": "a\x00b", "n": 2**53 + 1, "nested": {"x": [1, None]}})
    await bench.processor(keep).process(row, 0, job)
    assert given == [{"name": "a\ufffdb", "n": 2**53 + 1, "nested": {"x": [1, None]}}]


async def test_the_next_attempt_is_due_5_seconds_after_the_end_of_this_one(bench: Bench) -> None:
    """F12: from the end, by the database's clock, not from the begin."""
    ended: list[datetime] = []

    async def slow(data: dict[str, Any], transaction: Connection, /) -> Success | Failure:
        await transaction.execute("SELECT pg_sleep(0.2)")
        [(now,)] = await (await transaction.execute("SELECT clock_timestamp()")).fetchall()
        ended.append(now)
        return Failure("slow")

    row, job = bench.event()
    await bench.processor(slow).process(row, 0, job)
    [(due,)] = bench.owner.execute(
        "SELECT scheduled_at FROM procrastinate_jobs WHERE id > %s", [job]
    ).fetchall()
    assert timedelta(seconds=5) <= due - ended[0] < timedelta(seconds=6)
