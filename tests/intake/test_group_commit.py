"""Group commit: rows share a statement, a bad one stands alone, queues are bounded, a lost COMMIT is no
double (design 5, cases E7 and E8).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest

from portaria.db.pool import Connection, connection_options
from portaria.ids import uuid7
from portaria.intake.archive import Acceptance, Arrival, accept, archive
from portaria.intake.group_commit import Bounds, GroupCommit, Unavailable
from portaria.intake.providers import samples
from tests.conftest import TestDatabase
from tests.intake.conftest import OpenDesk, until
from tests.intake.reused import database
from tests.support.raw_http import deliver
from tests.support.tcp_proxy import proxied

__all__ = ["database"]

BOUNDS = Bounds(batch_rows=64, queue_rows=1000, queue_bytes=1 << 20, within=3.0)


def arrival(raw: bytes = b"{}", provider: str = "zernio") -> Arrival:
    return Arrival(uuid7(), provider, None, None, "{}", raw)


class Bench:
    """A group commit of arrivals on the tests' own database, whose batches can be held and counted."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.batches: list[int] = []
        self.open = asyncio.Event()
        self.open.set()

    async def connect(self) -> Connection:
        return await psycopg.AsyncConnection.connect(**connection_options(self.url, "group commit"))

    async def write(self, conn: Connection, rows: Sequence[Arrival]) -> Sequence[bool]:
        await self.open.wait()
        self.batches.append(len(rows))
        return await archive(conn, rows)

    @asynccontextmanager
    async def running(self, depth: int = 1, bounds: Bounds = BOUNDS) -> AsyncIterator[GroupCommit[Arrival]]:
        group = GroupCommit("archive", self.write, self.connect, depth=depth, bounds=bounds)
        group.start()
        try:
            yield group
        finally:
            await group.stop()


@pytest.fixture
def bench(database: TestDatabase) -> Bench:
    return Bench(database.app_url)


def submit(group: GroupCommit[Arrival], row: Arrival, within: float = 3.0) -> "asyncio.Task[bool]":
    return asyncio.create_task(group.submit(row, size=len(row.raw_body), within=within))


def archived(owner: psycopg.Connection) -> set[UUID]:
    return {row[0] for row in owner.execute("SELECT id FROM webhook_events_log").fetchall()}


async def gathered(tasks: "list[asyncio.Task[bool]]") -> list[bool | BaseException]:
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_while_one_batch_commits_the_next_collects(bench: Bench, owner: psycopg.Connection) -> None:
    async with bench.running() as group:
        bench.open.clear()
        first = submit(group, arrival())
        await asyncio.sleep(0)
        rest = [submit(group, arrival()) for _ in range(99)]
        await asyncio.sleep(0)
        bench.open.set()
        assert await gathered([first, *rest]) == [True] * 100
    assert sum(bench.batches) == 100
    assert len(bench.batches) <= 4
    assert max(bench.batches) == BOUNDS.batch_rows
    assert len(archived(owner)) == 100


@pytest.mark.parametrize("fault", ["a constraint", "a trigger", "no UTF-8"])
async def test_one_bad_row_does_not_fail_its_neighbours(
    bench: Bench, owner: psycopg.Connection, archive_fails: Callable[..., None], fault: str
) -> None:
    good = [arrival() for _ in range(20)]
    bad = arrival(provider="nobody") if fault == "a constraint" else arrival(b"bad")
    if fault == "a trigger":
        archive_fails("NEW.raw_body = 'bad'")
    if fault == "no UTF-8":
        bad = bad._replace(headers='{"a": "\ud800"}')
    async with bench.running() as group:
        bench.open.clear()
        tasks = [submit(group, row) for row in (*good[:10], bad, *good[10:])]
        await asyncio.sleep(0)
        bench.open.set()
        results = await gathered(tasks)
        assert isinstance(results.pop(10), Unavailable)
        assert results == [True] * 20
        assert await submit(group, arrival())
    assert {row.id for row in good} <= archived(owner)
    assert bad.id not in archived(owner)


