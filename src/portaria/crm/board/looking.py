"""Counting and searching, as far as the reader may see (provider facts 7)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import class_row

from portaria.crm.inbox import Conversation
from portaria.crm.leads import Lead
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.identity.principal import Principal, Role

_Q = load_queries("portaria.crm.board")
_T = TypeVar("_T")

_GRAM: Final = 3
"""The characters in a row by which the index knows a text (fn_grams)."""

_WINDOW, _WINDOW_OF_SHORT = 200, 20_000
"""The newest rows that a search looks at before it asks the index, and in the index's place."""


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
    """Leads with this word in their title, or in their contact's name, phone or e-mail, the newest first."""
    parameters = {**_reach(principal), **_sought(text), "limit": limit}
    async with conn.cursor(row_factory=class_row(Lead)) as cursor:
        return await _search(cursor, "leads", parameters)


async def search_conversations(
    conn: Connection, organization_id: UUID, text: str, *, limit: int
) -> list[Conversation]:
    """Conversations whose contact has this word in the name, username or phone, the latest first."""
    parameters = {"organization_id": organization_id, **_sought(text), "limit": limit}
    async with conn.cursor(row_factory=class_row(Conversation)) as cursor:
        return await _search(cursor, "conversations", parameters)


async def _search(cursor: AsyncCursor[_T], what: str, parameters: dict[str, Any]) -> list[_T]:
    """A page of the newest, where they fill it; else of all. A text too short for the index is sought in a
    larger part of the newest.
    """
    short = len(parameters["text"]) < _GRAM
    window = _WINDOW_OF_SHORT if short else _WINDOW
    await cursor.execute(_Q[f"search_latest_{what}"], {**parameters, "window": window})
    rows = await cursor.fetchall()
    if not short and len(rows) < parameters["limit"]:
        await cursor.execute(_Q[f"search_{what}"], parameters)
        rows = await cursor.fetchall()
    return rows


def _reach(principal: Principal) -> dict[str, object]:
    return {
        "organization_id": principal.organization_id, "user_id": principal.user_id,
        "everything": principal.role != Role.agent,
    }  # fmt: skip


def _sought(text: str) -> dict[str, str | None]:
    """The text, and the digits of what may be a phone or a part of one, if the text is more than they are;
    each also as a pattern.
    """
    text = text.replace("\x00", "")
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    digits = "".join(c for c in text if c.isascii() and c.isdigit())
    phone = digits if len(digits) >= 4 and not any(c.isalpha() for c in text) else None
    return {
        "text": text, "like": f"%{escaped}%", "digits": None if phone == text else phone,
        "phone": f"%{phone}%" if phone else None,
    }  # fmt: skip
