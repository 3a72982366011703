"""Signing in: one answer for unknown and wrong, counted failures, sign-out everywhere, one organization."""

import asyncio
from uuid import UUID, uuid4

import psycopg
import pytest

from portaria.db.pool import Database
from portaria.errors import Refusal
from portaria.identity.passwords import Passwords, make_password
from portaria.identity.principal import Role, find_principal, list_memberships
from portaria.identity.sign_in import SignedIn, change_password, set_password, sign_in, sign_out_everywhere
from portaria.identity.throttle import Throttle, ThrottleLimits
from tests.support.factory import Factory

PASSWORD = "senha-inventada-1"
PASSWORDS = Passwords()
HASH = asyncio.run(PASSWORDS.hash(PASSWORD))


@pytest.fixture
def person(make: Factory, owner: psycopg.Connection) -> UUID:
    """A member with a password."""
    made = make.member(make.organization(), "Ana")
    owner.execute("UPDATE users SET email = 'Ana@Exemplo.test', password_hash = %s", (HASH,))
    return made


async def tried(
    db: Database,
    throttle: Throttle | None = None,
    *,
    email: str = "ana@exemplo.test",
    password: str = PASSWORD,
    address: str = "192.0.2.1",
) -> SignedIn | str:
    """The sign-in, or the code of its refusal."""
    try:
        async with db.connection() as conn:
            return await sign_in(
                conn, PASSWORDS, throttle or Throttle(), email=email, password=password, address=address
            )
    except Refusal as refusal:
        return refusal.code


async def test_the_right_password_signs_in_whatever_the_emails_case(db: Database, person: UUID) -> None:
    assert await tried(db) == await tried(db, email=" ANA@exemplo.TEST ") == SignedIn(person, 0)


ODD = [
    ("ana@exemplo.test", "errada-errada"),
    ("ninguem@exemplo.test", PASSWORD),
    ("ana@exemplo.test", ""),
    ("ana@exemplo.test", PASSWORD + "\x00"),
    ("ana@exemplo.test", "\ud800"),
    ("ana@exemplo.test", PASSWORD * 100),
    ("a\x00b", PASSWORD),
    ("\ud800@x", PASSWORD),
    ("", ""),
]


async def test_unknown_wrong_and_odd_are_refused_alike(db: Database, person: UUID) -> None:
    for email, password in ODD:
        assert await tried(db, email=email, password=password) == "invalid_credentials", (email, password[:9])


async def test_a_user_without_a_password_cannot_sign_in(
    db: Database, person: UUID, owner: psycopg.Connection
) -> None:
    for stored in (None, "", "not a hash"):
        owner.execute("UPDATE users SET password_hash = %s", (stored,))
        assert await tried(db) == "invalid_credentials"


async def test_too_many_failures_close_the_pair_and_nobody_else(
    db: Database, person: UUID, owner: psycopg.Connection
) -> None:
    throttle = Throttle(ThrottleLimits(per_email_and_address=2))
    outcomes = [await tried(db, throttle, password="errada") for _ in range(3)]
    assert outcomes == ["invalid_credentials", "invalid_credentials", "too_many_attempts"]
    assert await tried(db, throttle) == "too_many_attempts"
    assert isinstance(await tried(db, throttle, address="192.0.2.2"), SignedIn)
    owner.execute("UPDATE sign_in_throttles SET ends_at = now()")
    assert isinstance(await tried(db, throttle), SignedIn)
    assert [await tried(db, throttle, password="errada") for _ in range(2)] == ["invalid_credentials"] * 2


async def test_tries_side_by_side_do_not_slip_through(db: Database, person: UUID) -> None:
    throttle = Throttle(ThrottleLimits(per_email_and_address=3))
    outcomes = await asyncio.gather(*(tried(db, throttle, password="errada") for _ in range(9)))
    assert sorted(map(str, outcomes)) == ["invalid_credentials"] * 3 + ["too_many_attempts"] * 6


async def test_one_email_from_many_addresses_and_one_address_for_many_emails_are_bounded(
    db: Database, person: UUID
) -> None:
    throttle = Throttle(ThrottleLimits(per_email_and_address=9, per_email=2, per_address=3))
    spread = [await tried(db, throttle, password="errada", address=f"192.0.2.{n}") for n in range(3)]
    assert spread == ["invalid_credentials"] * 2 + ["too_many_attempts"]
    # The refused third try counted nowhere: its address has all of its own tries left.
    one = [await tried(db, throttle, email=f"p{n}@x.test", address="192.0.2.2") for n in range(4)]
    assert one == ["invalid_credentials"] * 3 + ["too_many_attempts"]


