"""Channels: nobody registers another's account, secrets are shown once, the old one lives on for a while."""

import asyncio
from uuid import uuid4

import psycopg
import pytest

from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.identity.secret_box import SecretBox
from portaria.intake.channels import (
    ChannelRequest,
    archive_channel,
    create_channel,
    find_channel,
    list_channels,
    rotate_secret,
)
from tests.support.factory import Factory

BOX = SecretBox("chave-de-teste-" * 3)
REQUEST = ChannelRequest("zernio", "conta-1", "Loja", "+55 (11) 3000-9999")


def secrets_of(owner: psycopg.Connection) -> list[str | None]:
    [row] = owner.execute(
        "SELECT secret_ciphertext, previous_secret_ciphertext FROM channel_sessions"
    ).fetchall()
    return [BOX.decrypt(c) if c else None for c in row]


async def created(db: Database, org, request: ChannelRequest = REQUEST):
    async with db.connection() as conn:
        return await create_channel(conn, BOX, org, request, actor="cli")


async def refused(db: Database, org, request: ChannelRequest) -> str:
    with pytest.raises(Refusal) as error:
        await created(db, org, request)
    return error.value.code


async def test_a_channel_is_created_with_a_secret_that_only_its_ciphertext_keeps(
    db: Database, make: Factory, owner: psycopg.Connection
) -> None:
    org = make.organization()
    made = await created(db, org)
    assert secrets_of(owner) == [made.secret, None]
    everything = repr(owner.execute("SELECT * FROM channel_sessions").fetchall()) + repr(
        owner.execute("SELECT * FROM api_audit_log").fetchall()
    )
    assert made.secret not in everything
    async with db.tenant(org) as conn:
        channel = await find_channel(conn, org, made.id)
    assert (channel.phone_number, channel.webhook_path_token) == ("+551130009999", made.token)
    assert len(made.token) >= 32


async def test_an_account_or_a_phone_is_registered_once_among_the_live_of_the_installation(
    db: Database, make: Factory
) -> None:
    one, other = make.organization(), make.organization()
    first = await created(db, one)
    assert await refused(db, other, REQUEST) == "account_taken"
    assert (
        await refused(db, other, ChannelRequest("zernio", "conta-2", phone_number="551130009999"))
        == "phone_taken"
    )
    await created(db, other, ChannelRequest("zernio_social", "conta-1"))
    async with db.connection() as conn:
        assert await archive_channel(conn, one, first.id, actor="cli")
        assert not await archive_channel(conn, one, first.id, actor="cli")
    await created(db, other, REQUEST)


async def test_one_line_in_two_spellings_is_registered_once_also_at_the_same_time(
    db: Database, make: Factory
) -> None:
    """The installation's URL looks a number up in both spellings: if both lived, whose would it be?"""
    org = make.organization()
    spellings = ["+5511987654321", "+551187654321"]
    outcomes = await asyncio.gather(
        *(
            created(db, org, ChannelRequest("zernio", f"c{n}", phone_number=p))
            for n, p in enumerate(spellings)
        ),
        return_exceptions=True,
    )
    assert [o.code for o in outcomes if isinstance(o, Refusal)] == ["phone_taken"]
    assert await refused(db, org, ChannelRequest("zernio", "c3", phone_number=spellings[1])) == "phone_taken"


async def test_the_same_account_at_once_is_registered_once(db: Database, make: Factory) -> None:
    orgs = [make.organization() for _ in range(6)]
    outcomes = await asyncio.gather(*(created(db, org) for org in orgs), return_exceptions=True)
    assert sum(not isinstance(o, BaseException) for o in outcomes) == 1
    assert {o.status for o in outcomes if isinstance(o, Refusal)} == {409}


async def test_a_rotated_secret_leaves_the_old_one_good_for_a_while(
    db: Database, make: Factory, owner: psycopg.Connection
) -> None:
    org = make.organization()
    made = await created(db, org)
    async with db.connection() as conn:
        rotated = await rotate_secret(conn, BOX, org, made.id, actor="cli")
        assert secrets_of(owner) == [rotated.secret, made.secret]
        assert owner.execute(
            "SELECT previous_secret_until - now() BETWEEN '71 hours' AND '72 hours' FROM channel_sessions"
        ).fetchone() == (True,)
        at_once = await rotate_secret(
            conn, BOX, org, made.id, actor="cli", secret="meu-proprio-segredo", keep_for=0
        )
    assert at_once.previous_until is None
    assert secrets_of(owner) == ["meu-proprio-segredo", None]


async def test_other_organizations_and_archived_channels_are_not_found(db: Database, make: Factory) -> None:
    one, other = make.organization(), make.organization()
    made = await created(db, one)
    async with db.connection() as conn:
        for org, channel in ((other, made.id), (one, uuid4())):
            with pytest.raises(Refusal, match="channel_not_found"):
                await rotate_secret(conn, BOX, org, channel, actor="cli")
            with pytest.raises(Refusal, match="channel_not_found"):
                await archive_channel(conn, org, channel, actor="cli")
        await archive_channel(conn, one, made.id, actor="cli")
        with pytest.raises(Refusal, match="channel_not_found"):
            await rotate_secret(conn, BOX, one, made.id, actor="cli")
    async with db.tenant(other) as conn:
        assert await list_channels(conn, one, limit=9, with_archived=True) == []
    async with db.tenant(one) as conn:
        assert await list_channels(conn, one, limit=9) == []
        [archived] = await list_channels(conn, one, limit=9, with_archived=True)
    assert archived.archived_at is not None
    with pytest.raises(Refusal, match="organization_not_found"):
        await created(db, uuid4(), ChannelRequest("zernio", "conta-9"))


UNFIT = [
    (ChannelRequest("lead_form", "c"), "unknown_provider"),
    (ChannelRequest("", "c"), "unknown_provider"),
    (ChannelRequest("zernio", " "), "invalid_value"),
    (ChannelRequest("zernio", "a\x00"), "invalid_value"),
    (ChannelRequest("zernio", "x" * 256), "invalid_value"),
    (ChannelRequest("zernio", "c", phone_number="12"), "invalid_phone"),
    (ChannelRequest("zernio", "c", phone_number="liga pra mim"), "invalid_phone"),
    (ChannelRequest("zernio", "c", secret="curto"), "weak_secret"),
    (ChannelRequest("zernio", "c", secret="quinze-caracter"), "weak_secret"),
    (ChannelRequest("zernio", "c", secret="com\nquebra-de-linha-dentro"), "weak_secret"),
]


async def test_what_cannot_be_a_channel_is_refused(db: Database, make: Factory) -> None:
    org = make.organization()
    for request, code in UNFIT:
        assert await refused(db, org, request) == code


async def test_an_old_secret_is_kept_for_thirty_days_at_most(db: Database, make: Factory) -> None:
    org = make.organization()
    made = await created(db, org)
    async with db.connection() as conn:
        for keep in (-1, 31 * 86400, float("inf"), float("nan")):
            with pytest.raises(Refusal, match="invalid_keep"):
                await rotate_secret(conn, BOX, org, made.id, actor="cli", keep_for=keep)
