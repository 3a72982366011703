"""Events that are processed before their answer (spec 2.2, 2.5, 5): outcomes, edits, deletes, states,
reviews, connection; by the provider's time, whatever the order in which they come.
"""

from datetime import datetime, timedelta
from typing import Any

import pytest

from portaria.intake.providers import ContractError, samples
from portaria.intake.providers.facts import OutcomeStatus
from tests.intake.backroom import NOON, PHONE, Backroom
from tests.intake.zernio_payloads import payload

Step = tuple[OutcomeStatus, int]


def at(minute: int) -> datetime:
    return NOON + timedelta(minutes=minute)


async def outcome(room: Backroom, status: OutcomeStatus, minute: int, external_id: str = "wamid.S1") -> str:
    error = {"code": 131026, "title": "Message undeliverable"} if status == "failed" else None
    body = samples.outcome(
        status, room.channel.account_id, external_id, PHONE, at(minute), "c0a1", error=error
    )
    return await room.apply(body)


# Outcomes


@pytest.mark.parametrize(
    ("steps", "status", "minute"),
    [
        ([("delivered", 1), ("read", 2)], "read", 2),
        ([("read", 2), ("delivered", 1)], "read", 2),
        ([("read", 1), ("delivered", 2)], "read", 1),  # out of step by the provider's clock: never lowered
        ([("read", 1), ("failed", 2)], "read", 1),
        ([("failed", 1), ("read", 2)], "read", 2),
        ([("delivered", 1), ("failed", 2)], "failed", 2),
        ([("failed", 2), ("delivered", 1)], "failed", 2),
        ([("failed", 1), ("delivered", 2)], "delivered", 2),
        ([("read", 2), ("read", 2)], "read", 2),
    ],
)
async def test_an_outcome_never_lowers_an_earlier_one(
    room: Backroom, steps: list[Step], status: str, minute: int
) -> None:
    """Case A11, and every pair."""
    await room.take_in(room.echo(external_id="wamid.S1", sent_at=NOON))
    for step in steps:
        await outcome(room, *step)
    ((now, when, error),) = room.rows("SELECT status, status_at, error FROM messages")
    assert (now, when) == (status, at(minute))
    assert (error is None) is (status != "failed")


async def test_a_late_echo_does_not_undo_an_outcome(room: Backroom) -> None:
    """Case A11: `sent` after `read`, and after `failed`, which keeps its error."""
    echoes = [samples.encode(room.echo(external_id=f"wamid.S{n}", sent_at=NOON)) for n in (1, 2)]
    for echo in echoes:
        await room.take_in(echo)
    await outcome(room, "read", 3)
    await outcome(room, "delivered", 2)
    await outcome(room, "failed", 3, "wamid.S2")
    for echo in echoes:
        await room.take_in(echo)
    ((read, none), (failed, error)) = room.rows("SELECT status, error FROM messages ORDER BY external_id")
    assert (read, none) == ("read", None)
    assert failed == "failed"
    assert error["code"] == 131026


async def test_the_providers_samples_apply_to_their_message(room: Backroom) -> None:
    for name in ("delivered", "read", "failed"):
        body = payload(f"message.{name}", message__platformMessageId=f"wamid.{name}")
        await room.take_in(room.echo(external_id=f"wamid.{name}"))
        assert await room.apply(body) == "applied"
        assert room.one("SELECT status FROM messages WHERE external_id = %s", f"wamid.{name}") == name


async def test_an_outcome_of_a_message_that_is_not_in_changes_nothing_and_says_so(room: Backroom) -> None:
    """Until changes are held, the known limitation of the seed."""
    assert await outcome(room, "read", 1) == "unknown_message"
    ((status, note, marked, event, external),) = room.rows(
        "SELECT status, error_message, valid_signature, event_type, external_id FROM webhook_events_log"
    )
    assert (status, note, marked) == ("processed", "unknown_message", True)
    assert (event, external) == ("message.read", "wamid.S1")


async def test_another_organizations_message_is_not_touched(room: Backroom) -> None:
    other = room.make.channel(room.make.organization("Alheia"), phone_number="+551130008888")
    await room.take_in(room.echo(external_id="wamid.S1", channel=other), channel=other)
    assert await outcome(room, "read", 1) == "unknown_message"
    assert room.one("SELECT status FROM messages") == "sent"


async def test_an_event_and_its_rows_closing_are_one_transaction(room: Backroom) -> None:
    await room.take_in(room.echo(external_id="wamid.S1"))
    room.fail("webhook_events_log", event="UPDATE")
    with pytest.raises(Exception, match="made to fail"):
        await outcome(room, "read", 1)
    assert room.one("SELECT status FROM messages") == "sent"


async def test_an_event_outside_the_contract_is_no_event(room: Backroom) -> None:
    with pytest.raises(ContractError, match="statusAt"):
        await room.apply(payload("message.read", statusAt="ontem"))


# Edits and deletes


