"""Who may what, read from the catalog: every table stands in a list here, every function that `authenticated`
may call too. A new one fails until somebody has decided whose it is.
"""

import psycopg
import pytest

from portaria.db.pool import Database
from portaria.identity.secret_box import SecretBox
from portaria.identity.tokens import Tokens
from tests.api.world import World
from tests.support.factory import Factory
from tests.support.http import SECRET_KEY

TENANT = {
    "user_organizations", "channel_sessions", "contacts", "contact_identities", "contact_opt_outs",
    "contact_suppressions", "conversations", "messages", "crm_leads", "event_log", "channel_templates",
    "lead_forms", "lead_form_submissions", "automation_rules", "automation_rule_runs",
    "automation_rodizio_atribuicoes", "push_subscriptions", "push_deliveries",
}  # fmt: skip
"""Every row is one organization's: part of its primary key, and of every foreign key between them."""

OFTEN_NOBODYS = {"webhook_events_log", "notices", "api_audit_log", "intake_minutes"}
"""Rows of an organization, or of none: those are the operators'."""

INSTALLATION = {"organizations", "users", "incoming_events"}
"""Rows of the whole installation, seen through a policy of their own."""

INNER = {"browser_sessions", "sign_in_throttles", "lead_form_rates", "cron_rounds"}
"""The service's alone."""

LIBRARYS = {
    "procrastinate_jobs", "procrastinate_events", "procrastinate_workers", "procrastinate_periodic_defers",
    "schema_migrations", "queue_migrations",
}  # fmt: skip
"""Made by the queue and by the migrations."""

MAY_CALL = {
    "fn_current_organization", "fn_is_operator", "fn_mark_read", "fn_lock_members", "fn_conditions_hold",
    "fn_lead_facts", "fn_rotation_queue", "fn_rotation_candidates", "fn_to_uuid",
    "fn_contacts_like", "fn_leads_titled_like", "fn_grams",
}  # fmt: skip
"""What a tenant's connection may execute."""

RUN_AS_OWNER = {
    "fn_emit_event_on_lead_change", "fn_enqueue_event", "fn_lock_members", "fn_erase_contact",
    "fn_contacts_like", "fn_leads_titled_like",
}  # fmt: skip
"""SECURITY DEFINER, each for its reason; none of them takes an organization from a tenant."""

SEEN = {
    "organizations", "user_organizations", "webhook_events_log", "contacts", "contact_identities",
    "contact_opt_outs", "conversations", "messages", "crm_leads", "event_log", "notices", "api_audit_log",
    "channel_templates", "incoming_events", "lead_forms", "lead_form_submissions", "automation_rules",
    "automation_rule_runs", "automation_rodizio_atribuicoes", "intake_minutes",
}  # fmt: skip
"""What a tenant reads whole."""

SEEN_IN_PART = {"users", "channel_sessions", "push_subscriptions"}
"""What holds secrets besides."""

WRITTEN = {
    "notices": {"UPDATE"}, "api_audit_log": {"INSERT"}, "lead_forms": {"INSERT", "UPDATE"},
    "automation_rules": {"INSERT", "UPDATE"}, "crm_leads": {"UPDATE"}, "conversations": {"UPDATE"},
    "contacts": {"UPDATE"},
}  # fmt: skip
"""What a tenant writes, whole or in some columns."""


def names(owner: psycopg.Connection, query: str, *params: object) -> set[str]:
    return {row[0] for row in owner.execute(query, params or None).fetchall()}


def tables(owner: psycopg.Connection) -> set[str]:
    return names(
        owner,
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')",
    )


def test_every_table_is_somebodys(owner: psycopg.Connection) -> None:
    kinds = [TENANT, OFTEN_NOBODYS, INSTALLATION, INNER, LIBRARYS]
    assert tables(owner) == set().union(*kinds)
    assert sum(map(len, kinds)) == len(tables(owner)), "one table in two lists"
    # What a schema can hold besides, and a policy does not reach.
    views = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = ANY (%s)"
    assert names(owner, views, ["v", "m", "f"]) == set()


def test_every_table_of_ours_is_guarded_and_none_is_forced_on_its_owner(owner: psycopg.Connection) -> None:
    guarded = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relrowsecurity"
    assert names(owner, guarded) == TENANT | OFTEN_NOBODYS | INSTALLATION | INNER
    assert names(owner, guarded + " AND relforcerowsecurity") == set()
    for whose in (TENANT, OFTEN_NOBODYS):
        columns = names(
            owner,
            "SELECT attrelid::regclass::text FROM pg_attribute WHERE attname = 'organization_id'"
            " AND attrelid::regclass::text = ANY (%s)",
            list(whose),
        )
        assert columns == whose


