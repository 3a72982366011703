"""The stamp of a conversation (spec 2.3): by the provider's time, never backwards, once per message."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from portaria.crm.inbox import mark_read
from portaria.intake.providers import samples
from tests.intake.backroom import NOON, WHOLE, Backroom
from tests.intake.zernio_payloads import payload


def stamp(room: Backroom) -> tuple[Any, ...]:
    """Preview, unread, and minutes after noon of last message, last inbound, last outbound."""
    ((preview, unread, *times),) = room.rows(
        "SELECT last_message_preview, unread_count, last_message_at, last_inbound_at, last_outbound_at"
        " FROM conversations"
    )
    return preview, unread, *(None if t is None else minutes(t) for t in times)


def minutes(t: datetime) -> int:
    return round((t - NOON) / timedelta(minutes=1))


async def come(room: Backroom, *steps: tuple[str, str, int]) -> None:
    for direction, text, minute in steps:
        made = room.message if direction == "in" else room.echo
        await room.take_in(made(text, sent_at=NOON + timedelta(minutes=minute)))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("in", "a", 1)], ("a", 1, 1, 1, None)),
        ([("in", "a", 1), ("in", "b", 2)], ("b", 2, 2, 2, None)),
        # Older ones that come late: counted, nothing goes backwards.
        ([("in", "b", 2), ("in", "a", 1)], ("b", 2, 2, 2, None)),
        ([("out", "b", 2), ("in", "a", 1)], ("b", 1, 2, 1, 2)),
        # Ours reads all that came before it.
        ([("in", "a", 1), ("out", "b", 2)], ("b", 0, 2, 1, 2)),
        ([("in", "a", 1), ("out", "b", 1)], ("b", 0, 1, 1, 1)),
        # Ours that is older than the last inbound reads nothing.
        ([("in", "a", 1), ("in", "c", 3), ("out", "b", 2)], ("c", 2, 3, 3, 2)),
        ([("out", "b", 2), ("out", "a", 1)], ("b", 0, 2, None, 2)),
        ([("in", "a", 1), ("out", "d", 4), ("out", "b", 2), ("in", "c", 3)], ("d", 1, 4, 3, 4)),
    ],
)
async def test_times_follow_the_provider_and_unread_the_direction(
    room: Backroom, steps: list[tuple[str, str, int]], expected: tuple[Any, ...]
) -> None:
    await come(room, *steps)
    assert stamp(room) == expected


async def test_a_duplicate_does_not_stamp(room: Backroom) -> None:
    """Case A6: the same delivery again and again, answered and read in between, its lead closed."""
    raw = samples.encode(room.message("a", sent_at=NOON))
    ours = samples.encode(room.echo("b", sent_at=NOON + timedelta(minutes=1)))
    await room.take_in(raw)
    await room.take_in(ours)
    await come(room, ("in", "c", 2))
    room.sql("UPDATE crm_leads SET status = 'won'")
    before, facts = stamp(room), room.facts()
    assert before == ("c", 1, 2, 2, 1)
    for age in ("1 s", "40 s", "10 minutes", "359 minutes"):
        for again in (raw, ours):
            row = await room.take_in(again)
            assert room.standing(row) == ("processed", 0, None)
            await room.replay()
            late = room.archived(again, age=age)  # and one whose first attempt was lost
            await room.replay()
            assert room.standing(late)[0] == ("received" if age.endswith(" s") else "processed")
    assert (stamp(room), room.facts()) == (before, facts)


async def test_what_was_read_stays_read_when_it_comes_again(room: Backroom) -> None:
    """Case B2."""
    raw = samples.encode(room.message())
    await room.take_in(raw)
    conversation, arrival = room.rows("SELECT conversation_id, arrival FROM messages")[0]
    async with room.db.tenant(room.organization_id) as conn:
        assert await mark_read(conn, room.organization_id, conversation, arrival) == 0
    await room.take_in(raw)
    room.archived(raw, age="6 minutes")
    await room.replay()
    assert room.facts() == WHOLE | {"unread": 0}


async def test_an_answer_of_ours_reads_what_came_before_it_also_for_whoever_opens_the_thread_later(
    room: Backroom,
) -> None:
    await come(room, ("in", "a", 1), ("out", "b", 2), ("in", "c", 3))
    conversation = room.one("SELECT id FROM conversations")
    async with room.db.tenant(room.organization_id) as conn:
        assert await mark_read(conn, room.organization_id, conversation, 0) == 1
    assert stamp(room)[1] == 1


@pytest.mark.parametrize(
    ("body", "kind", "text", "preview"),
    [
        (payload("message.received.audio-no-text"), "audio", None, "[audio]"),
        (payload("message.received.image"), "image", "Foto do canteiro", "Foto do canteiro"),
        (
            payload(
                "message.received.text",
                metadata={"unsupported": {"code": 131051}},
                message__text="[Unsupported message]",
            ),
            "unsupported", "[Unsupported message]", "[Unsupported message]",
        ),
        (
            payload("message.received.text", metadata={"unsupported": {"code": 131060}}, message__text=None),
            "unsupported", None, "[unsupported]",
        ),
        (payload("message.received.text", message__text="x" * 500), "text", "x" * 500, "x" * 160),
    ],
)  # fmt: skip
async def test_a_message_without_words_is_shown_by_its_kind(
    room: Backroom, body: dict[str, Any], kind: str, text: str | None, preview: str
) -> None:
    """Cases A14, A15: what is not supported is a placeholder, with its lead and dispatch."""
    if kind == "image":
        text = preview = body["message"]["text"]
    await room.take_in(body)
    assert room.facts() == WHOLE
    assert room.rows("SELECT type, body FROM messages") == [(kind, text)]
    assert room.one("SELECT last_message_preview FROM conversations") == preview


async def test_the_ad_a_person_came_from_is_kept_with_the_message(room: Backroom) -> None:
    body = payload("message.received.ctwa-referral")
    await room.take_in(body)
    assert (
        room.one("SELECT metadata -> 'referral' ->> 'ctwa_clid' FROM messages")
        == body["metadata"]["referral"]["ctwa_clid"]
    )
