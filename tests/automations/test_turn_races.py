"""Two at once: who waits, who does not, and who never becomes owner."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest

from portaria.automations.engine import run_rules
from portaria.db.pool import Database
from portaria.events import TryAgain, find_event
from tests.conftest import TestDatabase
from tests.support.processes import until
from tests.support.rotation import TURN, Desk, rotation


@contextmanager
def connected(shared: TestDatabase) -> Iterator[psycopg.Connection]:
    with psycopg.connect(shared.app_url, autocommit=True) as conn:
        yield conn


class Beside:
    """A statement on a connection of its own, in a thread, that may have to wait for a lock."""

    def __init__(self, shared: TestDatabase, query: str, parameters: tuple[object, ...]) -> None:
        self.result: Any = None
        self.conn = psycopg.connect(shared.app_url, autocommit=True)
        self.thread = threading.Thread(target=self._run, args=(query, parameters))
        self.thread.start()

    def _run(self, query: str, parameters: tuple[object, ...]) -> None:
        cursor = self.conn.execute(query, parameters)  # type: ignore[arg-type]
        self.result = cursor.fetchone()[0] if cursor.description else cursor.rowcount  # type: ignore[index]

    def waits(self, watcher: psycopg.Connection) -> bool:
        """Whether the server says that it waits for a lock."""
        pid = self.conn.info.backend_pid
        row = watcher.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", (pid,)).fetchone()
        return bool(row and row[0])

    def outcome(self) -> Any:
        self.thread.join(10)
        assert not self.thread.is_alive()
        self.conn.close()
        return self.result


def test_a_second_call_of_the_rule_waits_for_the_firsts_commit_and_another_rules_does_not(
    desk: Desk, shared: TestDatabase
) -> None:
    a, b = desk.members("Ana", "Bia")
    rule, other = desk.rule(rotation(a, b)), desk.rule(rotation(a, b))
    (one, one_event), (two, two_event), (three, three_event) = desk.lead(), desk.lead(), desk.lead()
    with connected(shared) as first, first.transaction():
        first.execute(TURN, (desk.org, rule, one, one_event))
        second = Beside(shared, TURN, (desk.org, rule, two, two_event))
        until(lambda: second.waits(desk.conn))
        assert desk.turn(other, three, three_event)["nome"] == "Ana", "another rule's turn goes through"
        assert second.waits(desk.conn)
        assert desk.turns(rule) == []
    assert second.outcome()["nome"] == "Bia"
    assert desk.turns(rule) == [a, b]


@pytest.mark.parametrize(
    "leaving",
    ["UPDATE user_organizations SET revoked_at = now()", "UPDATE user_organizations SET role = 'viewer'"],
)
def test_whoever_leaves_before_the_pick_is_not_picked(desk: Desk, shared: TestDatabase, leaving: str) -> None:
    """H2: the change is not committed when the turn begins, and is when it picks."""
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b))
    lead, event = desk.lead()
    with desk.conn.transaction():
        desk.conn.execute(f"{leaving} WHERE user_id = %s", (a,))
        with connected(shared) as watcher:
            turn = Beside(shared, TURN, (desk.org, rule, lead, event))
            until(lambda: turn.waits(watcher))
    assert turn.outcome()["nome"] == "Bia"
    assert desk.owner_of(lead) == b


def test_whoever_leaves_between_pick_and_commit_waits_and_then_releases_the_lead(
    desk: Desk, shared: TestDatabase
) -> None:
    """H2: the revoke is behind the turn, sees its lead, and takes the owner away again."""
    (a,) = desk.members("Ana")
    rule = desk.rule(rotation(a))
    lead, event = desk.lead()
    revoke = "WITH gone AS (UPDATE user_organizations SET revoked_at = now() WHERE user_id = %s RETURNING 1)"
    with connected(shared) as taker, taker.transaction():
        taker.execute(TURN, (desk.org, rule, lead, event))
        leaving = Beside(shared, f"{revoke} SELECT count(*) FROM gone", (a,))
        until(lambda: leaving.waits(desk.conn))
    assert leaving.outcome() == 1
    assert desk.owner_of(lead) == a, "the turn was first"
    assert desk.value("SELECT fn_release_leads(%s, %s, 'test')", desk.org, a) == 1
    assert desk.owner_of(lead) is None


@pytest.mark.parametrize("change", ["pause", "remove", "switch off"])
def test_a_rule_changed_but_not_committed_is_waited_for_and_obeyed(
    desk: Desk, shared: TestDatabase, change: str
) -> None:
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b))
    lead, event = desk.lead()
    edits: dict[str, Callable[[], object]] = {
        "pause": lambda: desk.set_actions(rule, rotation(a, b, paused=(a,))),
        "remove": lambda: desk.set_actions(rule, rotation(b)),
        "switch off": lambda: desk.conn.execute(
            "UPDATE automation_rules SET is_active = false WHERE id = %s", (rule,)
        ),
    }
    with desk.conn.transaction():
        edits[change]()
        with connected(shared) as watcher:
            turn = Beside(shared, TURN, (desk.org, rule, lead, event))
            until(lambda: turn.waits(watcher))
    expected = {"pause": b, "remove": b, "switch off": None}
    turn.outcome()
    assert desk.owner_of(lead) == expected[change]


async def at_once(pool: Database, desk: Desk, rule: UUID, leads: list[tuple[UUID, UUID]]) -> list[Any]:
    async def one(lead: UUID, event: UUID) -> Any:
        async with pool.connection() as conn:
            row = await (await conn.execute(TURN, (desk.org, rule, lead, event))).fetchone()
            assert row is not None
            return row[0]

    return await asyncio.gather(*(one(*lead) for lead in leads))


async def test_the_same_event_20_times_at_once_is_one_turn(desk: Desk, pool: Database) -> None:
    """H12."""
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b))
    outcomes = await at_once(pool, desk, rule, [desk.lead()] * 20)
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert desk.turns(rule) == [a]
    assert desk.events("lead.assigned") == 1


async def test_20_leads_at_once_are_5_for_each_of_4_in_a_strict_cycle(desk: Desk, pool: Database) -> None:
    """E14, H1. No advisory lock is left behind (E10)."""
    queue = desk.members(*"ABCD")
    rule = desk.rule(rotation(*queue))
    outcomes = await at_once(pool, desk, rule, [desk.lead() for _ in range(20)])
    assert desk.turns(rule) == queue * 5
    assert Counter(outcome["nome"] for outcome in outcomes) == dict.fromkeys("ABCD", 5)
    assert desk.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0


async def test_a_held_lock_is_waited_for_within_bounds_and_the_lead_is_not_left_without_owner(
    desk: Desk, pool: Database, shared: TestDatabase
) -> None:
    """E9, E12: whatever holds the key, a frozen worker or a colliding rule, it is only a wait."""
    a, b = desk.members("Ana", "Bia")
    rule = desk.rule(rotation(a, b))
    lead, event_id = desk.lead()
    async with pool.connection() as conn:
        event = await find_event(conn, desk.org, event_id)
    assert event is not None
    with connected(shared) as holder, holder.transaction():
        holder.execute("SELECT pg_advisory_xact_lock(fn_lock_key('rule', %s))", (f"{desk.org}/{rule}",))
        started = time.monotonic()
        with pytest.raises(TryAgain):
            await run_rules(pool, event)
        assert time.monotonic() - started < 2.0
        assert desk.owner_of(lead) is None
        assert desk.value("SELECT status FROM automation_rule_runs WHERE rule_id = %s", rule) == "running"
    await run_rules(pool, event, 1)
    assert desk.owner_of(lead) == a
    assert desk.value("SELECT status FROM automation_rule_runs WHERE rule_id = %s", rule) == "done"