async def test_an_ipv6_subscriber_is_one_address(db: Database, person: UUID) -> None:
    throttle = Throttle(ThrottleLimits(per_email_and_address=1))
    assert await tried(db, throttle, password="errada", address="2001:db8::1") == "invalid_credentials"
    assert await tried(db, throttle, password="errada", address="2001:db8::ffff") == "too_many_attempts"
    assert await tried(db, throttle, password="errada", address="2001:db8:0:1::1") == "invalid_credentials"


async def test_good_sign_ins_use_up_nothing(db: Database, person: UUID, owner: psycopg.Connection) -> None:
    throttle = Throttle(ThrottleLimits(per_email_and_address=1, per_email=1, per_address=1))
    for _ in range(3):
        assert isinstance(await tried(db, throttle), SignedIn)
    assert owner.execute("SELECT count(*) FROM sign_in_throttles WHERE failures > 0").fetchone() == (0,)


async def test_the_refusal_says_when_to_come_back(db: Database, person: UUID) -> None:
    throttle = Throttle(ThrottleLimits(window=60, per_email_and_address=1))
    await tried(db, throttle, password="errada")
    async with db.connection() as conn:
        with pytest.raises(Refusal) as refused:
            await throttle.take(conn, "ana@exemplo.test", "192.0.2.1")
    assert refused.value.status == 429
    assert 50 < int(refused.value.headers["Retry-After"]) <= 61


async def test_neither_emails_nor_addresses_are_kept_in_the_throttle(
    db: Database, person: UUID, owner: psycopg.Connection
) -> None:
    await tried(db, password="errada")
    kept = repr(owner.execute("SELECT * FROM sign_in_throttles").fetchall())
    assert "ana" not in kept
    assert "192.0.2.1" not in kept


async def test_signing_out_everywhere_ends_what_was_signed_in_before(db: Database, person: UUID) -> None:
    before = await tried(db)
    assert isinstance(before, SignedIn)
    async with db.connection() as conn:
        assert (await find_principal(conn, person, before.epoch)).role is Role.agent
        fresh = await sign_out_everywhere(conn, person)
        with pytest.raises(Refusal, match="signed_out"):
            await find_principal(conn, person, before.epoch)
        assert (await find_principal(conn, person, fresh.epoch)).user_id == person


async def test_a_changed_password_ends_the_old_one_and_every_sign_in(db: Database, person: UUID) -> None:
    new = make_password()
    async with db.connection() as conn:
        with pytest.raises(Refusal, match="wrong_password"):
            await change_password(conn, PASSWORDS, person, current="errada", new=new)
        with pytest.raises(Refusal, match="weak_password"):
            await change_password(conn, PASSWORDS, person, current=PASSWORD, new="curta")
        changed = await change_password(conn, PASSWORDS, person, current=PASSWORD, new=new)
        with pytest.raises(Refusal, match="signed_out"):
            await find_principal(conn, person, 0)
        with pytest.raises(Refusal, match="user_not_found"):
            await set_password(conn, uuid4(), "hash")
    assert await tried(db) == "invalid_credentials"
    assert await tried(db, password=new) == changed


async def test_a_user_of_several_organizations_has_the_first_by_default_and_picks_another(
    db: Database, person: UUID, make: Factory, owner: psycopg.Connection
) -> None:
    second, foreign = make.organization("Segunda"), make.organization("Alheia")
    owner.execute("INSERT INTO user_organizations VALUES (%s, %s, 'admin')", (second, person))
    async with db.connection() as conn:
        first = await find_principal(conn, person, 0)
        picked = await find_principal(conn, person, 0, second)
        assert (first.role, picked.role, picked.organization_name) == (Role.agent, Role.admin, "Segunda")
        assert [m.organization_id for m in await list_memberships(conn, person)] == [
            first.organization_id, second,
        ]  # fmt: skip
        with pytest.raises(Refusal, match="not_a_member"):
            await find_principal(conn, person, 0, foreign)
        owner.execute(
            "UPDATE user_organizations SET revoked_at = now() WHERE organization_id = %s", (second,)
        )
        with pytest.raises(Refusal, match="not_a_member"):
            await find_principal(conn, person, 0, second)
