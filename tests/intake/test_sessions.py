"""Whose an arrival is, what its provider signs with, and how old an answer of the cache may be (spec 2.1)."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from portaria.intake.providers import samples
from portaria.intake.sessions import Session
from tests.intake.conftest import Desk, OpenDesk, channel_path, channel_with_secret, encrypted, until
from tests.intake.reused import database
from tests.support.factory import Channel

__all__ = ["database"]

OLD, NEW, SHORT = "o-segredo-de-antes-01", "o-segredo-de-agora-02", "quinze-letras-0"
LISTENER = "portaria sessions"


def number_event(phone: str | None = None, profile: str | None = None) -> dict[str, Any]:
    """Names no account: the phone and the profile pick the session."""
    number = {"id": "n1", "phoneNumber": phone, "profileId": profile, "country": "BR"}
    return {
        "id": "e1", "event": "whatsapp.number.suspended", "timestamp": "2026-11-30T12:00:00.000Z",
        "number": {key: value for key, value in number.items() if value is not None},
    }  # fmt: skip


def another(desk: Desk, **more: Any) -> Channel:
    return channel_with_secret(desk.make, desk.make.organization("Outra"), **{"phone_number": None, **more})


async def owner_of(desk: Desk, body: dict[str, Any]) -> Any:
    """The session that the installation's route picks."""
    answer = await desk.post_to_installation(body)
    assert answer.status_code == 200, answer.text
    row = desk.log_row(answer)
    assert (row["error_message"] == "conta_desconhecida") == (row["channel_session_id"] is None)
    return row["channel_session_id"]


async def takes(desk: Desk, channel: Channel, body: dict[str, Any]) -> bool:
    """Whether a channel's own route takes the event for its own."""
    answer = await desk.post(body, path=channel_path(channel), secret=channel.secret)
    return answer.json().get("reason") != "conta_desconhecida"


# --- whose it is --------------------------------------------------------------------------------


async def test_a_phone_picks_the_session_that_has_it(desk: Desk) -> None:
    other = another(desk, phone_number="+5511987654321")
    assert await owner_of(desk, number_event("+55 11 98765-4321")) == other.id
    assert await takes(desk, other, number_event("+5511987654321"))
    assert not await takes(desk, desk.channel, number_event("+5511987654321"))
    assert await owner_of(desk, number_event("+5511911112222")) is None
    assert not await takes(desk, other, number_event())


async def test_the_other_spelling_of_a_line_picks_its_session_but_takes_nobodys(desk: Desk) -> None:
    with_nine = another(desk, phone_number="+5511987654321")
    assert await owner_of(desk, number_event("+551187654321")) == with_nine.id
    without = another(desk, phone_number="+551187654321")
    assert await owner_of(desk, number_event("+551187654321")) == without.id
    assert await owner_of(desk, number_event("+5511987654321")) == with_nine.id
    assert not await takes(desk, with_nine, number_event("+551187654321"))


async def test_a_profile_picks_a_session_without_a_phone(desk: Desk) -> None:
    alone = another(desk, profile_id="p1")
    assert await owner_of(desk, number_event(profile="p1")) == alone.id
    assert await owner_of(desk, number_event("+5511911112222", "p1")) == alone.id
    assert await takes(desk, alone, number_event(profile="p1"))
    assert await owner_of(desk, number_event(profile="p2")) is None
    assert not await takes(desk, alone, number_event(profile="p2"))


@pytest.mark.parametrize("second", ["zernio", "zernio_social"])
async def test_a_profile_that_two_sessions_have_picks_neither(desk: Desk, second: str) -> None:
    first = another(desk, profile_id="p1")
    twin = another(desk, profile_id="p1", provider=second)
    assert await owner_of(desk, number_event(profile="p1")) is None
    assert not await takes(desk, first, number_event(profile="p1"))
    desk.owner.execute("UPDATE channel_sessions SET archived_at = now() WHERE id = %s", (twin.id,))
    assert await owner_of(desk, number_event(profile="p1")) == first.id


async def test_a_profile_does_not_pick_a_session_that_has_a_phone(desk: Desk) -> None:
    with_phone = another(desk, profile_id="p1", phone_number="+5511987654321")
    assert await owner_of(desk, number_event(profile="p1")) is None
    assert not await takes(desk, with_phone, number_event(profile="p1"))