def edit(room: Backroom, text: str, minute: int) -> Any:
    return samples.edited(room.channel.account_id, "wamid.M1", PHONE, text, at(minute), "c0a1")


async def told(room: Backroom, text: str, minute: int) -> str:
    return await room.apply(edit(room, text, minute))


async def taken_back(room: Backroom, minute: int) -> str:
    return await room.apply(samples.deleted(room.channel.account_id, "wamid.M1", PHONE, at(minute), "c0a1"))


async def test_the_newest_edit_counts_whatever_the_order(room: Backroom) -> None:
    await room.take_in(room.message("um", external_id="wamid.M1", sent_at=NOON))
    assert await told(room, "três", 3) == "applied"
    assert await told(room, "dois", 2) == "stale"
    assert await told(room, "três", 3) == "stale"  # the same delivery again
    assert room.rows("SELECT body, edited_at FROM messages") == [("três", at(3))]
    assert room.one("SELECT last_message_preview FROM conversations") == "três"
    assert room.facts()["unread"] == 1


async def test_an_edit_shows_in_the_list_only_if_its_message_does(room: Backroom) -> None:
    await room.take_in(room.message("um", external_id="wamid.M1", sent_at=NOON))
    await room.take_in(room.message("outra", sent_at=at(1)))
    await told(room, "dois", 2)
    assert room.one("SELECT last_message_preview FROM conversations") == "outra"


async def test_what_was_taken_back_keeps_its_text_and_leaves_the_list(room: Backroom) -> None:
    """An edit that comes after it does not bring the text back there."""
    await room.take_in(room.echo("segredo", external_id="wamid.M1", sent_at=NOON))
    assert await taken_back(room, 5) == "applied"
    assert await taken_back(room, 6) == "stale"
    assert room.rows("SELECT body, deleted_at FROM messages") == [("segredo", at(5))]
    assert room.one("SELECT last_message_preview FROM conversations") is None
    assert await told(room, "mudado", 4) == "applied"
    assert room.one("SELECT last_message_preview FROM conversations") is None


# The number's states, and the connection


def number(state: str, minute: int, **more: object) -> Any:
    return {
        "id": f"{state}-{minute}", "event": f"whatsapp.number.{state}", "timestamp": at(minute).isoformat(),
        "number": {"id": "n1", "phoneNumber": "+551130009999", "country": "BR", "profileId": "p1"},
    } | more  # fmt: skip


def connection(state: str, minute: int) -> Any:
    account = {"accountId": "a1", "profileId": "p1", "platform": "whatsapp", "username": "loja"}
    return {
        "id": f"{state}-{minute}", "event": f"account.{state}", "timestamp": at(minute).isoformat(),
        "account": account,
    }  # fmt: skip


TITLE = "Número +551130009999: "
TROUBLE = ("declined", "action_required", "verification_required", "suspended", "released", "disconnected")


def step(name: str, minute: int) -> Any:
    return (connection if name.endswith("connected") else number)(name, minute)


def state(room: Backroom) -> tuple[Any, ...]:
    return room.rows("SELECT state, state_at FROM channel_sessions")[0]


@pytest.mark.parametrize("name", TROUBLE)
async def test_a_state_of_trouble_opens_its_notice(room: Backroom, name: str) -> None:
    assert await room.apply(step(name, 1)) == "applied"
    assert state(room) == (name, at(1))
    assert room.notices() == {TITLE + name.upper(): ("open", 1)}
    ((kind, about, row),) = room.rows("SELECT kind, resource_kind, resource_id FROM notices")
    assert (kind, about, row) == ("channel_number_alert", "channel_session", str(room.channel.id))


@pytest.mark.parametrize(
    ("end", "ended"),
    [
        ("activated", {"declined", "action_required", "verification_required"}),
        ("reactivated", {"suspended"}),
        ("connected", {"disconnected"}),
        ("kyc_submitted", set()),
    ],
)
async def test_a_good_state_ends_the_notices_that_are_its_own(
    room: Backroom, end: str, ended: set[str]
) -> None:
    for minute, name in enumerate(TROUBLE):
        await room.apply(step(name, minute))
    assert await room.apply(step(end, 30)) == "applied"
    assert state(room) == (end, at(30))
    assert set(room.notices()) == {TITLE + name.upper() for name in set(TROUBLE) - ended}


async def test_an_older_state_changes_nothing(room: Backroom) -> None:
    """Neither the state, nor a notice, in either direction."""
    await room.apply(number("suspended", 5))
    assert await room.apply(number("reactivated", 4)) == "stale"
    assert state(room) == ("suspended", at(5))
    assert room.notices() == {TITLE + "SUSPENDED": ("open", 1)}
    await room.apply(number("reactivated", 6))
    assert await room.apply(number("suspended", 5)) == "stale"
    assert room.notices() == {}
    assert state(room) == ("reactivated", at(6))


