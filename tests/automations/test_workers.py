"""Promises end to end: real worker processes, real kills, a push service that counts.

`PORTARIA_LONG=1` makes them ten times as long.
"""

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from uuid import UUID

import psycopg
import pytest

from portaria.db.pool import Database
from portaria.push import Reach, subscribe
from tests.conftest import TestDatabase
from tests.support.event_worker import start, workers
from tests.support.factory import Factory
from tests.support.push_service import PushService, push_service
from tests.support.rotation import Desk, rotation

LONG = 10 if os.environ.get("PORTARIA_LONG") else 1

# Some seconds each on an idle machine; a busy one may take its time.
pytestmark = pytest.mark.timeout(300 * LONG)


async def settled(condition: Callable[[], object], *, within: float) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        await asyncio.sleep(0.05)


async def told(db: Database, desk: Desk, service: PushService, members: list[UUID]) -> None:
    """Every member has a browser."""
    async with db.transaction() as conn:
        for number, member in enumerate(members):
            draft = service.device(str(number)).draft
            await subscribe(conn, desk.org, member, draft, reach=Reach(anything=True))


async def arrive(db: Database, desk: Desk, count: int, connections: int, pause: float = 0.0) -> None:
    """`count` leads from so many connections at once, each its own transaction."""
    contact = desk.contact()

    async def one(share: int) -> None:
        async with db.connection() as conn:
            for _ in range(share):
                await conn.execute(
                    "INSERT INTO crm_leads (organization_id, id, contact_id, title, source)"
                    " VALUES (%s, gen_random_uuid(), %s, 'Pedido', 'form')",
                    (desk.org, contact),
                )
                await asyncio.sleep(pause)

    shares = [count // connections + (n < count % connections) for n in range(connections)]
    await asyncio.gather(*(one(share) for share in shares))


def idle(desk: Desk) -> bool:
    return bool(desk.value("SELECT count(*) = 0 FROM procrastinate_jobs"))


def deadlocks(desk: Desk) -> int:
    desk.conn.execute("SELECT pg_stat_force_next_flush()")
    return int(desk.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))


