"""The audit: entries commit with the act, are read by their own organization, and never change."""

from uuid import uuid4

import psycopg
import pytest

from portaria.audit import AuditFilter, list_entries, record
from portaria.db.pool import Database
from tests.support.factory import Factory


async def test_an_entry_commits_with_its_act_or_not_at_all(db: Database, make: Factory) -> None:
    org = make.organization()

    async def act_that_fails() -> None:
        async with db.transaction() as conn:
            await record(conn, organization_id=org, action="channel.archived", actor="cli")
            raise RuntimeError("the act failed")

    with pytest.raises(RuntimeError):
        await act_that_fails()
    async with db.tenant(org) as conn:
        assert await list_entries(conn, org, operator=False, limit=5) == []
        await record(
            conn, organization_id=org, action="contact.unblocked", actor=uuid4(), resource_kind="contact",
            resource_id=uuid4(), metadata={"reason": "pediu de volta"},
        )  # fmt: skip
    async with db.tenant(org) as conn:
        [entry] = await list_entries(conn, org, operator=False, limit=5)
    assert (entry.action, entry.metadata) == ("contact.unblocked", {"reason": "pediu de volta"})


async def test_nobody_appends_to_or_reads_another_organizations_audit(db: Database, make: Factory) -> None:
    org, other = make.organization(), make.organization()
    async with db.connection() as conn:
        for where in (org, other, None):
            await record(conn, organization_id=where, action="x", actor="system")
    async with db.tenant(org) as conn:
        assert len(await list_entries(conn, org, operator=True, limit=9)) == 1
        assert await list_entries(conn, other, operator=False, limit=9) == []
    async with db.tenant(org, operator=True) as conn:
        assert len(await list_entries(conn, org, operator=True, limit=9)) == 2
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with db.tenant(org) as conn:
            await record(conn, organization_id=other, action="x", actor="system")


@pytest.mark.parametrize("statement", ["UPDATE api_audit_log SET action = 'y'", "DELETE FROM api_audit_log"])
@pytest.mark.parametrize("as_tenant", [True, False])
async def test_an_entry_never_changes(db: Database, make: Factory, statement: str, as_tenant: bool) -> None:
    org = make.organization()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with db.tenant(org) if as_tenant else db.transaction() as conn:
            await conn.execute(statement)  # type: ignore[call-overload]


async def test_filters_and_pages(db: Database, make: Factory) -> None:
    org, lead = make.organization(), uuid4()
    async with db.transaction() as conn:  # one transaction: every entry has the same time
        for n in range(5):
            await record(
                conn, organization_id=org, action="a" if n % 2 else "b", actor="u",
                resource_kind="lead", resource_id=lead if n == 3 else uuid4(),
            )  # fmt: skip
    async with db.tenant(org) as conn:
        of_lead = AuditFilter(resource_kind="lead", resource_id=str(lead))
        assert len(await list_entries(conn, org, operator=False, limit=9, filter=of_lead)) == 1
        seen, after = [], None
        while page := await list_entries(
            conn, org, operator=False, limit=2, filter=AuditFilter(action="b"), after=after
        ):
            seen += [entry.id for entry in page]
            after = (page[-1].created_at, page[-1].id)
    assert len(seen) == len(set(seen)) == 3
