"""A revoked member's open leads lose their owner in the revoking transaction, each with its event."""

import psycopg

from portaria.crm.departure import release_leads
from portaria.db.pool import Database
from portaria.identity.members import revoke_member
from portaria.ids import uuid7
from tests.support.factory import Factory


async def test_revoking_releases_the_members_open_leads_and_no_others(
    db: Database, make: Factory, owner: psycopg.Connection
) -> None:
    org = make.organization()
    leaves, stays, contact = make.member(org), make.member(org), uuid7()
    owner.execute("INSERT INTO contacts (organization_id, id) VALUES (%s, %s)", (org, contact))
    for title, who, status in (
        ("open", leaves, "open"), ("won", leaves, "won"), ("hers", stays, "open"),
    ):  # fmt: skip
        owner.execute(
            "INSERT INTO crm_leads (organization_id, id, contact_id, title, source, status, owner_user_id)"
            " VALUES (%s, %s, %s, %s, 'console', %s, %s)",
            (org, uuid7(), contact, title, status, who),
        )
    async with db.connection() as conn:
        await revoke_member(conn, org, leaves, actor="cli", on_revoke=release_leads)
    owners = dict(owner.execute("SELECT title, owner_user_id FROM crm_leads").fetchall())
    assert owners == {"open": None, "won": leaves, "hers": stays}
    events = owner.execute("SELECT count(*) FROM event_log WHERE event_type = 'lead.unassigned'").fetchone()
    assert events == (1,)