async def test_one_account_of_two_families_goes_by_its_platform(desk: Desk) -> None:
    account = desk.channel.account_id
    social = another(desk, account_id=account, provider="zernio_social")
    now = datetime.now(UTC)
    instagram = samples.message_received(
        account, "m1", None, "Oi", now, platform="instagram", sender_id="178"
    )
    assert await owner_of(desk, instagram) == social.id
    assert await owner_of(desk, desk.message()) == desk.channel.id


# --- secrets ------------------------------------------------------------------------------------


def rotate(
    desk: Desk, *, until_: timedelta, previous: bytes | None = None, current: bytes | None = None
) -> None:
    desk.owner.execute(
        "UPDATE channel_sessions SET secret_ciphertext = %s, previous_secret_ciphertext = %s,"
        " previous_secret_until = now() + %s",
        (current or encrypted(NEW), previous or encrypted(OLD), until_),
    )


async def signed_with(desk: Desk, secret: str) -> int:
    return (await desk.post(desk.message(), secret=secret)).status_code


async def test_two_secrets_are_live_while_one_is_rotated(desk: Desk) -> None:
    rotate(desk, until_=timedelta(hours=72))
    assert [await signed_with(desk, s) for s in (NEW, OLD, "de-ninguem-0123456789")] == [200, 200, 401]
    rotate(desk, until_=timedelta(seconds=-1))
    await until_forgotten(desk)
    assert [await signed_with(desk, s) for s in (NEW, OLD)] == [200, 401]


@pytest.mark.parametrize("unusable", [b"not-of-any-key-of-ours", encrypted(SHORT)], ids=["foreign", "short"])
async def test_a_previous_secret_that_we_cannot_use_is_our_fault_and_not_the_senders(
    desk: Desk, unusable: bytes
) -> None:
    rotate(desk, until_=timedelta(hours=72), previous=unusable)
    assert [await signed_with(desk, s) for s in (NEW, OLD)] == [200, 503]
    assert desk.rows("SELECT kind FROM notices") == [("channel_secret",)]
    rotate(desk, until_=timedelta(seconds=-1), previous=unusable)
    await until_forgotten(desk)
    assert await signed_with(desk, OLD) == 401


async def test_a_previous_secret_does_not_stand_in_for_a_current_one_that_is_gone(desk: Desk) -> None:
    rotate(desk, until_=timedelta(hours=72), current=b"not-of-any-key-of-ours")
    assert await signed_with(desk, OLD) == 503


async def test_the_installation_has_two_secrets_too(open_desk: OpenDesk) -> None:
    async with open_desk(installation_secret=NEW, installation_previous_secret=OLD) as desk:
        for secret, status in ((NEW, 200), (OLD, 200), ("de-ninguem-0123456789", 401)):
            answer = await desk.post_to_installation(desk.message(), secret=secret)
            assert answer.status_code == status
        desk.owner.execute("UPDATE channel_sessions SET archived_at = now()")
    async with open_desk(installation_secret=NEW, installation_previous_secret=SHORT) as desk:
        assert (await desk.post_to_installation(desk.message(), secret=OLD)).status_code == 503


# --- the cache ----------------------------------------------------------------------------------


async def until_forgotten(desk: Desk) -> None:
    await until(lambda: not desk.intake.directory._cache)


def listeners(desk: Desk) -> list[tuple[int]]:
    return desk.rows(
        "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND query LIKE 'LISTEN%%'", LISTENER
    )


async def test_a_session_made_a_moment_ago_is_known_at_once(open_desk: OpenDesk) -> None:
    async with open_desk(session_cache_ttl=3600.0) as desk:
        path = "/api/v1/webhooks/channel/um-token-feito-agora"
        assert (await desk.client.post(path)).status_code == 404
        made = another(desk)
        desk.owner.execute(
            "UPDATE channel_sessions SET webhook_path_token = 'um-token-feito-agora' WHERE id = %s",
            (made.id,),
        )
        assert (await desk.client.post(path)).status_code == 401


async def test_an_archived_session_is_seen_at_once(open_desk: OpenDesk) -> None:
    """By NOTIFY: the time to live is an hour."""
    async with open_desk(session_cache_ttl=3600.0) as desk:
        await until(lambda: bool(listeners(desk)))
        assert (await desk.post(desk.message())).json()["status"] == "accepted"
        assert await owner_of(desk, desk.message()) == desk.channel.id
        assert len(desk.intake.directory._cache) == 2
        desk.owner.execute("UPDATE channel_sessions SET archived_at = now()")
        await until_forgotten(desk)
        assert (await desk.post(desk.message())).json()["reason"] == "canal_arquivado"
        assert await owner_of(desk, desk.message()) is None


