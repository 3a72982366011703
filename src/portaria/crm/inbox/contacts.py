"""Unblocking: no message ever does it, only a person (provider facts 6)."""

from uuid import UUID

from portaria.audit import record
from portaria.db.pool import Connection
from portaria.db.queries import load_queries
from portaria.errors import Refusal

_Q = load_queries("portaria.crm.inbox")


async def unblock_contact(
    conn: Connection, organization_id: UUID, contact_id: UUID, *, actor: str | UUID
) -> bool:
    """Lets the contact be written to again; audited. Whether this call changed it.

    An opt-out already honoured does not block again when its message is replayed. Raises a 404 `Refusal`.
    """
    key = {"organization_id": organization_id, "contact_id": contact_id}
    async with conn.transaction():
        if (await conn.execute(_Q["unblock_contact"], key)).rowcount == 0:
            [(exists,)] = await (await conn.execute(_Q["contact_exists"], key)).fetchall()
            if not exists:
                raise Refusal(404, "contact_not_found", "There is no such contact.")
            return False
        await record(
            conn, organization_id=organization_id, action="contact.unblocked", actor=actor,
            resource_kind="contact", resource_id=contact_id,
        )  # fmt: skip
    return True
