"""What becomes of a member's leads when they leave (spec 4, better than the seed)."""

from uuid import UUID

from portaria.db.pool import Connection
from portaria.db.queries import load_queries

_Q = load_queries("portaria.crm.departure")


async def release_leads(conn: Connection, organization_id: UUID, user_id: UUID, actor: str) -> int:
    """Clears the owner of the member's open leads, each with its `lead.unassigned`; how many.

    In the transaction that revokes the membership, after it: pass it to `revoke_member` as `on_revoke`.
    """
    parameters = {"organization_id": organization_id, "user_id": user_id, "actor": actor}
    [(count,)] = await (await conn.execute(_Q["release_leads"], parameters)).fetchall()
    return int(count)
