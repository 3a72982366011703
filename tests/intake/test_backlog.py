"""Back-pressure: 503 rather than a promise that the window would break (spec 2.5)."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from portaria.ids import uuid7
from portaria.intake.providers import samples
from tests.intake.conftest import Desk, OpenDesk, until
from tests.intake.reused import database

__all__ = ["database"]

BOUND = 3


def rows(desk: Desk, times: int, *, age: str = "1 minute", **columns: Any) -> list[UUID]:
    """Accepted rows as another process left them, waiting for their first attempt unless told otherwise."""
    made = [uuid7() for _ in range(times)]
    given = {
        "organization_id": desk.channel.organization_id, "channel_session_id": desk.channel.id,
        "provider": "zernio", "raw_body": b"{}", "valid_signature": True, **columns,
    }  # fmt: skip
    names, marks = ", ".join(given), ", ".join(f"%({name})s" for name in given)
    for row in made:
        desk.owner.execute(
            f"INSERT INTO webhook_events_log (id, received_at, {names})"
            f" VALUES (%(id)s, clock_timestamp() - %(age)s::interval, {marks})",
            {"id": row, "age": age, **given},
        )
    return made


async def refuses(desk: Desk) -> bool:
    """Whether new messages are refused, on both routes, as the next look at the backlog finds it."""
    await desk.intake.backlog.look()
    found = set()
    for post in (desk.post, desk.post_to_installation):
        answer = await post(desk.message())
        found.add(answer.status_code)
        if answer.status_code == 503:
            assert int(answer.headers["retry-after"]) > 0
            row = desk.newest_row()
            assert (row["status"], row["valid_signature"], row["attempts"]) == ("received", None, 0)
    await until(lambda: not desk.intake.first_attempts.waiting)
    assert len(found) == 1
    return found == {503}


async def serves_the_rest(desk: Desk) -> None:
    """Events that are processed before their answer, tests, and a social message."""
    now, account = datetime.now(UTC), desk.channel.account_id
    read = samples.outcome("read", account, "w1", "+5511987650001", now)
    assert (await desk.post(read)).json()["status"] == "processed"
    assert (await desk.post({"event": "webhook.test", "id": "t"})).json()["reason"] == "webhook_de_teste"
    assert (await desk.post(b"no json")).status_code == 400


@pytest.fixture
async def desk(open_desk: OpenDesk) -> Any:
    async with open_desk(backlog_rows=BOUND, backlog_age=3600.0) as opened:
        yield opened


async def test_more_rows_than_the_bound_close_the_door_for_new_messages_alone(desk: Desk) -> None:
    rows(desk, BOUND)
    assert not await refuses(desk)
    (last,) = rows(desk, 1)
    assert await refuses(desk)
    await serves_the_rest(desk)
    desk.owner.execute("DELETE FROM webhook_events_log WHERE id = %s", (last,))
    assert not await refuses(desk)


async def test_one_row_older_than_an_hour_closes_it_too(desk: Desk) -> None:
    rows(desk, 1, age="59 minutes 50 seconds")
    assert not await refuses(desk)
    (old,) = rows(desk, 1, age="1 hour 1 second")
    assert await refuses(desk)
    await serves_the_rest(desk)
    desk.owner.execute("UPDATE webhook_events_log SET attempts = 1 WHERE id = %s", (old,))
    assert not await refuses(desk)


async def test_rows_that_were_tried_and_failed_never_count(desk: Desk) -> None:
    rows(desk, 5, age="5 hours", attempts=1, error_message="failed")
    rows(desk, 5, age="5 hours", attempts=0, error_message="the database was away")
    rows(desk, 5, age="5 hours", attempts=7)
    assert not await refuses(desk)


async def test_rows_that_nobody_accepted_or_that_are_done_never_count(desk: Desk) -> None:
    rows(desk, 5, age="5 hours", valid_signature=None)
    rows(desk, 5, age="5 hours", status="processed", processed_at=datetime.now(UTC))
    assert not await refuses(desk)


async def test_a_backlog_that_cannot_be_looked_at_leaves_the_door_as_it_was(desk: Desk) -> None:
    rows(desk, BOUND + 1)
    assert await refuses(desk)
    with desk.held("webhook_events_log"), pytest.raises(TimeoutError):
        await desk.intake.backlog.look()
    assert desk.intake.backlog.full
