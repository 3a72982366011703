"""Replay by hand of an accepted row (spec 2.5): in its own claim, outside the window, no effect repeated."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from portaria.errors import Refusal
from portaria.intake.accepted import TryOutcome
from portaria.intake.arrivals import ArrivalFilter, replayable
from portaria.intake.backlog import Backlog
from portaria.intake.by_hand import Replayed, replay_by_hand
from portaria.intake.first_attempt import first_attempt
from portaria.intake.providers import samples
from portaria.intake.replay import replay_round
from tests.intake.backroom import NOON, QUICK, WHOLE, Backroom, held_back, named
from tests.intake.test_replay_window import LOST


async def by_hand(room: Backroom, row: UUID) -> Replayed:
    return await replay_by_hand(room.db, row, actor="ana", organization_id=room.organization_id)


async def died(room: Backroom, **more: Any) -> UUID:
    """A row that was given up at the ceiling."""
    row = room.archived(room.message(**more), age="1 hour", attempts=20, tried="1 minute")
    await room.replay()
    assert room.standing(row)[0] == "dead"
    return row


async def test_a_row_that_died_comes_in_with_all_its_effects(room: Backroom) -> None:
    """Case F9: attempts begin anew, and the act is audited."""
    row = await died(room)
    assert await by_hand(room, row) == Replayed(TryOutcome.INGESTED)
    assert room.standing(row) == ("processed", 0, None)
    assert room.facts() == WHOLE
    found = room.rows(
        "SELECT organization_id, actor, resource_kind, resource_id, metadata FROM api_audit_log"
        " WHERE action = 'webhook.replayed'"
    )
    assert found == [
        (room.organization_id, "ana", "webhook_event", str(row), {"status": "dead", "attempts": 20})
    ]


@pytest.mark.parametrize(
    ("age", "dispatched"), [("5 hours 59 minutes 57 seconds", 1), ("6 hours 1 second", 0), ("30 days", 0)]
)
async def test_over_six_hours_it_comes_in_with_effects_but_without_the_dispatch(
    room: Backroom, age: str, dispatched: int
) -> None:
    row = await died(room)
    room.age(row, age)
    assert (await by_hand(room, row)).outcome is TryOutcome.INGESTED
    assert room.facts() == WHOLE | {"dispatch": dispatched}
    assert room.standing(row) == ("processed", 0, None)
    facts = room.facts()
    assert (await by_hand(room, row)).outcome in (TryOutcome.INGESTED, TryOutcome.DUPLICATE)
    assert room.facts() == facts


async def test_no_effect_is_repeated_however_often_it_is_asked_for(room: Backroom) -> None:
    """Its lead was closed, it was read, its contact unblocked in the meantime."""
    row = await room.take_in(room.message("Parar"))
    room.sql("UPDATE conversations SET unread_count = 0; UPDATE contacts SET is_blocked = false")
    for _ in range(3):
        assert (await by_hand(room, row)).outcome is TryOutcome.DUPLICATE
    assert room.facts() == WHOLE | {"crm_leads": 0, "unread": 0}
    assert room.one("SELECT is_blocked FROM contacts") is False
    assert len(room.audited("webhook.replayed")) == 3


async def test_after_nineteen_failures_and_half_a_success(room: Backroom) -> None:
    """Case F9."""
    room.fail("event_log")
    row = room.archived(room.message(), age="1 hour", attempts=18, tried="1 minute")
    await room.replay()
    assert room.standing(row)[:2] == ("received", 19)
    replayed = await by_hand(room, row)
    assert replayed.outcome is TryOutcome.FAILED
    assert replayed.error is not None
    assert "made to fail" in replayed.error
    assert room.standing(row)[:2] == ("received", 1)
    room.work("event_log")
    await by_hand(room, row)
    assert room.standing(row) == ("processed", 0, None)
    assert room.facts() == WHOLE


async def test_an_infrastructure_failure_is_kept_and_spends_nothing(room: Backroom) -> None:
    row = await died(room)
    room.fail("messages", "53100")
    assert (await by_hand(room, row)).outcome is TryOutcome.FAILED
    status, attempts, error = room.standing(row)
    assert (status, attempts) == ("received", 0)
    assert error is not None
    room.work("messages")
    await room.replay()  # within the window the cron has it from here
    assert room.facts() == WHOLE


async def test_a_message_of_ours_comes_in(room: Backroom) -> None:
    row = room.archived(room.echo(), age="7 hours")
    await room.replay()
    assert (await by_hand(room, row)).outcome is TryOutcome.INGESTED
    assert room.facts()["messages"] == 1


async def test_a_body_outside_the_contract_is_one_again(room: Backroom) -> None:
    row = await room.take_in(room.message() | {"message": {}})
    assert (await by_hand(room, row)).outcome is TryOutcome.CONTRACT
    assert room.standing(row)[:2] == ("error", 0)


async def test_a_message_into_an_archived_session_asks_no_agent(room: Backroom) -> None:
    row = room.archived(room.message(), age="10 minutes")
    room.sql("UPDATE channel_sessions SET archived_at = now()")
    await room.replay()
    assert (await by_hand(room, row)).outcome is TryOutcome.INGESTED
    assert room.facts() == WHOLE | {"dispatch": 0}


# Refused


async def refused(room: Backroom, row: UUID, organization_id: UUID | None = None) -> tuple[int, str]:
    before = room.rows("SELECT * FROM webhook_events_log ORDER BY id")
    with pytest.raises(Refusal) as refusal:
        await replay_by_hand(
            room.db, row, actor="ana", organization_id=organization_id or room.organization_id
        )
    assert room.rows("SELECT * FROM webhook_events_log ORDER BY id") == before
    assert room.audited("webhook.replayed") == []
    assert not any(room.facts().values())
    return refusal.value.status, refusal.value.code


@pytest.mark.parametrize("marked", [None, False])
async def test_a_row_whose_signature_is_not_proven_is_refused(room: Backroom, marked: bool | None) -> None:
    row = room.archived(room.message(), marked=marked)
    assert await refused(room, row) == (409, "not_accepted")


@pytest.mark.parametrize(
    "event", ["outcome", "edited", "deleted", "connected", "unknown", "social", "not json"]
)
async def test_what_the_database_does_not_absorb_is_refused(room: Backroom, event: str) -> None:
    account = room.channel.account_id
    bodies: dict[str, Any] = {
        "outcome": samples.outcome("read", account, "wamid.1", "+5511987650001", NOON),
        "edited": samples.edited(account, "wamid.1", "+5511987650001", "novo", NOON),
        "deleted": samples.deleted(account, "wamid.1", "+5511987650001", NOON),
        "connected": room.message() | {"event": "account.connected"},
        "unknown": room.message() | {"event": "call.started"},
        "social": room.message(platform="instagram"),
        "not json": b"",
    }
    channel = room.make.channel(room.organization_id, provider="zernio_social", phone_number=None)
    row = room.archived(bodies[event], channel=channel if event == "social" else None)
    code = "not_a_message" if event == "not json" else "synchronous_event"
    assert await refused(room, row) == (409, code)


async def test_another_accounts_message_is_not_replayed_into_the_session_it_was_sent_to(
    room: Backroom,
) -> None:
    """It was signed and closed as `conta_desconhecida`: it never became ours."""
    foreign = room.archived(room.message(account_id="outra-conta"))
    of_nobody = room.archived(room.message())
    room.sql(
        "UPDATE webhook_events_log SET status = 'processed', processed_at = now(),"
        " error_message = 'conta_desconhecida', event_type = 'message.received'"
    )
    room.owner.execute(
        "UPDATE webhook_events_log SET organization_id = NULL, channel_session_id = NULL WHERE id = %s",
        (of_nobody,),
    )
    assert await refused(room, foreign) == (409, "not_accepted")
    with pytest.raises(Refusal, match="not_accepted"):
        await replay_by_hand(room.db, of_nobody, actor="operator", organization_id=None)
    async with room.db.connection() as conn:
        assert await replayable(conn, None, status="processed", filter=ArrivalFilter()) == []


async def test_another_organizations_row_is_not_there(room: Backroom) -> None:
    row = room.archived(room.message())
    assert await refused(room, row, room.make.organization("Alheia")) == (404, "not_found")
    assert await refused(room, uuid4()) == (404, "not_found")


async def test_a_replay_that_cannot_be_audited_does_not_happen(room: Backroom) -> None:
    row = await died(room)
    room.fail("api_audit_log")
    with pytest.raises(Exception, match="made to fail"):
        await by_hand(room, row)
    assert room.standing(row)[0] == "dead"


async def test_a_row_in_the_middle_of_its_last_step_is_busy(room: Backroom) -> None:
    row = room.archived(room.message())
    with room.holding("LOCK TABLE event_log"):
        trying = asyncio.create_task(room.first(row))
        await room.blocked(on="%fn_message_effects%")
        with pytest.raises(Refusal, match="busy"):
            await by_hand(room, row)
    assert await trying is TryOutcome.INGESTED
    assert room.facts() == WHOLE


# Beside the cron


async def test_the_cron_leaves_a_claim_by_hand_alone(room: Backroom) -> None:
    """It is past the window: the cron would end it, and tell that it is lost, while it comes in."""
    row = await died(room)
    room.sql("DELETE FROM notices")
    room.age(row, "7 hours")
    with room.holding("LOCK TABLE messages"):
        trying = asyncio.create_task(by_hand(room, row))
        await room.blocked(on="%fn_ingest_message%")
        done = await room.replay()
        assert done.outcomes == {}
    assert (await trying).outcome is TryOutcome.INGESTED
    assert room.notices() == {}
    assert room.facts() == WHOLE | {"dispatch": 0}


async def test_a_claim_by_hand_whose_process_died_is_the_crons_after_a_minute(room: Backroom) -> None:
    row = await died(room)
    room.sql("DELETE FROM notices")
    room.age(row, "7 hours")
    claimed = "status = 'received', processed_at = NULL, attempts = 0, error_message = NULL"
    for ago, status in (("50 seconds", "received"), ("61 seconds", "dead")):
        room.sql(
            f"UPDATE webhook_events_log SET {claimed}, last_attempt_at = clock_timestamp() - interval '{ago}'"
        )
        await room.replay()
        assert room.standing(row)[0] == status
    assert room.notices() == {LOST: ("open", 1)}


async def test_an_old_row_replayed_by_hand_does_not_close_the_door(room: Backroom) -> None:
    """It waits for nothing, whatever its age: no new message may get a 503 for it."""
    row = await died(room)
    room.age(row, "30 days")
    backlog = Backlog(room.db, rows=10, age=3600)
    with room.holding("LOCK TABLE messages"):
        trying = asyncio.create_task(by_hand(room, row))
        await room.blocked(on="%fn_ingest_message%")
        assert room.standing(row) == ("received", 0, None)
        await backlog.look()
        assert not backlog.full
    await trying


async def test_a_slow_first_attempt_leaves_the_closing_to_the_claim_by_hand(room: Backroom) -> None:
    """Both count no attempt: the time of the try tells them apart."""
    row = room.archived(room.message("Parar"))
    async with named(room, "slow") as slow_db, named(room, "hand") as hand_db:
        with held_back(room, "contact_opt_outs", "hand"):
            with held_back(room, "contact_opt_outs", "slow"):
                slow = asyncio.create_task(first_attempt(slow_db, await room.load(row)))
                await room.blocked(on="%fn_record_opt_out%")
                hand = asyncio.create_task(
                    replay_by_hand(hand_db, row, actor="ana", organization_id=room.organization_id)
                )
                await room.blocked(2, on="%fn_record_opt_out%")
            assert await slow is TryOutcome.SUPERSEDED
            assert room.standing(row) == ("received", 0, None)
        assert (await hand).outcome is TryOutcome.INGESTED
    assert room.standing(row) == ("processed", 0, None)
    assert room.facts() == WHOLE | {"crm_leads": 0}


async def test_by_hand_and_by_cron_at_once_take_effect_once(room: Backroom) -> None:
    rows = [
        room.archived(room.message(conversation_id=f"t{n}", phone=f"+551198765{n:04d}"), age="1 hour")
        for n in range(20)
    ]
    hands = [asyncio.create_task(by_hand(room, row)) for row in rows]
    await asyncio.gather(replay_round(room.db, pace=QUICK), *hands, return_exceptions=True)
    await room.replay()
    assert room.facts() == dict.fromkeys(WHOLE, 20)
    assert room.count("webhook_events_log", "status = 'processed'") == 20


async def test_a_filter_counts_what_may_be_replayed(room: Backroom) -> None:
    dead = [await died(room) for _ in range(3)]
    await room.take_in(room.message())
    await room.apply(samples.outcome("read", room.channel.account_id, "wamid.000004", "+5511987650001", NOON))
    other = room.make.channel(room.make.organization("Alheia"), phone_number="+551130008888")
    foreign = room.archived(room.message(channel=other), channel=other, age="7 hours")
    await room.replay()
    since = room.row(dead[1])["received_at"]
    async with room.db.connection() as conn:
        mine = room.organization_id
        assert await replayable(conn, mine, status="dead", filter=ArrivalFilter()) == dead
        assert await replayable(conn, mine, status="dead", filter=ArrivalFilter(since=since)) == dead[1:]
        assert await replayable(conn, mine, status="dead", filter=ArrivalFilter(until=since)) == dead[:1]
        assert set(await replayable(conn, None, status="dead", filter=ArrivalFilter())) == {*dead, foreign}
        assert len(await replayable(conn, mine, status="processed", filter=ArrivalFilter())) == 1