async def test_what_memory_would_ignore_is_asked_again(open_desk: OpenDesk) -> None:
    """Nobody listens, and the account's other family is registered a moment ago."""
    async with open_desk(session_cache_ttl=3600.0) as desk:
        await until(lambda: bool(listeners(desk)))
        desk.intake.directory._listening.cancel()
        await until(lambda: not listeners(desk))
        assert await owner_of(desk, desk.message()) == desk.channel.id
        account, now = desk.channel.account_id, datetime.now(UTC)
        social = another(desk, account_id=account, provider="zernio_social")
        instagram = samples.message_received(
            account, "m1", None, "Oi", now, platform="instagram", sender_id="178"
        )
        assert await owner_of(desk, instagram) == social.id


async def test_a_change_is_seen_within_the_time_to_live_when_nobody_listens(open_desk: OpenDesk) -> None:
    async with open_desk(session_cache_ttl=0.2) as desk:
        await until(lambda: bool(listeners(desk)))
        desk.intake.directory._listening.cancel()
        await until(lambda: not listeners(desk))
        assert (await desk.post(desk.message())).json()["status"] == "accepted"
        desk.owner.execute("UPDATE channel_sessions SET archived_at = now()")
        archived_at = time.monotonic()
        while (await desk.post(desk.message())).json()["status"] == "accepted":
            assert time.monotonic() - archived_at < 2.0


async def test_a_listening_connection_that_was_killed_is_made_anew_and_drops_what_it_missed(
    open_desk: OpenDesk,
) -> None:
    async with open_desk(session_cache_ttl=3600.0) as desk:
        await until(lambda: bool(listeners(desk)))
        assert (await desk.post(desk.message())).json()["status"] == "accepted"
        ((killed,),) = listeners(desk)
        desk.owner.execute("SELECT pg_terminate_backend(%s)", (killed,))
        desk.owner.execute("UPDATE channel_sessions SET archived_at = now()")
        await until(lambda: [(killed,)] != listeners(desk) != [])
        assert (await desk.post(desk.message())).json()["reason"] == "canal_arquivado"


async def test_what_was_read_before_a_change_is_not_kept_after_it(desk: Desk) -> None:
    """The look-up read the old row, the change was heard, and only then could the old row be kept."""
    directory = desk.intake.directory
    find = directory._find

    async def interrupted(query: str, **params: object) -> Any:
        found = await find(query, **params)
        desk.owner.execute("UPDATE channel_sessions SET archived_at = now()")
        directory._forget()
        return found

    directory._find = interrupted
    await directory.by_token(desk.channel.token, within=1.0)
    directory._find = find
    found = await directory.by_token(desk.channel.token, within=1.0)
    assert found is not None
    assert found.archived


# --- how often the database is asked -------------------------------------------------------------


async def test_those_who_ask_at_once_are_answered_by_one_query(open_desk: OpenDesk) -> None:
    """When a session is forgotten under load, thousands want it; each had a query of its own once."""
    async with open_desk(session_cache_ttl=0.01) as desk:
        asking = "wait_event_type = 'Lock' AND query LIKE '%%FROM channel_sessions%%'"
        with desk.held("channel_sessions"):
            posts = [asyncio.create_task(desk.post(desk.message())) for _ in range(40)]
            await until(lambda: desk.count("pg_stat_activity", asking) == 1)
            await asyncio.sleep(0.2)  # nothing tells that no other comes
            assert desk.count("pg_stat_activity", asking) == 1
        assert {answer.json()["status"] for answer in await asyncio.gather(*posts)} == {"accepted"}


async def test_that_there_is_none_is_no_answer_for_who_asked_later(desk: Desk) -> None:
    """The query was begun before the channel was made, perhaps: whoever came after it asks again."""
    directory, answered = desk.intake.directory, asyncio.Event()
    made = await directory.by_token(desk.channel.token, within=5.0)
    assert made is not None

    async def nothing_yet() -> list[Session]:
        await answered.wait()
        return []

    async def there() -> list[Session]:
        return [made]

    first = asyncio.create_task(directory._ask("token", 5.0, nothing_yet))
    await asyncio.sleep(0)
    later = asyncio.create_task(directory._ask("token", 5.0, there))
    await asyncio.sleep(0)
    answered.set()
    assert (await first, await later) == ([], [made])
