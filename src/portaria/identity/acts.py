"""The audit entries of what is done here."""

from uuid import UUID

from psycopg.types.json import Jsonb

from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.ids import uuid7

_Q = load_queries("portaria.identity")


async def record_act(
    conn: Connection,
    organization_id: UUID | None,
    action: str,
    actor: str,
    *,
    kind: str,
    resource_id: UUID,
    **metadata: object,
) -> None:
    """Appends the entry in the caller's transaction."""
    await conn.execute(
        _Q["record_act"],
        {
            "id": uuid7(), "organization_id": organization_id, "action": action, "actor": actor,
            "resource_kind": kind, "resource_id": str(resource_id), "metadata": Jsonb(metadata),
        },
    )  # fmt: skip