def test_a_policy_is_the_services_or_looks_at_the_organization(owner: psycopg.Connection) -> None:
    found = owner.execute(
        "SELECT tablename, policyname, roles::text[], cmd, coalesce(qual, ''), coalesce(with_check, '')"
        " FROM pg_policies WHERE schemaname = 'public'"
    ).fetchall()
    assert {(table, tuple(roles)) for table, name, roles, *_ in found if name == "service"} == {
        (table, ("service_role",)) for table in TENANT | OFTEN_NOBODYS | INSTALLATION | INNER
    }
    # In a sub-select: asked once for a query, not for each row that it reads.
    own = "(organization_id = ( SELECT fn_current_organization() AS fn_current_organization))"
    for table, name, roles, command, seen, written in found:
        if name == "service":
            continue
        assert roles == ["authenticated"], table
        if table in TENANT:
            assert seen == own, table
            assert written == own or command == "SELECT", table
        else:
            assert "SELECT fn_current_organization()" in seen or "SELECT fn_is_operator()" in seen, table
    unseen = TENANT - {table for table, name, *_ in found if name != "service"}
    assert unseen == {"contact_suppressions"}


def test_rights_of_a_tenant_are_these_alone(owner: psycopg.Connection) -> None:
    whole = (
        "SELECT table_name FROM information_schema.role_table_grants WHERE grantee = 'authenticated'"
        " AND table_schema = 'public' AND privilege_type = %s"
    )
    assert names(owner, whole, "SELECT") == SEEN
    in_part = (
        "SELECT table_name FROM information_schema.role_column_grants WHERE grantee = 'authenticated'"
        " AND table_schema = 'public' AND privilege_type = 'SELECT'"
    )
    assert names(owner, in_part) == SEEN | SEEN_IN_PART
    some = owner.execute(
        "SELECT table_name, privilege_type FROM information_schema.role_column_grants"
        " WHERE grantee = 'authenticated' AND table_schema = 'public' AND privilege_type <> 'SELECT'"
        " GROUP BY 1, 2"
    ).fetchall()
    written: dict[str, set[str]] = {}
    for table, right in some:
        written.setdefault(table, set()).add(right)
    assert written == WRITTEN
    for right in ("DELETE", "TRUNCATE", "TRIGGER", "REFERENCES"):
        assert names(owner, whole, right) == set()
    everybodys = (
        "SELECT table_name FROM information_schema.role_table_grants WHERE grantee = 'PUBLIC'"
        " AND table_schema = 'public'"
    )
    assert names(owner, everybodys) == set()
    sequences = (
        "SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace"
        " AND CASE WHEN relkind = 'S' THEN has_sequence_privilege('authenticated', oid, 'USAGE') END"
    )
    assert names(owner, sequences) == set()
    create = owner.execute(
        "SELECT rolname FROM pg_roles WHERE rolname IN ('authenticated', 'service_role', 'portaria_app')"
        " AND (has_schema_privilege(rolname, 'public', 'CREATE') OR rolsuper OR rolbypassrls"
        " OR rolcreaterole)"
    ).fetchall()
    assert create == []


def test_functions_are_the_services_and_these_few_a_tenants(owner: psycopg.Connection) -> None:
    of_ours = (
        "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        " AND starts_with(proname, 'fn_')"
    )
    callable_by = f"{of_ours} AND has_function_privilege(%s, oid, 'EXECUTE')"
    assert names(owner, callable_by, "authenticated") == MAY_CALL
    assert names(owner, callable_by, "service_role") == names(owner, of_ours)
    anybody = (
        "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        " AND (proacl IS NULL OR proacl::text LIKE '%{=X%' OR proacl::text LIKE '%,=X%')"
    )
    assert names(owner, anybody) == set()
    definers = owner.execute(
        "SELECT proname, proconfig FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef"
    ).fetchall()
    assert {name for name, _ in definers} == RUN_AS_OWNER
    assert {config and config[0] for _, config in definers} == {"search_path=pg_catalog, public, pg_temp"}
    queue = (
        "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        " AND has_function_privilege('authenticated', oid, 'EXECUTE') AND NOT starts_with(proname, 'fn_')"
    )
    assert names(owner, queue) == set()


def test_every_key_of_a_tenants_table_holds_the_organization(owner: psycopg.Connection) -> None:
    """So a row can never point into another organization."""
    keys = owner.execute(
        "SELECT c.conrelid::regclass::text, c.contype, c.confrelid::regclass::text,"
        " ARRAY(SELECT attname::text FROM unnest(c.conkey) AS k JOIN pg_attribute ON attrelid = c.conrelid"
        "  AND attnum = k),"
        " ARRAY(SELECT attname::text FROM unnest(c.confkey) WITH ORDINALITY AS k (k, n)"
        "  JOIN pg_attribute ON attrelid = c.confrelid AND attnum = k ORDER BY n), c.condeferrable"
        " FROM pg_constraint c WHERE c.connamespace = 'public'::regnamespace AND c.contype IN ('p', 'f')"
        " AND c.conrelid::regclass::text = ANY (%s)",
        (list(TENANT | OFTEN_NOBODYS),),
    ).fetchall()
    primary = {table for table, kind, *_ in keys if kind == "p"}
    assert primary == (TENANT | OFTEN_NOBODYS) - {"intake_minutes"}
    for table, kind, to, own, theirs, deferrable in keys:
        assert not deferrable
        if kind == "p" and table in TENANT:
            assert "organization_id" in own, table
        if kind == "f":
            assert table in TENANT, f"{table} must be writable before its tenant is known"
            if to in ("organizations", "users"):
                assert theirs == ["id"]
            else:
                assert "organization_id" in own, (table, own)
                assert "organization_id" in theirs, (to, theirs)


