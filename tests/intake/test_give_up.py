"""The ceiling of twenty attempts (spec 2.4): who dies of it, how, and what is told."""

import pytest

from portaria.intake.accepted import CEILING, TryOutcome
from portaria.intake.providers import samples
from portaria.intake.replay import Pace
from tests.intake.backroom import WHOLE, Backroom
from tests.intake.test_replay_window import LOST, UNATTENDED


async def test_twenty_attempts_and_no_more(room: Backroom) -> None:
    """The first attempt is the first of them; the failure of the twentieth ends the row."""
    room.fail("messages")
    row = await room.take_in(room.message())
    room.age(row, "6 minutes")
    for attempts in range(2, CEILING):
        await room.replay()
        assert room.standing(row)[:2] == ("received", attempts)
    assert room.notices() == {}
    tries = room.tries()
    done = await room.replay()
    assert room.tries() == tries + 1
    assert done.outcomes == {(room.organization_id, TryOutcome.DEAD): 1}
    status, attempts, error = room.standing(row)
    assert (status, attempts) == ("dead", CEILING)
    assert error is not None
    assert "made to fail" in error
    assert not any(room.facts().values())
    assert room.notices() == {LOST: ("open", 1)}
    assert room.audited("webhook.replay_run") == [{"gave_up": 1}]
    await room.replay()
    assert room.tries() == tries + 1
    assert room.notices() == {LOST: ("open", 1)}


async def test_the_twentieth_attempt_may_succeed(room: Backroom) -> None:
    row = room.archived(room.message(), age="1 hour", attempts=CEILING - 1, tried="1 minute")
    await room.replay()
    assert room.standing(row) == ("processed", CEILING, None)
    assert room.facts() == WHOLE
    assert room.notices() == {}


@pytest.mark.parametrize("attempts", [CEILING, CEILING + 3])
async def test_a_row_found_at_the_ceiling_dies_without_being_ingested(room: Backroom, attempts: int) -> None:
    """Its process died in its last attempt."""
    row = room.archived(room.message(), age="1 hour", attempts=attempts, tried="1 minute")
    await room.replay()
    assert room.standing(row)[:2] == ("dead", attempts)
    assert not any(room.facts().values())
    assert room.notices() == {LOST: ("open", 1)}


async def test_an_infrastructure_failure_at_the_ceiling_kills_nobody(room: Backroom) -> None:
    row = room.archived(room.message(), age="1 hour", attempts=CEILING - 1, tried="1 minute")
    room.fail("messages", "53200")
    for _ in range(3):
        await room.replay()
        assert room.standing(row)[:2] == ("received", CEILING - 1)
    room.work("messages")
    await room.replay()
    assert room.standing(row) == ("processed", CEILING, None)


@pytest.mark.parametrize("attempts", [CEILING - 1, CEILING])
async def test_a_message_that_is_in_with_its_dispatch_is_closed_and_nobody_told(
    room: Backroom, attempts: int
) -> None:
    raw = samples.encode(room.message())
    await room.take_in(raw)
    row = room.archived(raw, age="1 hour", attempts=attempts, tried="1 minute")
    await room.replay()
    assert room.standing(row) == ("processed", CEILING, None)
    assert room.facts() == WHOLE
    assert room.notices() == {}


@pytest.mark.parametrize("text", ["Olá", "Parar"])
async def test_a_message_that_is_in_without_its_dispatch_gets_its_other_effects_and_dies(
    room: Backroom, text: str
) -> None:
    room.fail("event_log", when="NEW.event_type = 'ai_agent.dispatch_requested'")
    row = room.archived(room.message(text), age="1 hour", attempts=CEILING - 1, tried="1 minute")
    await room.replay()
    assert room.standing(row)[:2] == ("dead", CEILING)
    assert room.facts() == WHOLE | {"dispatch": 0, "crm_leads": int(text == "Olá")}
    assert room.one("SELECT is_blocked FROM contacts") is (text == "Parar")
    assert room.notices() == {UNATTENDED: ("open", 1)}
    assert room.audited("webhook.replay_run") == [{"gave_up": 1}]


async def test_effects_that_fail_again_at_the_ceiling_are_named_and_the_row_dies(room: Backroom) -> None:
    room.fail("event_log")
    row = room.archived(room.message(), age="1 hour", attempts=CEILING - 1, tried="1 minute")
    await room.replay()
    assert room.standing(row)[:2] == ("dead", CEILING)
    assert room.facts() == WHOLE | {"crm_leads": 0, "received": 0, "dispatch": 0}
    assert room.notices() == {UNATTENDED: ("open", 1)}
    assert "oportunidade e eventos" in room.one("SELECT body FROM notices")


async def test_an_opt_out_that_never_came_in_still_blocks_at_the_ceiling(room: Backroom) -> None:
    room.fail("messages")
    row = room.archived(room.message("Parar"), age="1 hour", attempts=CEILING - 1, tried="1 minute")
    await room.replay()
    assert room.standing(row)[:2] == ("dead", CEILING)
    assert room.facts() == dict.fromkeys(WHOLE, 0) | {"contacts": 1}
    assert room.one("SELECT is_blocked FROM contacts") is True


@pytest.mark.parametrize("attempts", [CEILING - 1, CEILING])
async def test_an_opt_out_that_cannot_be_written_keeps_the_row_beyond_the_ceiling(
    room: Backroom, attempts: int
) -> None:
    """And past the window; when it can be written at last, the row ends."""
    row = room.archived(room.message("Parar"), age="1 hour", attempts=attempts, tried="1 minute")
    room.fail("contact_opt_outs")
    for age in ("1 hour", "2 hours", "7 hours"):
        room.age(row, age)
        done = await room.replay()
        assert done.summary["failed"] == 1
        status, now, error = room.standing(row)
        assert (status, now) == ("received", CEILING)
        assert error is not None
        assert "made to fail" in error
    assert (room.notices(), room.audited("webhook.replay_run")) == ({}, [])
    room.work("contact_opt_outs")
    await room.replay()
    assert room.standing(row)[0] == ("processed" if attempts < CEILING else "dead")
    assert room.one("SELECT is_blocked FROM contacts") is True


async def test_the_twentieth_attempt_stays_spent_when_the_database_fails_at_the_opt_out(
    room: Backroom,
) -> None:
    room.fail("messages")
    room.fail("contact_opt_outs", "53100")
    row = room.archived(room.message("Parar"), age="1 hour", attempts=CEILING - 1, tried="1 minute")
    for _ in range(2):
        await room.replay()
        status, attempts, error = room.standing(row)
        assert (status, attempts) == ("received", CEILING)
        assert error is not None
        assert "53100" in error
    room.work("contact_opt_outs")
    await room.replay()
    assert room.standing(row)[:2] == ("dead", CEILING)
    assert room.one("SELECT is_blocked FROM contacts") is True


async def test_an_opt_out_that_hangs_keeps_the_row_and_costs_the_round_no_more_than_its_time(
    room: Backroom,
) -> None:
    row = room.archived(room.message("Parar"), age="7 hours")
    with room.holding("LOCK TABLE contact_opt_outs"):
        await room.replay(Pace(row_seconds=0.3))
    assert room.standing(row)[0] == "received"
    await room.replay()
    assert room.standing(row)[0] == "dead"
