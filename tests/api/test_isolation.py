"""Tenants are apart in the database itself: read from the catalog, so that a new table is tried at once."""

from uuid import UUID

import psycopg
import pytest

from portaria.db.pool import Connection, Database
from tests.api.world import World

# The queue's own, and what keeps account of migrations: nobody's rows.
NOT_OURS = ("procrastinate_%", "schema_migrations", "queue_migrations")
# One row each, or none that a tenant could have written.
BY_ID = {"organizations": "id"}


def tables(owner: psycopg.Connection) -> list[str]:
    found = owner.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
        " AND NOT relname LIKE ANY (%s) ORDER BY 1",
        (list(NOT_OURS),),
    ).fetchall()
    return [name for (name,) in found]


def tenant_tables(owner: psycopg.Connection) -> dict[str, str]:
    """Tables with an organization's rows that a tenant may read, and the column that says whose they are."""
    found = owner.execute(
        "SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid"
        " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
        " AND attname = 'organization_id'"
        " AND has_column_privilege('authenticated', attrelid, attnum, 'SELECT')"
    ).fetchall()
    return {name: "organization_id" for (name,) in found} | BY_ID


def test_every_table_has_row_level_security_and_no_policy_for_everybody(owner: psycopg.Connection) -> None:
    without = owner.execute(
        "SELECT relname FROM pg_class WHERE relname = ANY (%s) AND NOT relrowsecurity", (tables(owner),)
    ).fetchall()
    assert without == []
    open_to_tenants = owner.execute(
        "SELECT tablename, policyname, qual, with_check FROM pg_policies WHERE 'service_role' <> ALL (roles)"
        " AND coalesce(qual, with_check) !~ 'fn_current_organization|fn_is_operator'"
    ).fetchall()
    assert open_to_tenants == []
    assert owner.execute("SELECT count(*) FROM pg_policies WHERE 'public' = ANY (roles)").fetchone() == (0,)


async def test_the_applications_login_is_neither_owner_nor_superuser(db: Database) -> None:
    async with db.connection() as conn:
        assert not await db.is_owner(conn)
        [row] = await (
            await conn.execute(
                "SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = session_user"
            )
        ).fetchall()
    assert row == (False, False, False)


async def test_a_tenant_sees_its_own_rows_alone_and_without_an_organization_nothing(
    db: Database, world: World, owner: psycopg.Connection
) -> None:
    one, other = world.house(1), world.house(2)
    wrong, planted = [], 0
    for table, column in tenant_tables(owner).items():
        [(exists,)] = owner.execute(f"SELECT count(*) FROM {table}").fetchall()  # type: ignore[arg-type]
        planted += bool(exists)
        for organization in (one.id, other.id):
            async with db.tenant(organization) as conn:
                if foreign := await count(conn, table, f"{column} IS DISTINCT FROM %s", organization):
                    wrong.append((table, foreign))
                if exists and not await count(conn, table, f"{column} = %s", organization):
                    wrong.append((table, "its own rows are hidden"))
        async with db.transaction() as conn:
            await conn.execute("SET LOCAL ROLE authenticated")
            if seen := await count(conn, table, "true"):
                wrong.append((table, "without an organization", seen))
    assert wrong == []
    assert planted >= 12, "too few tables hold a row for this to mean anything"


async def test_a_tenant_writes_nothing_into_another_organization(
    db: Database, world: World, owner: psycopg.Connection
) -> None:
    one, other = world.house(1), world.house(2)
    before = world.fingerprint(one)
    changeable = owner.execute(
        "SELECT table_name, min(column_name) FROM information_schema.column_privileges"
        " WHERE grantee = 'authenticated' AND privilege_type = 'UPDATE' AND table_schema = 'public'"
        " GROUP BY 1"
    ).fetchall()
    assert len(changeable) >= 4
    for table, column in changeable:
        async with db.tenant(other.id, operator=True) as conn:
            statement = f"UPDATE {table} SET {column} = {column} WHERE organization_id = %s"
            assert (await conn.execute(statement, (one.id,))).rowcount == 0  # type: ignore[arg-type]
    for table in ("api_audit_log", "automation_rules"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            await plant(db, table, into=one.id, as_tenant=other.id)
    assert world.fingerprint(one) == before


async def test_a_tenant_sees_the_users_among_its_members_alone_and_no_secret_at_all(
    db: Database, world: World, owner: psycopg.Connection
) -> None:
    one, _ = world.house(1), world.house(2)
    members = owner.execute(
        "SELECT user_id FROM user_organizations WHERE organization_id = %s", (one.id,)
    ).fetchall()
    async with db.tenant(one.id, operator=True) as conn:
        seen = await (await conn.execute("SELECT id FROM users")).fetchall()
    assert set(seen) == set(members)
    for secret in (
        "users.password_hash", "channel_sessions.secret_ciphertext",
        "channel_sessions.previous_secret_ciphertext", "browser_sessions.data", "sign_in_throttles.key",
    ):  # fmt: skip
        may = owner.execute(
            "SELECT has_column_privilege('authenticated', %s, %s, 'SELECT')", secret.split(".")
        ).fetchone()
        assert may == (False,), secret


async def test_a_tenant_has_no_right_on_the_queue(owner: psycopg.Connection) -> None:
    found = owner.execute(
        "SELECT table_name, privilege_type FROM information_schema.role_table_grants"
        " WHERE grantee = 'authenticated' AND table_name LIKE 'procrastinate_%'"
    ).fetchall()
    assert found == []


async def count(conn: Connection, table: str, where: str, *values: object) -> int:
    [(found,)] = await (
        await conn.execute(f"SELECT count(*) FROM {table} WHERE {where}", values)  # type: ignore[arg-type]
    ).fetchall()
    return int(found)


async def plant(db: Database, table: str, *, into: UUID, as_tenant: UUID) -> None:
    rows = {
        "api_audit_log": "(id, organization_id, action, actor) VALUES (gen_random_uuid(), %s, 'x', 'x')",
        "automation_rules": "(id, organization_id, name, trigger_event)"
        " VALUES (gen_random_uuid(), %s, 'x', 'lead.created')",
    }
    async with db.tenant(as_tenant, operator=True) as conn:
        await conn.execute(f"INSERT INTO {table} {rows[table]}", (into,))  # type: ignore[arg-type]