@pytest.fixture
def archive_fails(owner: psycopg.Connection) -> Callable[..., None]:
    """Makes inserts into the archive fail where a condition on NEW holds, with a SQLSTATE."""

    def fail(when: str = "true", sqlstate: str = "P0001") -> None:
        owner.execute(
            "CREATE OR REPLACE FUNCTION fail_it() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN RAISE EXCEPTION 'no such luck' USING ERRCODE = '{sqlstate}'; END $$"
        )
        owner.execute(
            f"CREATE TRIGGER fail_it BEFORE INSERT ON webhook_events_log FOR EACH ROW WHEN ({when})"
            " EXECUTE FUNCTION fail_it()"
        )

    return fail


async def test_a_server_in_trouble_is_not_asked_row_by_row(
    bench: Bench, archive_fails: Callable[..., None]
) -> None:
    archive_fails(sqlstate="53100")
    async with bench.running() as group:
        bench.open.clear()
        tasks = [submit(group, arrival()) for _ in range(30)]
        await asyncio.sleep(0)
        bench.open.set()
        assert all(isinstance(result, Unavailable) for result in await gathered(tasks))
    assert len(bench.batches) <= 2


async def test_the_queue_is_bounded_in_rows_and_bytes(bench: Bench) -> None:
    async with bench.running(bounds=replace(BOUNDS, queue_rows=5, queue_bytes=1000)) as group:
        bench.open.clear()
        held = [submit(group, arrival())]
        await until(lambda: bool(group._running))
        held += [submit(group, arrival()) for _ in range(5)]
        await asyncio.sleep(0)
        started = time.monotonic()
        with pytest.raises(Unavailable):
            await group.submit(arrival(), size=2, within=3.0)
        assert time.monotonic() - started < 0.5
        bench.open.set()
        assert await gathered(held) == [True] * 6
        with pytest.raises(Unavailable):
            await group.submit(arrival(), size=1001, within=3.0)
        assert await group.submit(arrival(), size=1000, within=3.0)


async def test_nobody_waits_longer_than_it_may(bench: Bench, owner: psycopg.Connection) -> None:
    async with bench.running() as group:
        bench.open.clear()
        started = time.monotonic()
        first = submit(group, arrival(), within=0.3)
        with pytest.raises(Unavailable, match="not written in time"):
            await first
        assert 0.25 < time.monotonic() - started < 1.0
        asked = time.monotonic()
        with pytest.raises(Unavailable, match="too long"):
            await group.submit(arrival(), size=2, within=0.3)
        assert time.monotonic() - asked < 0.1, "an expected wait beyond what is allowed is told at once"
        bench.open.set()
        await until(lambda: not group._running)
        assert await group.submit(arrival(), size=2, within=3.0)


async def test_a_loop_outlives_what_can_not_even_be_told(bench: Bench) -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise OSError("no space left for the log")

    write = bench.write

    async def fails(conn: Connection, rows: Sequence[Arrival]) -> Sequence[bool]:
        raise Unspeakable

    async with bench.running() as group:
        group._write = fails
        with pytest.raises(Unavailable):
            await group.submit(arrival(), size=2, within=3.0)
        group._write = write
        assert await group.submit(arrival(), size=2, within=3.0)


async def test_after_a_batch_that_never_came_back_the_next_is_written(
    database: TestDatabase, owner: psycopg.Connection
) -> None:
    """The server falls silent: who waits is told, and a fresh connection serves once it speaks again."""
    async with proxied(database.app_url) as proxy:
        bench = Bench(proxy.url)
        async with bench.running(bounds=replace(BOUNDS, within=0.4)) as group:
            assert await group.submit(arrival(), size=2, within=3.0)
            proxy.hold()
            with pytest.raises(Unavailable):
                await group.submit(arrival(), size=2, within=1.0)
            proxy.hold(False)
            assert await group.submit(arrival(), size=2, within=3.0)


