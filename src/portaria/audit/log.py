"""Appending to the audit, and reading it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.ids import uuid7

_Q = load_queries("portaria.audit")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One act. `actor` is a user's id, `system`, `cli` or the name of a cron; times are UTC."""

    id: UUID
    organization_id: UUID | None
    action: str
    actor: str
    resource_kind: str | None
    resource_id: str | None
    metadata: dict[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries; `None` is all. `since` is included, `until` is not."""

    action: str | None = None
    actor: str | None = None
    resource_kind: str | None = None
    resource_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


async def record(
    conn: Connection,
    *,
    organization_id: UUID | None,
    action: str,
    actor: str | UUID,
    resource_kind: str | None = None,
    resource_id: str | UUID | None = None,
    metadata: Mapping[str, object] | None = None,
) -> None:
    """Appends one entry on the caller's connection, so that act and entry commit together.

    `metadata` must be JSON, and must never hold a secret or the content of a message.
    """
    await conn.execute(
        _Q["record"],
        {
            "id": uuid7(), "organization_id": organization_id, "action": action, "actor": str(actor),
            "resource_kind": resource_kind,
            "resource_id": None if resource_id is None else str(resource_id),
            "metadata": Jsonb(dict(metadata or {})),
        },
    )  # fmt: skip


async def list_entries(
    conn: Connection,
    organization_id: UUID,
    *,
    operator: bool,
    limit: int,
    filter: AuditFilter = AuditFilter(),
    after: tuple[datetime, UUID] | None = None,
) -> list[AuditEntry]:
    """The organization's entries, for an `operator` also those of no organization; the newest first."""
    after_at, after_id = after or (None, None)
    async with conn.cursor(row_factory=class_row(AuditEntry)) as cursor:
        await cursor.execute(
            _Q["list_entries"],
            {
                **asdict(filter), "organization_id": organization_id, "operator": operator, "limit": limit,
                "after_at": after_at, "after_id": after_id,
            },
        )  # fmt: skip
        return await cursor.fetchall()
