"""Every column that can hold a person's words is known to the erasure: from the catalog, so that a new one
fails here until somebody has decided what becomes of it.
"""

import psycopg

ERASED = {
    "contacts": {"name", "phone_number", "email", "username", "source_metadata"},
    "contact_identities": {"kind", "value"},
    "contact_opt_outs": {"external_id"},
    "conversations": {"provider_conversation_id", "last_message_preview"},
    "messages": {"external_id", "type", "body", "attachments", "metadata", "error"},
    "crm_leads": {"title", "tags"},
    "lead_form_submissions": {"idempotency_key"},
    "event_log": {"payload", "metadata"},
    "automation_rule_runs": {"actions_result"},
    "notices": {"title", "body"},
    "api_audit_log": {"metadata"},
    "webhook_events_log": {"headers", "raw_body", "error_message", "event_type", "external_id"},
}
"""Blanked, or made to say nothing about anybody: `fn_erase_contact` and what it calls."""

NOBODYS = {
    "contacts": {"blocked_reason"},  # a word of ours
    "contact_suppressions": {"digest"},  # what keeps them out; see the decision
    "messages": {"direction", "status"},
    "crm_leads": {"source", "stage", "status"},  # a stage is the organization's word
    "event_log": {"event_type", "entity_kind"},
    "automation_rule_runs": {"status", "actions"},  # the rule's, as it was
    "automation_rodizio_atribuicoes": {"candidates"},  # ids of members
    "notices": {"kind", "severity", "resource_kind", "resource_id", "status"},
    "api_audit_log": {"action", "actor", "resource_kind", "resource_id"},
    "webhook_events_log": {"provider", "status"},
    # What people of the organization set up, and who they are.
    "organizations": {"name", "time_zone", "locale"},
    "users": {"email", "name", "password_hash", "locale"},
    "user_organizations": {"role"},
    "channel_sessions": {
        "provider", "name", "account_id", "phone_number", "provider_profile_id", "webhook_path_token",
        "secret_ciphertext", "previous_secret_ciphertext", "state",
    },
    "channel_templates": {"template_id", "name", "language", "status", "reason"},
    "lead_forms": {"path_token", "name", "intro", "success_url"},
    "automation_rules": {"name", "trigger_event", "conditions", "actions"},
    "push_subscriptions": {"endpoint", "p256dh", "auth", "user_agent"},  # a member's browser
    "browser_sessions": {"id_hash", "data"},
    "sign_in_throttles": {"key"},
    "lead_form_rates": {"key"},  # a digest, for a minute
    # Events of the accounts service are about the customers of the installation, not about contacts.
    "incoming_events": {"event_id", "event_type", "payload", "status", "error_message"},
    "cron_rounds": {"name"},
    "intake_minutes": {"outcome"},
}  # fmt: skip

LIBRARYS = ("procrastinate_%", "schema_migrations", "queue_migrations")
"""The queue's arguments are ids; `test_everywhere` looks into them too."""


def columns(owner: psycopg.Connection) -> dict[str, set[str]]:
    found = owner.execute(
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
        " JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type element ON element.oid = t.typelem"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0"
        " AND NOT a.attisdropped AND NOT c.relname LIKE ANY (%s)"
        " AND coalesce(nullif(element.typname, 'char'), t.typname)"
        "  NOT IN ('uuid', 'bool', 'int2', 'int4', 'int8', 'timestamptz', 'date', 'numeric', 'float8')",
        (list(LIBRARYS),),
    ).fetchall()
    named: dict[str, set[str]] = {}
    for table, column in found:
        named.setdefault(table, set()).add(column)
    return named


def test_of_every_column_it_is_decided_what_an_erasure_does_to_it(owner: psycopg.Connection) -> None:
    decided = {t: ERASED.get(t, set()) | NOBODYS.get(t, set()) for t in ERASED.keys() | NOBODYS.keys()}
    assert columns(owner) == decided
    assert all(not ERASED.get(table, set()) & NOBODYS[table] for table in NOBODYS)


def test_erasing_names_every_table_it_must_blank(owner: psycopg.Connection) -> None:
    bodies = " ".join(
        body
        for (body,) in owner.execute(
            "SELECT prosrc FROM pg_proc WHERE proname LIKE 'fn_erase%'"
            " AND pronamespace = 'public'::regnamespace"
        )
    )
    assert [t for t in ERASED if f"UPDATE {t} " not in bodies and f"DELETE FROM {t} " not in bodies] == []
