"""Reading leads, as far as the reader may see them.

Viewers, managers and admins see every lead of the organization; an agent sees their own and, by the
organization's setting, those without an owner (provider facts 7).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal
from portaria.identity.principal import Principal, Role

_Q = load_queries("portaria.crm.leads")

Status = Literal["open", "won", "lost"]


@dataclass(frozen=True, slots=True)
class Lead:
    """A lead with the names people know it by. Times are UTC."""

    organization_id: UUID
    id: UUID
    contact_id: UUID
    contact_name: str | None
    phone_number: str | None
    email: str | None
    conversation_id: UUID | None
    title: str
    source: str
    stage: str
    status: str
    tags: list[str]
    owner_user_id: UUID | None
    owner_name: str | None
    assigned_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class LeadFilter:
    """Which leads; None is all. `owner` is a member's id, or `none`: without an owner."""

    owner: UUID | Literal["none"] | None = None
    status: Status | None = None
    stage: str | None = None
    contact_id: UUID | None = None


async def list_leads(
    conn: Connection,
    principal: Principal,
    *,
    limit: int,
    filter: LeadFilter = LeadFilter(),
    after: tuple[datetime, UUID] | None = None,
) -> list[Lead]:
    """The leads that the principal may see, the newest first; `after`: the last one already seen."""
    after_at, after_id = after or (None, None)
    async with conn.cursor(row_factory=class_row(Lead)) as cursor:
        await cursor.execute(
            _Q["list_leads"],
            {
                **await _reach(conn, principal, filter.owner), "organization_id": principal.organization_id,
                "status": filter.status, "stage": filter.stage, "contact_id": filter.contact_id,
                "after_at": after_at, "after_id": after_id, "limit": limit,
            },
        )  # fmt: skip
        return await cursor.fetchall()


async def list_unowned(conn: Connection, principal: Principal, *, limit: int) -> list[Lead]:
    """*Sem dono*: open leads without an owner, the longest waiting first; none for who may not see them."""
    if not (await _reach(conn, principal, "none"))["unowned"]:
        return []
    parameters = {"organization_id": principal.organization_id, "limit": limit}
    async with conn.cursor(row_factory=class_row(Lead)) as cursor:
        return await (await cursor.execute(_Q["list_unowned"], parameters)).fetchall()


async def find_lead(conn: Connection, principal: Principal, lead_id: UUID) -> Lead:
    """The lead. Raises a 404 `Refusal`, also for one that the principal may not see."""
    reach = await _reach(conn, principal, None)
    parameters = {"organization_id": principal.organization_id, "lead_id": lead_id}
    async with conn.cursor(row_factory=class_row(Lead)) as cursor:
        lead = await (await cursor.execute(_Q["find_lead"], parameters)).fetchone()
    seen = lead is not None and (
        reach["everything"]
        or lead.owner_user_id == principal.user_id
        or (reach["unowned"] and lead.owner_user_id is None)
    )
    if lead is None or not seen:
        raise Refusal(404, "lead_not_found", "There is no such lead.")
    return lead


async def _reach(
    conn: Connection, principal: Principal, owner: UUID | Literal["none"] | None
) -> dict[str, object]:
    """What the query may walk: everything, one owner's leads, those without an owner."""
    agent = principal.role == Role.agent
    unowned = not agent or await _agents_see_unowned(conn, principal.organization_id)
    if owner == "none":
        return {"everything": False, "owner": None, "unowned": unowned}
    if owner is not None:
        return {
            "everything": False, "unowned": False,
            "owner": owner if not agent or owner == principal.user_id else None,
        }  # fmt: skip
    return {
        "everything": not agent,
        "owner": principal.user_id if agent else None,
        "unowned": agent and unowned,
    }


async def _agents_see_unowned(conn: Connection, organization_id: UUID) -> bool:
    row = await (
        await conn.execute(_Q["agents_see_unowned"], {"organization_id": organization_id})
    ).fetchone()
    return row is not None and bool(row[0])
