"""What the rules did: the runs behind *Atividade*."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.automations")


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of one rule; `actions_result[]` holds `{type, status, detail}` per action."""

    id: UUID
    rule_id: UUID
    event_id: UUID
    lead_id: UUID | None
    status: str
    actions_result: list[dict[str, Any]]
    created_at: datetime
    finished_at: datetime | None


async def list_runs(
    conn: Connection,
    organization_id: UUID,
    rule_id: UUID,
    *,
    limit: int,
    after: tuple[datetime, UUID] | None = None,
) -> list[Run]:
    """A rule's runs, a deleted rule's too, the newest first; `after`: the last one already seen."""
    after_at, after_id = after or (None, None)
    async with conn.cursor(row_factory=class_row(Run)) as cursor:
        await cursor.execute(
            _Q["list_runs"],
            {
                "organization_id": organization_id, "rule_id": rule_id, "limit": limit,
                "after_at": after_at, "after_id": after_id,
            },
        )  # fmt: skip
        return await cursor.fetchall()


async def list_lead_runs(conn: Connection, organization_id: UUID, lead_id: UUID, *, limit: int) -> list[Run]:
    """What the rules did with one lead, the newest first."""
    parameters = {"organization_id": organization_id, "lead_id": lead_id, "limit": limit}
    async with conn.cursor(row_factory=class_row(Run)) as cursor:
        return await (await cursor.execute(_Q["list_lead_runs"], parameters)).fetchall()
