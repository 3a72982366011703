-- name: is_owner
SELECT r.rolsuper OR r.rolbypassrls OR EXISTS (
    SELECT 1 FROM pg_class AS c
    WHERE c.oid = to_regclass('public.webhook_events_log') AND pg_has_role(r.oid, c.relowner, 'USAGE')
)
FROM pg_roles AS r
WHERE r.rolname = current_user;

-- name: applied_migrations
SELECT version FROM schema_migrations;
