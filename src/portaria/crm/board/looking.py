"""Counting and searching, as far as the reader may see (provider facts 7)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from portaria.crm.inbox import Conversation
from portaria.crm.leads import Lead
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.identity.principal import Principal, Role

_Q = load_queries("portaria.crm.board")


@dataclass(frozen=True, slots=True)
class StageCount:
    """Open leads of one stage, counted up to 1,000: that many may be more."""

    stage: str
    leads: int


@dataclass(frozen=True, slots=True)
class Unowned:
    """Open leads without an owner, counted up to 1,000, and since when the oldest one waits."""

    leads: int
    oldest_at: datetime | None


async def count_stages(conn: Connection, principal: Principal) -> list[StageCount]:
    """The stages of the open leads that the principal may see: `new`, then by their oldest lead."""
    reach = _reach(principal)
    query = _Q["count_stages" if reach["everything"] else "count_stages_of_agent"]
    async with conn.cursor(row_factory=class_row(StageCount)) as cursor:
        return await (await cursor.execute(query, reach)).fetchall()


async def count_unowned(conn: Connection, principal: Principal) -> Unowned:
    """*Sem dono*; none for whoever may not see them."""
    async with conn.cursor(row_factory=class_row(Unowned)) as cursor:
        [found] = await (await cursor.execute(_Q["count_unowned"], _reach(principal))).fetchall()
    return found


async def search_leads(conn: Connection, principal: Principal, text: str, *, limit: int) -> list[Lead]:
    """Leads with this word in their title, or in their contact's name, phone or e-mail."""
    parameters = {**_reach(principal), "like": _like(text), "phone": _phone(text), "limit": limit}
    async with conn.cursor(row_factory=class_row(Lead)) as cursor:
        return await (await cursor.execute(_Q["search_leads"], parameters)).fetchall()


async def search_conversations(
    conn: Connection, organization_id: UUID, text: str, *, limit: int
) -> list[Conversation]:
    """Conversations whose contact has this word in the name, username or phone, the latest first."""
    parameters = {
        "organization_id": organization_id, "like": _like(text), "phone": _phone(text), "limit": limit,
    }  # fmt: skip
    async with conn.cursor(row_factory=class_row(Conversation)) as cursor:
        return await (await cursor.execute(_Q["search_conversations"], parameters)).fetchall()


def _reach(principal: Principal) -> dict[str, object]:
    return {
        "organization_id": principal.organization_id, "user_id": principal.user_id,
        "everything": principal.role != Role.agent,
    }  # fmt: skip


def _like(text: str) -> str:
    escaped = text.replace("\x00", "").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _phone(text: str) -> str | None:
    """The digits of what may be a phone or a part of one."""
    digits = "".join(c for c in text if c.isascii() and c.isdigit())
    return f"%{digits}%" if len(digits) >= 4 and not any(c.isalpha() for c in text) else None
