"""Members: added, given roles, revoked; an organization keeps an admin; nobody takes another's user over."""

import asyncio
from uuid import UUID, uuid4

import psycopg
import pytest

from portaria.db.pool import Connection, Database
from portaria.errors import Refusal
from portaria.identity.members import (
    add_member,
    change_role,
    find_member,
    find_member_id,
    list_members,
    revoke_member,
)
from tests.support.factory import Factory


async def added(
    db: Database, org: UUID, email: str = "bia@exemplo.test", role: str = "agent", name: str = "Bia"
):
    async with db.connection() as conn:
        return await add_member(
            conn, org, email=email, name=name, role=role, password_hash="hash", actor="cli"
        )


def audited(owner: psycopg.Connection, org: UUID) -> list[str]:
    rows = owner.execute(
        "SELECT action FROM api_audit_log WHERE organization_id = %s ORDER BY created_at, id", (org,)
    )
    return [row[0] for row in rows]


async def test_a_person_joins_leaves_and_comes_back_and_all_is_audited(
    db: Database, make: Factory, owner: psycopg.Connection
) -> None:
    org = make.organization()
    make.member(org, "Admin", role="admin")
    person = await added(db, org)
    async with db.connection() as conn:
        await change_role(conn, org, person.user_id, "manager", actor="cli")
        await change_role(conn, org, person.user_id, "manager", actor="cli")
        await revoke_member(conn, org, person.user_id, actor="cli")
        assert (await find_member(conn, org, person.user_id)).revoked_at is not None
        back = await add_member(
            conn, org, email="BIA@exemplo.test", name="Outro nome", role="agent",
            password_hash="other", actor="cli",
        )  # fmt: skip
        member = await find_member(conn, org, person.user_id)
    assert (back.user_id, back.is_new_user) == (person.user_id, False)
    assert (member.name, member.role, member.revoked_at) == ("Bia", "agent", None)
    assert audited(owner, org) == ["member.added", "member.role_changed", "member.revoked", "member.restored"]


async def test_another_organizations_admin_cannot_take_a_user_over(
    db: Database, make: Factory, owner: psycopg.Connection
) -> None:
    one, other = make.organization(), make.organization()
    person = await added(db, one)
    async with db.connection() as conn:
        joined = await add_member(
            conn, other, email="bia@exemplo.test", name="Mudada", role="admin",
            password_hash="stolen", actor="cli",
        )  # fmt: skip
        assert not joined.is_new_user
        assert (await find_member(conn, one, person.user_id)).role == "agent"
    assert owner.execute("SELECT name, password_hash FROM users").fetchall() == [("Bia", "hash")]


async def test_the_same_person_added_at_once_is_one_user_and_one_member(
    db: Database, make: Factory, owner: psycopg.Connection
) -> None:
    org = make.organization()
    outcomes = await asyncio.gather(*(added(db, org) for _ in range(8)), return_exceptions=True)
    refused = [o for o in outcomes if isinstance(o, BaseException)]
    assert {getattr(o, "code", o) for o in refused} == {"already_a_member"}
    assert len(refused) == 7
    assert owner.execute("SELECT count(*) FROM users").fetchone() == (1,)


async def test_two_admins_who_revoke_each_other_leave_one(db: Database, make: Factory) -> None:
    org = make.organization()
    pair = [make.member(org, role="admin") for _ in range(2)]

    async def revoke(who: UUID) -> None:
        async with db.connection() as conn:
            await revoke_member(conn, org, who, actor="cli")

    outcomes = await asyncio.gather(*(revoke(who) for who in pair), return_exceptions=True)
    assert sorted(getattr(o, "code", "done") for o in outcomes) == ["done", "last_admin"]
    async with db.connection() as conn:
        [left] = await list_members(conn, org, limit=9)
        with pytest.raises(Refusal, match="last_admin"):
            await change_role(conn, org, left.user_id, "manager", actor="cli")


async def test_what_the_member_held_is_released_in_the_revoking_transaction_or_nothing_is_revoked(
    db: Database, make: Factory, owner: psycopg.Connection
) -> None:
    org = make.organization()
    person = make.member(org)
    seen = []

    async def release(conn: Connection, organization_id: UUID, user_id: UUID, actor: str) -> None:
        row = await (await conn.execute("SELECT revoked_at IS NOT NULL FROM user_organizations")).fetchone()
        seen.append((organization_id, user_id, actor, row))
        raise RuntimeError("leads could not be released")

    async with db.connection() as conn:
        with pytest.raises(RuntimeError):
            await revoke_member(conn, org, person, actor="cli", on_revoke=release)
        assert (await find_member(conn, org, person)).revoked_at is None
    assert seen == [(org, person, "cli", (True,))]
    assert audited(owner, org) == []


UNFIT = [
    ("sem-arroba", "Bia", "agent", "invalid_email"),
    ("a@b\x00c", "Bia", "agent", "invalid_email"),
    ("a b@c", "Bia", "agent", "invalid_email"),
    ("x" * 255 + "@c", "Bia", "agent", "invalid_email"),
    ("a@b.c", "", "agent", "invalid_name"),
    ("a@b.c", "a\x00b", "agent", "invalid_name"),
    ("a@b.c", "a\ud800", "agent", "invalid_name"),
    ("a@b.c", "x" * 256, "agent", "invalid_name"),
    ("a@b.c", "Bia", "owner", "unknown_role"),
]


async def test_what_cannot_be_a_member_is_refused(db: Database, make: Factory) -> None:
    org = make.organization()
    for email, name, role, code in UNFIT:
        with pytest.raises(Refusal, match=code):
            await added(db, org, email, role, name)


async def test_names_in_any_script_are_kept_as_they_are(db: Database, make: Factory) -> None:
    org = make.organization()
    for number, name in enumerate(("<img src=x onerror=alert(1)>", "می‌خواهم", "👨‍👩‍👧 Família", "D'Ávila")):
        person = await added(db, org, f"p{number}@exemplo.test", name=name)
        async with db.tenant(org) as conn:
            assert (await find_member(conn, org, person.user_id)).name == name


async def test_unknown_people_and_organizations_are_refused(db: Database, make: Factory) -> None:
    org, other = make.organization(), make.organization()
    foreign = make.member(other)
    with pytest.raises(Refusal, match="organization_not_found"):
        await added(db, uuid4())
    async with db.connection() as conn:
        for act in (
            change_role(conn, org, foreign, "viewer", actor="cli"),
            revoke_member(conn, org, foreign, actor="cli"),
        ):
            with pytest.raises(Refusal, match="member_not_found"):
                await act
        with pytest.raises(Refusal, match="member_not_found"):
            await find_member_id(conn, org, "ninguem@exemplo.test")


async def test_the_list_is_paged_and_hides_former_members_unless_asked(db: Database, make: Factory) -> None:
    org = make.organization()
    people = [make.member(org, f"P{n}") for n in range(5)]
    async with db.connection() as conn:
        await revoke_member(conn, org, people[2], actor="cli")
    async with db.tenant(org) as conn:
        assert len(await list_members(conn, org, limit=9)) == 4
        seen, after = [], None
        while page := await list_members(conn, org, limit=2, with_revoked=True, after=after):
            seen += [m.user_id for m in page]
            after = (page[-1].created_at, page[-1].user_id)
    assert seen == people