async def test_1000_leads_from_16_connections_over_two_workers(
    db: Database, database: TestDatabase, owner: psycopg.Connection, make: Factory
) -> None:
    """250 each, a strict cycle, one `lead.assigned` and one push each, no deadlock."""
    desk = Desk.open(owner, make)
    queue = desk.members(*"ABCD")
    rule = desk.rule(rotation(*queue))
    count = 1000 * LONG
    async with push_service() as service:
        await told(db, desk, service, queue)
        with workers(database.app_url, 2):
            await arrive(db, desk, count, connections=16)
            await settled(lambda: idle(desk), within=200 * LONG)
    assert desk.turns(rule) == queue * (count // 4)
    owners = owner.execute("SELECT owner_user_id, count(*) FROM crm_leads GROUP BY 1").fetchall()
    assert dict(owners) == dict.fromkeys(queue, count // 4)
    assert desk.events("lead.assigned") == count
    assert len(service.topics) == count
    assert set(service.topics.values()) == {1}
    assert Counter(got.path for got in service.got) == {f"/{n}": count // 4 for n in range(4)}
    assert deadlocks(desk) == 0
    assert desk.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0


async def test_workers_killed_at_random_lose_no_turn_and_double_none(
    db: Database, database: TestDatabase, owner: psycopg.Connection, make: Factory
) -> None:
    desk = Desk.open(owner, make)
    queue = desk.members(*"ABC")
    rule = desk.rule({"type": "add_tag", "config": {"tag": "x"}}, rotation(*queue))
    count, dice = 200 * LONG, random.Random(7)
    with workers(database.app_url, 2) as running:
        arriving = asyncio.create_task(arrive(db, desk, count, connections=8, pause=0.05))
        for _ in range(5 * LONG):
            await asyncio.sleep(0.5 + dice.random() * 0.5)
            victim = running.pop(dice.randrange(len(running)))
            victim.kill()
            victim.wait()
            running.append(start(database.app_url))
        await arriving
        await settled(lambda: idle(desk), within=100 * LONG)
    turns = desk.turns(rule)
    assert len(turns) == count
    assert turns == (queue * count)[:count], "a strict cycle, so max - min <= 1"
    assert desk.events("lead.assigned") == count
    assert desk.value("SELECT count(*) FROM crm_leads WHERE owner_user_id IS NULL OR tags <> '{x}'") == 0
    statuses = owner.execute("SELECT status, count(*) FROM automation_rule_runs GROUP BY 1").fetchall()
    assert statuses == [("done", count)]
    assert deadlocks(desk) == 0


async def test_the_queue_changes_while_leads_arrive_and_nobody_ineligible_gets_one(
    db: Database, database: TestDatabase, owner: psycopg.Connection, make: Factory
) -> None:
    """Pause, revoke, demote, remove, reorder, add. Each change waits for the turns before it and is seen by
    every turn after it, so the newest turn at its commit divides the history."""
    desk = Desk.open(owner, make)
    a, b, c, d, e = desk.members(*"ABCDE")
    rule = desk.rule(rotation(a, b, c, d))
    membership = "UPDATE user_organizations SET {} WHERE user_id = %s"
    steps: list[tuple[Callable[[], object], set[UUID]]] = [
        (lambda: desk.set_actions(rule, rotation(a, b, c, d, paused=(b,))), {a, c, d}),
        (lambda: owner.execute(membership.format("revoked_at = now()"), (c,)), {a, d}),
        (lambda: owner.execute(membership.format("role = 'viewer'"), (d,)), {a}),
        (lambda: desk.set_actions(rule, rotation(e, b, a)), {a, b, e}),
        (lambda: desk.set_actions(rule, rotation(b, e)), {b, e}),
    ]
    allowed: list[tuple[int, set[UUID]]] = [(0, {a, b, c, d})]
    with workers(database.app_url, 2):
        arriving = asyncio.create_task(arrive(db, desk, 250, connections=8, pause=0.08))
        for change, eligible in steps:
            seen = len(desk.turns(rule))
            await settled(lambda seen=seen: len(desk.turns(rule)) > seen + 10, within=20)  # type: ignore[misc]
            with owner.transaction():
                # The rule's lock: every turn before has committed, none is under way.
                key = f"{desk.org}/{rule}"
                owner.execute("SELECT pg_advisory_xact_lock(fn_lock_key('rule', %s))", (key,))
                change()
                allowed.append((len(desk.turns(rule)), eligible))
        await arriving
        await settled(lambda: idle(desk), within=100)
    turns = desk.turns(rule)
    assert len(turns) == 250
    bounds = [start for start, _ in allowed[1:]] + [len(turns)]
    for (first, eligible), last in zip(allowed, bounds, strict=True):
        part = turns[first:last]
        assert set(part) == eligible
        assert max(Counter(part).values()) - min(Counter(part).values()) <= 1


async def test_a_frozen_worker_that_holds_one_rules_lock_delays_no_other_rule(
    db: Database, database: TestDatabase, owner: psycopg.Connection, make: Factory
) -> None:
    """E9: its own leads come within a bounded time: the server ends the frozen transaction, after 10 s
    with our connections' guard, here after 6."""
    desk = Desk.open(owner, make)
    a, b = desk.members("Ana", "Bia")
    source = [{"field": "lead.title", "op": "contains", "value": "stuck"}]
    stuck = desk.rule(rotation(a), conditions=source)
    free = desk.rule(rotation(b), conditions=[{**source[0], "value": "free"}])
    with workers(database.app_url, 2):
        await settled(lambda: desk.value("SELECT count(*) >= 4 FROM procrastinate_workers"), within=20)
        frozen = os.fork()
        if frozen == 0:
            try:
                _hold_for_ever(database.app_url, f"{desk.org}/{stuck}")
            finally:
                os._exit(1)
        try:
            held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            await settled(lambda: desk.value(held), within=10)
            os.kill(frozen, signal.SIGSTOP)
            for number in range(20):
                desk.lead(title="stuck" if number % 2 == 0 else "free")
            await settled(lambda: len(desk.turns(free)) == 10, within=5.5)
            assert desk.turns(stuck) == [], "the lock is really held"
            await settled(lambda: len(desk.turns(stuck)) == 10, within=100)
        finally:
            os.kill(frozen, signal.SIGKILL)
            await asyncio.to_thread(os.waitpid, frozen, 0)
    assert desk.value("SELECT count(*) FROM crm_leads WHERE owner_user_id IS NULL") == 0


def _hold_for_ever(url: str, rule: str) -> None:
    from portaria.db.pool import connection_options

    options = connection_options(url, "frozen")
    assert "idle_in_transaction_session_timeout=10s" in str(options["options"])
    options["options"] = "-c idle_in_transaction_session_timeout=6s"
    conn = psycopg.connect(str(options.pop("conninfo")), **options)  # type: ignore[arg-type]
    with conn.transaction():
        conn.execute("SELECT pg_advisory_xact_lock(fn_lock_key('rule', %s))", (rule,))
        while True:
            time.sleep(60)
