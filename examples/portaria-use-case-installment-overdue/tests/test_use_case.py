"""One notice per subscription and version, in whatever order events come, on a real PostgreSQL."""

import asyncio
from typing import Any

import psycopg

from portaria.accounts.use_cases import Failure, Success
from portaria.db.pool import Database


async def tell(db: Database, **data: Any) -> Success | Failure:
    """The use case, in a transaction as the worker gives it."""
    from portaria_installment_overdue import installment_overdue

    async with db.transaction() as transaction:
        return await installment_overdue(data, transaction)


def notices(owner: psycopg.Connection) -> list[tuple[str, int, str]]:
    query = "SELECT title, occurrences, coalesce(resource_id, '') FROM notices ORDER BY title"
    return owner.execute(query).fetchall()


SUB_1 = "Parcela em atraso: assinatura sub_1"


async def test_an_overdue_installment_becomes_a_notice(db: Database, owner: psycopg.Connection) -> None:
    outcome = await tell(db, subscription_id="sub_1", version=1, amount="19.90", due_on="2026-10-01")
    assert outcome == Success()
    assert notices(owner) == [(SUB_1, 1, "sub_1@1")]
    [(body,)] = owner.execute("SELECT body FROM notices").fetchall()
    assert "uma parcela de 19.90 em atraso, vencida em 2026-10-01" in body


async def test_an_older_version_that_comes_late_changes_nothing(
    db: Database, owner: psycopg.Connection
) -> None:
    """G3: version 2, then 1: the state of 2, and no failure for coming early."""
    assert await tell(db, subscription_id="sub_1", version=2) == Success()
    assert await tell(db, subscription_id="sub_1", version=1) == Success()
    assert notices(owner) == [(SUB_1, 1, "sub_1@2")]


async def test_two_events_of_one_version_change_it_once(db: Database, owner: psycopg.Connection) -> None:
    """G4; also after somebody has resolved the notice, and ten of them at once."""
    await asyncio.gather(*(tell(db, subscription_id="sub_1", version=1) for _ in range(10)))
    assert notices(owner) == [(SUB_1, 1, "sub_1@1")]
    owner.execute("UPDATE notices SET status = 'resolved', resolved_at = now()")
    assert await tell(db, subscription_id="sub_1", version=1) == Success()
    assert notices(owner) == [(SUB_1, 1, "sub_1@1")]


async def test_a_newer_version_is_told_again(db: Database, owner: psycopg.Connection) -> None:
    for version in (1, 2, 10, 9):
        await tell(db, subscription_id="sub_1", version=version)
    assert notices(owner) == [(SUB_1, 3, "sub_1@10")]


async def test_subscriptions_are_apart_whatever_their_ids_hold(
    db: Database, owner: psycopg.Connection
) -> None:
    for subscription in ("a@1", "a", "a%", "é", 7, "x" * 300):
        assert await tell(db, subscription_id=subscription, version=1) == Success()
        assert await tell(db, subscription_id=subscription, version=1) == Success()
    assert [occurrences for _, occurrences, _ in notices(owner)] == [1] * 6


async def test_without_a_subscription_people_are_told_all_the_same(
    db: Database, owner: psycopg.Connection
) -> None:
    for times, data in enumerate(({}, {"subscription_id": None, "version": 3}, {"invoice": {"id": 1}}), 1):
        assert await tell(db, **data) == Success()
        assert notices(owner) == [("Parcela em atraso", times, "")]


async def test_a_version_that_cannot_be_compared_is_a_failure_in_words(
    db: Database, owner: psycopg.Connection
) -> None:
    failure = Failure("version is not a whole number")
    for version in ("2", 1.5, True, [1]):
        assert await tell(db, subscription_id="sub_1", version=version) == failure
    assert notices(owner) == []