async def test_a_state_delivered_twice_is_one_state(room: Backroom) -> None:
    """The provider delivers again after an answer it did not hear; a person dealt with it meanwhile."""
    await room.apply(number("suspended", 5))
    room.sql("UPDATE notices SET status = 'resolved', resolved_at = now()")
    assert await room.apply(number("suspended", 5)) == "stale"
    assert room.notices() == {}
    await room.apply(number("suspended", 9))
    assert room.notices() == {TITLE + "SUSPENDED": ("open", 1)}


async def test_a_reason_is_told_and_a_spelling_of_the_phone_does_not_split_its_notice(room: Backroom) -> None:
    """The title names the session's own phone, so that what ends it finds it."""
    room.sql("UPDATE channel_sessions SET phone_number = '+5511987654321'")
    channel = room.make.channel(room.organization_id, phone_number="+5511912345678")
    for minute, (name, phone) in enumerate(
        (("declined", "+55 11 91234-5678"), ("activated", "551112345678"))
    ):
        body = number(name, minute, reason="documento ilegível")
        body["number"]["phoneNumber"] = phone
        await room.apply(body, channel=channel)
        if name == "declined":
            assert room.notices() == {"Número +5511912345678: DECLINED": ("open", 1)}
            assert "documento ilegível" in room.one("SELECT body FROM notices")
    assert room.notices() == {}


async def test_without_a_phone_the_notice_names_what_is_known(room: Backroom) -> None:
    channel = room.make.channel(room.organization_id, account_id="conta-1", phone_number=None)
    await room.apply(connection("disconnected", 1), channel=channel)
    assert room.notices() == {"Número conta-1: DISCONNECTED": ("open", 1)}
    await room.apply(connection("connected", 2), channel=channel)
    assert room.notices() == {}


@pytest.mark.parametrize(
    "name",
    [
        "whatsapp.number.activated", "whatsapp.number.suspended", "whatsapp.number.reactivated",
        "whatsapp.number.action_required", "whatsapp.number.verification_required",
        "whatsapp.number.kyc_submitted", "account.connected", "account.disconnected",
    ],
)  # fmt: skip
async def test_the_providers_samples_set_the_state(room: Backroom, name: str) -> None:
    assert await room.apply(payload(name)) == "applied"
    assert state(room)[0] == name.rpartition(".")[2]


# Reviews of templates


def review(status: str, minute: int, *, name: str = "boas_vindas", reason: str = "NONE") -> Any:
    template = {"templateId": "t1", "name": name, "language": "pt_BR", "status": status, "reason": reason}
    return {
        "id": f"{status}-{minute}", "event": "whatsapp.template.status_updated", "template": template,
        "timestamp": at(minute).isoformat(),
        "account": {"accountId": "a1", "profileId": "p1", "platform": "whatsapp", "username": "loja"},
    }  # fmt: skip


OTHERS = ("REJECTED", "PENDING", "PAUSED", "DISABLED", "IN_APPEAL", "PENDING_DELETION")


async def test_a_review_opens_its_notice_and_approval_ends_the_others(room: Backroom) -> None:
    for minute, status in enumerate(OTHERS):
        assert await room.apply(review(status, minute, reason="INVALID_FORMAT")) == "applied"
    assert set(room.notices()) == {f'Modelo "boas_vindas": {status}' for status in OTHERS}
    assert room.rows("SELECT DISTINCT kind FROM notices") == [("channel_template_review",)]
    assert "INVALID_FORMAT" in room.rows("SELECT body FROM notices")[0][0]
    await room.apply(review("REJECTED", 3, name="outro"))  # older than the template's newest: nothing
    assert await room.apply(review("APPROVED", 30)) == "applied"
    assert room.notices() == {}
    assert room.rows("SELECT status, reason, status_at FROM channel_templates") == [
        ("APPROVED", None, at(30))
    ]


async def test_an_older_review_changes_nothing_and_one_delivered_twice_is_one(room: Backroom) -> None:
    await room.apply(review("APPROVED", 5))
    assert await room.apply(review("REJECTED", 4)) == "stale"
    assert room.notices() == {}
    await room.apply(review("PAUSED", 6))
    assert await room.apply(review("APPROVED", 5)) == "stale"
    assert await room.apply(review("PAUSED", 6)) == "stale"
    assert room.notices() == {'Modelo "boas_vindas": PAUSED': ("open", 1)}


async def test_a_templates_name_is_cleaned_and_cut_in_the_title(room: Backroom) -> None:
    await room.apply(review("REJECTED", 1, name="a\x00" + "x" * 200))
    ((title,),) = room.rows("SELECT title FROM notices")
    assert title == 'Modelo "a\ufffd' + "x" * 98 + '": REJECTED'


@pytest.mark.parametrize("name", ["approved", "rejected"])
async def test_the_providers_samples_are_read(room: Backroom, name: str) -> None:
    assert await room.apply(payload(f"whatsapp.template.status_updated.{name}")) == "applied"
    assert room.one("SELECT status FROM channel_templates") == name.upper()
    assert len(room.notices()) == (name == "rejected")