@pytest.mark.parametrize("also", ["the archive", "the mark"])
async def test_a_commit_whose_answer_was_lost_is_met_by_its_own_retry(
    database: TestDatabase, owner: psycopg.Connection, also: str
) -> None:
    async with proxied(database.app_url) as proxy:
        bench = Bench(proxy.url)
        row = arrival(b'{"only": "once"}')
        mark = Acceptance(row.id, uuid7(), uuid7())
        marks: GroupCommit[Acceptance] = GroupCommit("accept", accept, bench.connect, depth=1, bounds=BOUNDS)
        async with bench.running() as group:
            marks.start()
            assert await group.submit(arrival(), size=2, within=3.0)
            if also == "the archive":
                proxy.cut_after(b"only")
                assert await group.submit(row, size=2, within=3.0)
            else:
                assert await group.submit(row, size=2, within=3.0)
                assert await marks.submit(mark._replace(id=uuid7()), size=0, within=3.0) is False
                proxy.cut_after(b"UPDATE")
                assert await marks.submit(mark, size=0, within=3.0) is True
            assert proxy.cut_done.is_set()
            await marks.stop()
    assert len(archived(owner)) == 2
    found = owner.execute(
        "SELECT valid_signature, organization_id FROM webhook_events_log WHERE id = %s", (row.id,)
    ).fetchall()
    assert found == ([(None, None)] if also == "the archive" else [(True, mark.organization_id)])


async def test_a_delivery_whose_commit_was_lost_is_one_row_and_one_message(
    database: TestDatabase, desk_at: "Callable[[str], Any]"
) -> None:
    """Case E7, through the route: the client never notices."""
    async with proxied(database.app_url) as proxy, desk_at(proxy.url) as desk:
        assert (await desk.post(desk.message())).json()["status"] == "accepted"
        body = desk.message(text="uma vez")
        for marker in (b"INSERT INTO webhook_events_log", b"UPDATE webhook_events_log"):
            proxy.cut_after(marker)
            assert (await desk.post(body)).json()["status"] == "accepted"
            assert proxy.cut_done.is_set()
        await desk.settled()
        assert desk.count("webhook_events_log") == 3
        assert desk.count("messages", "body = 'uma vez'") == 1
        assert desk.one("SELECT unread_count FROM conversations") == 2


@pytest.fixture
def desk_at(open_desk: OpenDesk) -> Callable[[str], Any]:
    return lambda url: open_desk(database_url=url, commit_depth=1)


async def test_a_mark_is_true_only_where_the_row_was_still_to_be_decided(
    bench: Bench, owner: psycopg.Connection
) -> None:
    conn = await bench.connect()
    rows = [arrival() for _ in range(3)]
    await archive(conn, rows)
    owner.execute(
        "UPDATE webhook_events_log SET status = 'error', processed_at = now() WHERE id = %s", (rows[1].id,)
    )
    marks = [Acceptance(row.id, uuid7(), uuid7()) for row in (*rows, arrival())]
    assert await accept(conn, marks) == [True, False, True, False]
    await conn.close()


async def test_accept_updates_stay_on_their_page(open_desk: OpenDesk) -> None:
    """HOT on the token's route (design 4), counted by the server."""
    query = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'webhook_events_log'"
    async with open_desk() as desk:
        desk.owner.execute("SELECT pg_stat_reset()")
        with desk.held("messages"):
            requests = [desk.request(samples.encode(desk.message(text="x" * 500))) for _ in range(240)]
            assert {a.status for a in await deliver(desk.url, requests)} == {200}
            await desk.intake.accept.stop()  # whose connections report their counts at their end
            await until(lambda: desk.rows(query)[0][0] >= 240)
            ((updated, hot),) = desk.rows(query)
        assert updated == 240
        assert hot >= 235
