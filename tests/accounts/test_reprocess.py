"""Reprocessing: pending, no attempts spent, and the job, in one transaction; audited (spec 3)."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from portaria.accounts.process import Outcome
from portaria.accounts.reprocess import FailedFilter, count_failed, reprocess, reprocess_failed
from portaria.errors import Refusal
from tests.accounts.workbench import REFUSE, Bench, Held, give_up, succeed


async def start_anew(bench: Bench, row: UUID, **more: Any) -> str:
    """`started`, or the status and code of the refusal."""
    async with bench.db.connection() as conn:
        try:
            await reprocess(conn, row, actor="the operator", **more)
        except Refusal as refusal:
            return f"{refusal.status} {refusal.code}"
    return "started"


async def fail_for_good(bench: Bench, **more: Any) -> UUID:
    row, job = bench.event(attempts=2, **more)
    assert await bench.processor(give_up).process(row, 2, job) is Outcome.failed
    bench.owner.execute("DELETE FROM procrastinate_jobs WHERE id = %s", [job])
    return row


async def test_a_failed_event_starts_anew_and_the_same_job_runs(bench: Bench) -> None:
    row = await fail_for_good(bench)
    assert await start_anew(bench, row) == "started"
    assert bench.row(row) == ("pending", 0, "", False)
    [(job, args)] = bench.owner.execute("SELECT id, args FROM procrastinate_jobs").fetchall()
    assert args == {"incoming_event_id": str(row), "attempts": 0}
    assert await bench.processor(succeed).process(row, 0, job) is Outcome.processed


async def test_it_is_audited_with_what_it_was(bench: Bench) -> None:
    row = await fail_for_good(bench)
    await start_anew(bench, row)
    [entry] = bench.owner.execute(
        "SELECT organization_id, action, actor, resource_kind, resource_id, metadata FROM api_audit_log"
    ).fetchall()
    assert entry[:5] == (None, "incoming_event.reprocessed", "the operator", "incoming_event", str(row))
    assert entry[5] == {
        "event_id": "evt_0", "event_type": "INSTALLMENT_OVERDUE", "status": "failed", "attempts": 3,
        "error_message": "the installment is unknown",
    }  # fmt: skip


async def test_a_pending_event_is_refused_with_or_without_force(bench: Bench) -> None:
    row, _ = bench.event(attempts=1)
    for force in (False, True):
        assert await start_anew(bench, row, force=force) == "409 pending"
    assert bench.row(row) == ("pending", 1, "", False)
    assert (bench.count("procrastinate_jobs"), bench.count("api_audit_log")) == (1, 0)


async def test_a_processed_event_needs_force(bench: Bench) -> None:
    row, job = bench.event()
    await bench.processor(succeed).process(row, 0, job)
    assert await start_anew(bench, row) == "409 processed"
    assert bench.row(row) == ("processed", 0, "", True)
    assert await start_anew(bench, row, force=True) == "started"
    assert bench.row(row) == ("pending", 0, "", False)


async def test_what_is_not_there_or_was_emptied_is_refused(bench: Bench) -> None:
    assert await start_anew(bench, uuid4()) == "404 not_found"
    row = await fail_for_good(bench)
    bench.owner.execute("UPDATE incoming_events SET payload = ''")
    assert await start_anew(bench, row) == "409 payload_emptied"


async def test_row_and_job_are_one_transaction(bench: Bench) -> None:
    """F11."""
    row = await fail_for_good(bench)
    bench.owner.execute(REFUSE)
    bench.owner.execute("CREATE TRIGGER t BEFORE INSERT ON procrastinate_jobs EXECUTE FUNCTION refuse()")
    with pytest.raises(psycopg.errors.RaiseException):
        await start_anew(bench, row)
    assert bench.row(row)[:2] == ("failed", 3)
    assert bench.count("api_audit_log") == 0


async def test_two_operators_at_once_start_it_once(bench: Bench) -> None:
    row = await fail_for_good(bench)
    await asyncio.gather(*(start_anew(bench, row) for _ in range(5)))
    assert (bench.count("procrastinate_jobs"), bench.count("api_audit_log")) == (1, 1)


async def test_a_left_over_job_and_the_new_one_spend_one_attempt(bench: Bench) -> None:
    """The old job starts from 0 too: whichever comes first begins, the other does nothing."""
    row, left_over = bench.event(attempts=2)
    await bench.processor(give_up).process(row, 2, left_over)
    bench.owner.execute("UPDATE procrastinate_jobs SET args = jsonb_set(args, '{attempts}', '0')")
    assert await start_anew(bench, row) == "started"
    [(_,), (new,)] = bench.owner.execute("SELECT id FROM procrastinate_jobs ORDER BY id").fetchall()
    processor = bench.processor(held := Held())
    running = asyncio.create_task(processor.process(row, 0, left_over))
    await held.inside.wait()
    assert await processor.process(row, 0, new) is Outcome.nothing
    held.release.set()
    assert await running is Outcome.processed


async def test_by_filter_takes_failed_ones_alone_and_counts_first(bench: Bench) -> None:
    wanted = [await fail_for_good(bench) for _ in range(3)]
    other = await fail_for_good(bench, event_type="OTHER")
    old = await fail_for_good(bench)
    bench.owner.execute(
        "UPDATE incoming_events SET received_at = now() - interval '2 days' WHERE id = %s", [old]
    )
    done, job = bench.event()
    await bench.processor(succeed).process(done, 0, job)
    [(yesterday,)] = bench.owner.execute("SELECT now() - interval '1 day'").fetchall()
    filter_ = FailedFilter(event_type="INSTALLMENT_OVERDUE", since=yesterday)
    async with bench.db.connection() as conn:
        assert await count_failed(conn, FailedFilter()) == 5
        assert await count_failed(conn, filter_) == 3
        assert bench.count("api_audit_log") == 0
        assert [n async for n in reprocess_failed(conn, filter_, actor="cli")] == [3]
    assert [bench.row(row)[0] for row in (*wanted, other, old, done)] == [
        "pending", "pending", "pending", "failed", "failed", "processed",
    ]  # fmt: skip
    assert bench.count("api_audit_log") == 3


async def test_many_are_started_in_portions_each_once_whatever_fails_again(bench: Bench) -> None:
    bench.owner.execute(
        "INSERT INTO incoming_events"
        " (event_id, event_type, occurred_at, payload, status, attempts, processed_at)"
        " SELECT n::text, 'T', now(), '{}', 'failed', 3, now() FROM generate_series(1, 250) n"
    )
    seen = []
    async with bench.db.connection() as conn:
        async for some in reprocess_failed(conn, FailedFilter(), actor="cli"):
            seen.append(some)
            bench.owner.execute(
                "UPDATE incoming_events SET status = 'failed', attempts = 3, processed_at = now()"
            )
    assert seen == [100, 100, 50]
    assert bench.count("procrastinate_jobs") == 250
