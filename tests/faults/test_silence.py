"""Connections on which nothing is heard any more: nobody closed them (a frozen server, a hung proxy)."""

from collections.abc import AsyncIterator

import pytest

from portaria.db import pool
from portaria.intake import sessions
from portaria.push import hub
from tests.conftest import TestDatabase
from tests.faults.conftest import OURS, FrontDesk, OpenFrontDesk
from tests.support.tcp_proxy import TcpProxy, proxied
from tests.support.waiting import until

PATIENCE = 2.0
"""Seconds, in place of the time that a statement may take and ten more."""


@pytest.fixture
async def proxy(database: TestDatabase) -> AsyncIterator[TcpProxy]:
    async with proxied(database.app_url) as made:
        yield made


@pytest.fixture
async def desk(
    open_front_desk: OpenFrontDesk, database: TestDatabase, proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FrontDesk]:
    monkeypatch.setattr(pool, "patience", lambda statement_timeout: PATIENCE)
    monkeypatch.setattr(sessions, "_QUIET", 0.5)
    monkeypatch.setattr(hub, "BEAT", 0.5)
    async with open_front_desk(database.owner_url, proxy.url, session_cache_ttl=0.5) as made:
        yield made


def silence(desk: FrontDesk, proxy: TcpProxy, name: str = "%") -> set[int]:
    """Silences the connections of this name; returns their server processes."""
    query = f"SELECT pid {OURS} AND application_name LIKE %s"
    pids = {pid for (pid,) in desk.owner.execute(query, (name,))}
    for line in proxy.lines:
        if line.backend in pids:
            line.silence()
    return pids


async def test_every_connection_goes_silent_and_everything_comes_in_all_the_same(
    desk: FrontDesk, proxy: TcpProxy
) -> None:
    await desk.send(15)
    assert len(silence(desk, proxy)) >= 10
    tally = await desk.send(30)
    assert len(tally.answered) >= 20
    await desk.rest()
    assert desk.look() == {}


async def test_a_listening_connection_goes_silent_and_changes_are_seen_all_the_same(
    desk: FrontDesk, proxy: TcpProxy
) -> None:
    """At first within the cache's time to live, then at once: somebody listens again; so do the pages."""
    await desk.send(5)
    silent = silence(desk, proxy, "portaria sessions") | silence(desk, proxy, "portaria live")
    assert len(silent) == 2
    desk.owner.execute("UPDATE channel_sessions SET archived_at = now()")
    sending, tally = desk.begin(40)
    await until(lambda: any("canal_arquivado" in answer for answer in tally.answers))
    desk.owner.execute("UPDATE channel_sessions SET archived_at = NULL")
    await sending
    for name in ("portaria sessions", "portaria live"):
        query = f"SELECT pid {OURS} AND application_name = '{name}'"
        await until(lambda: any(pid not in silent for (pid,) in desk.rows(query)))  # noqa: B023


async def test_the_workers_pulse_goes_silent_and_beats_again(desk: FrontDesk, proxy: TcpProxy) -> None:
    """Else other workers would take its jobs for ever, and it would not rescue theirs."""
    await desk.send(5)
    await until(lambda: desk.rows("SELECT 1 FROM procrastinate_workers"))
    silence(desk, proxy, "portaria pulse")
    desk.owner.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
    fresh = "SELECT 1 FROM procrastinate_workers WHERE last_heartbeat > now() - interval '1 minute'"
    await until(lambda: len(desk.rows(fresh)) >= 3)
    await desk.send(10)
    await desk.rest()
    assert desk.look() == {}
