"""Who is asking: the principal that console and API share, read anew for every request."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Self
from uuid import UUID

from psycopg.rows import class_row, dict_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal

_Q = load_queries("portaria.identity")


class Role(IntEnum):
    """Roles in an organization: each may do what the lower ones may (provider facts 7)."""

    viewer = 1
    agent = 2
    manager = 3
    admin = 4

    @classmethod
    def of(cls, name: str) -> Self:
        """The role of that name. Raises a 422 `Refusal`."""
        try:
            return cls[name]
        except KeyError:
            raise Refusal(422, "unknown_role", "The role is one of viewer, agent, manager, admin.") from None


@dataclass(frozen=True, slots=True)
class Principal:
    """A signed-in user in one of their organizations."""

    user_id: UUID
    email: str
    name: str
    is_operator: bool
    organization_id: UUID
    organization_name: str
    role: Role
    time_zone: str
    locale: str


@dataclass(frozen=True, slots=True)
class Membership:
    """An organization the user may choose."""

    organization_id: UUID
    name: str
    role: str


async def find_principal(
    conn: Connection, user_id: UUID, epoch: int, organization_id: UUID | None = None
) -> Principal:
    """The user as a member of `organization_id`, by default of the one joined first.

    `epoch` is the user's `sessions_epoch` at sign-in. Raises `Refusal`: 401 when the sign-in has ended,
    403 when the user is no member there (any more).
    """
    parameters = {"user_id": user_id, "epoch": epoch, "organization_id": organization_id}
    async with conn.cursor(row_factory=dict_row) as cursor:
        row = await (await cursor.execute(_Q["principal"], parameters)).fetchone()
    if row is None:
        raise Refusal(401, "signed_out", "This sign-in has ended: sign in again.")
    if row["role"] is None:
        raise Refusal(403, "not_a_member", "You are not a member of this organization.")
    return Principal(**{**row, "role": Role.of(row["role"])})


async def list_memberships(conn: Connection, user_id: UUID) -> list[Membership]:
    """The organizations the user is a member of, the first joined first."""
    async with conn.cursor(row_factory=class_row(Membership)) as cursor:
        return await (await cursor.execute(_Q["memberships"], {"user_id": user_id})).fetchall()
