"""Members: who belongs to an organization, and with which role.

A membership is never deleted: leads, turns and the audit point to it. Every change locks memberships in
the order of their `user_id`, as everywhere (spec 2.3).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.errors import ForeignKeyViolation
from psycopg.rows import class_row, dict_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.identity.acts import record_act
from portaria.identity.principal import Role
from portaria.identity.wording import clean_email, clean_name
from portaria.ids import uuid7

_Q = load_queries("portaria.identity")

OnRevoke = Callable[[Connection, UUID, UUID, str], Awaitable[object]]
"""Called with organization, user and actor in the transaction that revokes: lets go what the member held."""


@dataclass(frozen=True, slots=True)
class Member:
    """A membership; former when `revoked_at` is set. Times are UTC."""

    user_id: UUID
    email: str
    name: str
    role: str
    is_operator: bool
    revoked_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Added:
    """Outcome of adding: `is_new_user` is False where the e-mail already had a user, left untouched."""

    user_id: UUID
    is_new_user: bool


async def add_member(
    conn: Connection,
    organization_id: UUID,
    *,
    email: str,
    name: str,
    role: str,
    password_hash: str | None,
    actor: str,
) -> Added:
    """Adds the person, or brings back a former member; audited.

    A user who already exists keeps name and password: another organization's admin must not take them
    over. Raises a `Refusal`: 404 for an unknown organization, 409 for a live member, 422.
    """
    email, name, role = clean_email(email), clean_name(name), Role.of(role).name
    async with conn.transaction():
        made = uuid7()
        values = {"id": made, "email": email, "name": name, "password_hash": password_hash}
        is_new = (await conn.execute(_Q["insert_user"], values)).rowcount == 1
        if not is_new:
            [(made,)] = await (await conn.execute(_Q["find_user"], {"email": email})).fetchall()
        action = await _join(conn, organization_id, made, role)
        await record_act(conn, organization_id, action, actor, kind="member", resource_id=made, role=role)
    return Added(made, is_new)


async def change_role(
    conn: Connection, organization_id: UUID, user_id: UUID, role: str, *, actor: str
) -> None:
    """Gives a live member another role; audited. Raises a `Refusal`: 404, 409 for the last admin, 422."""
    role = Role.of(role).name
    async with conn.transaction():
        before = await _lock_live(conn, organization_id, user_id, stays_admin=role == "admin")
        if before == role:
            return
        await conn.execute(
            _Q["set_role"], {"organization_id": organization_id, "user_id": user_id, "role": role}
        )
        await record_act(
            conn, organization_id, "member.role_changed", actor, kind="member", resource_id=user_id,
            role=role, before=before,
        )  # fmt: skip


async def revoke_member(
    conn: Connection, organization_id: UUID, user_id: UUID, *, actor: str, on_revoke: OnRevoke | None = None
) -> None:
    """Ends a membership at once; audited. Raises a `Refusal`: 404, 409 for the last admin.

    `on_revoke` runs in the same transaction, after the membership is locked: it is where the member's
    open leads are released (spec 4, `fn_release_leads`). If it fails, nothing is revoked.
    """
    async with conn.transaction():
        await _lock_live(conn, organization_id, user_id, stays_admin=False)
        await conn.execute(_Q["revoke_member"], {"organization_id": organization_id, "user_id": user_id})
        if on_revoke is not None:
            await on_revoke(conn, organization_id, user_id, actor)
        await record_act(conn, organization_id, "member.revoked", actor, kind="member", resource_id=user_id)


async def list_members(
    conn: Connection,
    organization_id: UUID,
    *,
    limit: int,
    with_revoked: bool = False,
    after: tuple[datetime, UUID] | None = None,
) -> list[Member]:
    """The members, the first to join first. `after`: the `created_at` and user id already seen."""
    after_at, after_id = after or (None, None)
    parameters = {
        "organization_id": organization_id, "limit": limit, "with_revoked": with_revoked,
        "after_at": after_at, "after_id": after_id,
    }  # fmt: skip
    async with conn.cursor(row_factory=class_row(Member)) as cursor:
        return await (await cursor.execute(_Q["list_members"], parameters)).fetchall()


async def find_member(conn: Connection, organization_id: UUID, user_id: UUID) -> Member:
    """The member, former or not. Raises a 404 `Refusal`."""
    parameters = {"organization_id": organization_id, "user_id": user_id}
    async with conn.cursor(row_factory=class_row(Member)) as cursor:
        found = await (await cursor.execute(_Q["find_member"], parameters)).fetchone()
    if found is None:
        raise _no_member()
    return found


async def find_member_id(conn: Connection, organization_id: UUID, email: str) -> UUID:
    """The user id of the member with this e-mail. Raises a 404 `Refusal`."""
    parameters = {"organization_id": organization_id, "email": clean_email(email)}
    row = await (await conn.execute(_Q["find_member_by_email"], parameters)).fetchone()
    if row is None:
        raise _no_member()
    return UUID(str(row[0]))


async def _join(conn: Connection, organization_id: UUID, user_id: UUID, role: str) -> str:
    """Inserts or restores the membership; the name of what happened."""
    key: dict[str, Any] = {"organization_id": organization_id, "user_id": user_id}
    try:
        if (await conn.execute(_Q["insert_member"], {**key, "role": role})).rowcount == 1:
            return "member.added"
    except ForeignKeyViolation:
        raise Refusal(404, "organization_not_found", "There is no such organization.") from None
    locked = await _lock(conn, organization_id, user_id)
    if locked[user_id]["revoked_at"] is None:
        raise Refusal(409, "already_a_member", "This person is already a member.")
    await conn.execute(_Q["restore_member"], {**key, "role": role})
    return "member.restored"


async def _lock_live(conn: Connection, organization_id: UUID, user_id: UUID, *, stays_admin: bool) -> str:
    """Locks the live member and returns their role; refuses to take the last admin away."""
    locked = await _lock(conn, organization_id, user_id)
    member = locked.pop(user_id, None)
    if member is None or member["revoked_at"] is not None:
        raise _no_member()
    if member["role"] == "admin" and not stays_admin and not locked:
        raise Refusal(409, "last_admin", "An organization keeps at least one admin: name another first.")
    return str(member["role"])


async def _lock(conn: Connection, organization_id: UUID, user_id: UUID) -> dict[UUID, dict[str, Any]]:
    parameters = {"organization_id": organization_id, "user_id": user_id}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_Q["lock_member_and_admins"], parameters)
        return {row["user_id"]: row for row in await cursor.fetchall()}


def _no_member() -> Refusal:
    return Refusal(404, "member_not_found", "There is no such member.")
