"""The database locked, full, silent, killed: 503 in time, and back without a restart (spec 2.2, case E8)."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import httpx
import psutil
import psycopg
import pytest

from portaria.db.embedded import EmbeddedServer
from portaria.db.migrate import migrate
from portaria.intake.providers import samples
from tests.conftest import APP_PASSWORD, TestDatabase, app_url
from tests.intake.backroom import empty
from tests.intake.conftest import Desk, OpenDesk, intake_alone, until
from tests.support.http import make_settings, serving
from tests.support.postgres import start_test_server

WITHIN = 2.0
"""Seconds to answer within, in place of 4; a busy machine must be able to do in them what it should."""
SLACK = 1.5


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A server that may be frozen and killed: nobody else's."""
    server = start_test_server(tmp_path_factory.mktemp("outage"))
    migrate(server.url("postgres"), app_password=APP_PASSWORD)
    yield server
    server.stop()


@pytest.fixture
def database(own_server: EmbeddedServer) -> TestDatabase:
    url = own_server.url("postgres")
    with psycopg.connect(url, autocommit=True) as owner:
        empty(owner)
    return TestDatabase("postgres", url, app_url(url))


@pytest.fixture
async def desk(open_desk: OpenDesk) -> AsyncIterator[Desk]:
    async with open_desk(answer_within=WITHIN, session_cache_ttl=0.0) as opened:
        yield opened


def outcome(desk: Desk) -> dict[str, object]:
    return samples.outcome("read", desk.channel.account_id, "w1", "+5511987650001", datetime.now(UTC))


async def told_to_come_again(desk: Desk) -> None:
    """On both routes, a new message and another event: 503 in time."""
    started = time.monotonic()
    bodies = (desk.message(), outcome(desk))
    posts = [post(body) for post in (desk.post, desk.post_to_installation) for body in bodies]
    for answer in await asyncio.gather(*posts):
        assert answer.status_code == 503, answer.text
        assert int(answer.headers["retry-after"]) > 0
        assert answer.json()["code"] == "unavailable"
    assert time.monotonic() - started < WITHIN + SLACK


async def back_again(desk: Desk, within: float = 15.0) -> None:
    """Both routes accept, in the same process."""
    ends = time.monotonic() + within
    for post in (desk.post, desk.post_to_installation):
        while (answer := await post(desk.message())).status_code == 503:
            assert time.monotonic() < ends, answer.text
            await asyncio.sleep(0.05)
        assert answer.json()["status"] == "accepted"


@contextmanager
def frozen(server: EmbeddedServer) -> Iterator[None]:
    """Every process of the server stopped, its sockets open."""
    assert server.pid is not None
    family = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
    for process in family:
        os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in family:
            os.kill(process.pid, signal.SIGCONT)


async def test_a_silent_database(desk: Desk, own_server: EmbeddedServer) -> None:
    assert (await desk.post(desk.message())).status_code == 200
    await desk.settled()
    with frozen(own_server):
        await told_to_come_again(desk)
        await asyncio.gather(*(told_to_come_again(desk) for _ in range(8)))
    await back_again(desk)


async def test_a_killed_database(desk: Desk, own_server: EmbeddedServer) -> None:
    assert (await desk.post(desk.message())).status_code == 200
    await desk.settled()
    own_server.kill()
    await told_to_come_again(desk)
    own_server.start()
    await back_again(desk)
    with psycopg.connect(desk.database.owner_url, autocommit=True) as desk.owner:
        await desk.settled()
        assert desk.count("messages") == 3
        assert desk.count("webhook_events_log", "status = 'processed'") == 3


async def test_a_database_that_is_not_there_yet(desk: Desk, own_server: EmbeddedServer) -> None:
    """A web process starts without it, refuses, and serves as soon as there is something to promise on."""
    own_server.kill()
    _intake, app = intake_alone(make_settings(desk.database.app_url, answer_within=WITHIN))
    async with serving(app) as url, httpx.AsyncClient(base_url=url, verify=False) as desk.client:
        await told_to_come_again(desk)
        own_server.start()
        await back_again(desk)


