"""How the intake answers: counted by the process, added up over processes, read as figures."""

import asyncio
from collections import Counter
from uuid import UUID, uuid4

import psycopg
import pytest

from portaria.asgi import Answer
from portaria.db.pool import Database
from portaria.intake.overview import Minutes, read_figures, read_minutes
from portaria.intake.overview.figures import quantile
from portaria.intake.overview.minutes import SCALE, outcome_of
from tests.support.factory import Factory


@pytest.fixture
def organization(shared_owner: psycopg.Connection) -> UUID:
    return Factory(shared_owner).organization()


async def _answers(pool: Database, organization: UUID, *, operator: bool = False) -> Counter[str]:
    async with pool.tenant(organization, operator=operator) as conn:
        minutes = await read_minutes(conn, organization, minutes=60, operator=operator)
    return sum((figures.answers for figures in minutes), Counter())


async def test_two_processes_that_write_at_once_are_added_up(pool: Database, organization: UUID) -> None:
    processes = [Minutes(pool), Minutes(pool)]
    for minutes in processes:
        for seconds in (0.001, 0.004, 0.02):
            minutes.note(organization, "accepted", seconds)
        minutes.note(organization, "refused", 9.0)
    await asyncio.gather(*(minutes.write() for minutes in processes))
    await processes[0].write()
    assert await _answers(pool, organization) == {"accepted": 6, "refused": 2}


async def test_what_could_not_be_written_is_written_later(pool: Database, organization: UUID) -> None:
    closed = Database("postgresql:///nowhere?host=/nowhere", name="closed", size=1, timeout=0.1)
    minutes = Minutes(closed)
    minutes.note(organization, "accepted", 0.01)
    await minutes.write()
    minutes._db = pool
    await minutes.write()
    assert await _answers(pool, organization) == {"accepted": 1}


async def test_nobodys_answers_are_the_operators(pool: Database, organization: UUID) -> None:
    minutes = Minutes(pool)
    minutes.note(None, "refused", 0.01)
    await minutes.write()
    assert await _answers(pool, organization) == {}
    assert (await _answers(pool, organization, operator=True))["refused"] >= 1


@pytest.mark.parametrize(
    ("status", "document", "outcome"),
    [
        (200, {"status": "accepted", "id": "x"}, "accepted"), (200, {"status": "ignored"}, "ignored"),
        (200, {"status": "processed"}, "processed"), (200, {}, "processed"), (401, {}, "refused"),
        (503, {}, "unavailable"), (500, {}, "failed"),
    ],
)  # fmt: skip
def test_what_an_answer_counts_as(status: int, document: dict[str, object], outcome: str) -> None:
    assert outcome_of(Answer(status, document)) == outcome


def test_quantiles_are_read_off_the_scale() -> None:
    assert quantile(Counter(), 0.5) is None
    # A hundred answers between 3 and 4 ms: the half of them below 3.5.
    assert quantile(Counter({4: 100}), 0.5) == pytest.approx(0.0035)
    assert quantile(Counter({4: 99, len(SCALE): 1}), 1.0) == SCALE[-1]
    assert quantile(Counter({0: 1}), 0.5) == pytest.approx(0.0005)


async def test_figures_tell_what_waits_and_what_was_given_up(
    pool: Database, organization: UUID, shared_owner: psycopg.Connection
) -> None:
    for status, valid, error in [
        ("received", True, None), ("received", True, "não deu"), ("received", None, None),
        ("dead", True, None),
    ]:  # fmt: skip
        shared_owner.execute(
            "INSERT INTO webhook_events_log (id, organization_id, provider, raw_body, status,"
            " valid_signature, error_message, processed_at) VALUES (%s, %s, 'zernio', '', %s, %s, %s, %s)",
            (uuid4(), organization, status, valid, error, "now" if status == "dead" else None),
        )
    async with pool.tenant(organization) as conn:
        figures = await read_figures(conn, organization)
    assert (figures.pending, figures.tried_and_waiting, figures.dead) == (2, 1, 1)
    assert figures.oldest_pending_at is not None


def test_the_accept_update_stays_hot_on_a_channels_own_route(shared_owner: psycopg.Connection) -> None:
    """The index that the console brought must not cost the hot path its HOT updates."""
    organization, conn = Factory(shared_owner).organization(), shared_owner
    rows = [uuid4() for _ in range(50)]
    for row in rows:
        conn.execute(
            "INSERT INTO webhook_events_log (id, organization_id, provider, raw_body)"
            " VALUES (%s, %s, 'zernio', '{}')",
            (row, organization),
        )
    stats = (
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'webhook_events_log'"
    )
    with conn.transaction():
        conn.execute(
            "UPDATE webhook_events_log SET valid_signature = true,"
            " organization_id = coalesce(organization_id, %s) WHERE id = ANY(%s)",
            (organization, rows),
        )
        updated, hot = conn.execute(stats).fetchone() or (0, 0)
    assert updated == 50
    assert hot >= 48