async def test_by_rows_a_tenant_reads_and_writes_what_the_lists_say_and_no_more(
    db: Database, world: World, owner: psycopg.Connection
) -> None:
    """The lists above, tried: every table, every verb, on rows of another organization and of one's own."""
    ours, theirs = world.house(1), world.house(2)
    wrong: list[tuple[str, str, object]] = []
    for table in sorted(TENANT | OFTEN_NOBODYS):
        for verb in ("SELECT", "UPDATE", "DELETE", "INSERT"):
            for operator in (False, True):
                came = await try_it(db, ours.id, theirs.id, table, verb, operator=operator)
                allowed = (verb == "SELECT" and table in SEEN | SEEN_IN_PART) or verb in WRITTEN.get(
                    table, set()
                )
                expected = {0, "row-level security"} if allowed else {"permission denied"}
                if verb == "UPDATE" and came == "permission denied" and table in WRITTEN:
                    continue  # that column is not among the written ones
                if came not in expected:
                    wrong.append((table, verb, came))
    assert wrong == []


async def try_it(
    db: Database, ours: object, theirs: object, table: str, verb: str, *, operator: bool
) -> int | str:
    """How many of their rows a statement reached, or why it was refused."""
    statement = {
        "SELECT": f"SELECT FROM {table} WHERE organization_id = %(theirs)s",
        "UPDATE": f"UPDATE {table} SET organization_id = %(ours)s WHERE organization_id = %(theirs)s",
        "DELETE": f"DELETE FROM {table} WHERE organization_id = %(theirs)s",
        "INSERT": f"INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, '{{}}')).*"
        f" FROM (SELECT NULL::{table} AS t) AS nothing WHERE %(theirs)s::uuid IS NOT NULL",
    }[verb]
    if verb == "INSERT" and table in ("automation_rules", "lead_forms", "api_audit_log"):
        statement = {
            "automation_rules": "INSERT INTO automation_rules (organization_id, id, name, trigger_event)"
            " VALUES (%(theirs)s, gen_random_uuid(), 'x', 'lead.created')",
            "lead_forms": "INSERT INTO lead_forms (organization_id, id, path_token, name)"
            " VALUES (%(theirs)s, gen_random_uuid(), 'x-0123456789', 'x')",
            "api_audit_log": "INSERT INTO api_audit_log (organization_id, id, action, actor)"
            " VALUES (%(theirs)s, gen_random_uuid(), 'x', 'x')",
        }[table]
    try:
        async with db.tenant(ours, operator=operator) as conn:  # type: ignore[arg-type]
            done = await conn.execute(statement, {"ours": ours, "theirs": theirs})  # type: ignore[arg-type]
            return done.rowcount
    except psycopg.errors.InsufficientPrivilege as error:
        said = str(error)
        return "row-level security" if "row-level security" in said else "permission denied"


def test_a_new_table_without_a_policy_would_be_found(owner: psycopg.Connection) -> None:
    """The tests above are no better than what they notice."""
    owner.execute("CREATE TABLE forgotten (organization_id uuid, id uuid PRIMARY KEY, body text)")
    owner.execute("GRANT SELECT ON forgotten TO authenticated")
    for check in (
        test_every_table_is_somebodys,
        test_every_table_of_ours_is_guarded_and_none_is_forced_on_its_owner,
        test_rights_of_a_tenant_are_these_alone,
    ):
        if check is test_every_table_of_ours_is_guarded_and_none_is_forced_on_its_owner:
            owner.execute("ALTER TABLE forgotten ENABLE ROW LEVEL SECURITY")
        with pytest.raises(AssertionError):
            check(owner)


async def test_the_application_may_set_the_tenants_role_and_no_other(
    db: Database, owner: psycopg.Connection
) -> None:
    async with db.connection() as conn:
        for role in (owner.info.user, "pg_read_all_data", "pg_write_server_files"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await conn.execute(f"SET ROLE {role}")  # type: ignore[arg-type]
        for statement in (
            "SET session_replication_role = replica", "ALTER TABLE contacts DISABLE ROW LEVEL SECURITY",
            "COPY contacts TO PROGRAM 'cat'", "SELECT pg_read_file('/etc/passwd')", "DROP TABLE cron_rounds",
            "UPDATE event_log SET payload = '{}'", "DELETE FROM api_audit_log", "TRUNCATE notices",
            "UPDATE automation_rodizio_atribuicoes SET posicao = 1", "DELETE FROM incoming_events",
            "UPDATE contact_suppressions SET created_at = now()",
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await conn.execute(statement)


@pytest.fixture
def world(owner: psycopg.Connection, make: Factory) -> World:
    return World(owner, make, Tokens(SecretBox(SECRET_KEY), 600), None)  # type: ignore[arg-type]