@pytest.mark.parametrize("sqlstate", ["53100", "25006", "57P03"])
async def test_an_archive_that_cannot_be_written(desk: Desk, sqlstate: str) -> None:
    desk.failing("webhook_events_log", "INSERT", sqlstate)
    await told_to_come_again(desk)
    assert desk.count("webhook_events_log") == 0
    desk.mended("webhook_events_log")
    await back_again(desk)


async def test_a_mark_that_cannot_be_written_leaves_the_row_unmarked(desk: Desk) -> None:
    """And a refusal that cannot be recorded is not given; an event whose write fails is 500."""
    desk.failing("webhook_events_log", "UPDATE", "53100")
    for post in (desk.post, desk.post_to_installation):
        assert (await post(desk.message())).status_code == 503
        assert (await post(desk.message(), secret="de-outro-0123456789")).status_code == 503
        assert (await post(outcome(desk))).status_code == 500
    assert desk.rows("SELECT DISTINCT status, valid_signature, attempts FROM webhook_events_log") == [
        ("received", None, 0)
    ]
    desk.mended("webhook_events_log")
    await back_again(desk)


async def test_a_mark_that_meets_no_row_is_no_promise(desk: Desk) -> None:
    """Somebody closed the row between its archive and its mark: 503, and nothing of it comes in."""
    desk.owner.execute(
        "CREATE FUNCTION close_at_once() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN NEW.status := 'error'; NEW.processed_at := now(); RETURN NEW; END $$"
    )
    desk.owner.execute(
        "CREATE TRIGGER close_at_once BEFORE INSERT ON webhook_events_log FOR EACH ROW"
        " EXECUTE FUNCTION close_at_once()"
    )
    try:
        for post in (desk.post, desk.post_to_installation):
            assert (await post(desk.message())).status_code == 503
    finally:
        desk.owner.execute("DROP TRIGGER close_at_once ON webhook_events_log")
        desk.owner.execute("DROP FUNCTION close_at_once")
    await back_again(desk)
    assert desk.rows("SELECT DISTINCT valid_signature FROM webhook_events_log WHERE status = 'error'") == [
        (None,)
    ]


async def test_a_locked_archive(desk: Desk) -> None:
    with desk.held("webhook_events_log"):
        await told_to_come_again(desk)
        at_once = time.monotonic()
        assert {r.status_code for r in await posts(desk, 20)} == {503}
        assert time.monotonic() - at_once < WITHIN + SLACK
    await back_again(desk)


async def posts(desk: Desk, times: int) -> list[httpx.Response]:
    return await asyncio.gather(*(desk.post(desk.message()) for _ in range(times)))


async def test_the_shipped_limit_leaves_time_to_answer_within_four_seconds(open_desk: OpenDesk) -> None:
    assert make_settings("postgresql://unused/x").answer_within == 4.0
    async with open_desk() as desk:
        assert desk.intake.limits.answer_within < 4.0


async def test_events_that_wait_for_the_crm_fail_in_time_and_hold_up_no_message(desk: Desk) -> None:
    """More of them than there are connections to process them on."""
    desk.seed_message("w1", "outbound")
    with desk.held("messages"):
        waiting = [asyncio.create_task(desk.post(outcome(desk))) for _ in range(20)]
        await until(lambda: desk.count("pg_stat_activity", "wait_event_type = 'Lock'") >= 8)
        started = time.monotonic()
        assert (await desk.post(desk.message())).json()["status"] == "accepted"
        assert time.monotonic() - started < WITHIN
        answers = await asyncio.gather(*waiting)
        assert {a.status_code for a in answers} == {500}
        assert {a.json()["code"] for a in answers} == {"not_processed"}
    await desk.settled()
    await until(lambda: desk.count("pg_stat_activity", "wait_event_type = 'Lock'") == 0)
    assert desk.count("webhook_events_log", "status = 'error' AND error_message LIKE 'timeout%%'") == 20
    assert (await desk.post(outcome(desk))).json()["status"] == "processed"
    assert desk.one("SELECT status FROM messages WHERE external_id = 'w1'") == "read"


async def test_a_message_that_could_not_be_looked_at_is_not_decided(desk: Desk) -> None:
    """The installation's route cannot ask whose it is: archived, undecided, 503."""
    with desk.held("channel_sessions"):
        answer = await desk.post_to_installation(desk.message())
        assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
    assert desk.rows("SELECT status, valid_signature FROM webhook_events_log") == [("received", None)]
    await back_again(desk)
