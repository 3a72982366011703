-- Who may call what, after every migrate. Functions are the service's; `authenticated` is given the
-- few it needs, one by one. It holds no right on the queue's tables (design 4).
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO service_role;
GRANT EXECUTE ON FUNCTION fn_current_organization(), fn_is_operator() TO authenticated;
GRANT EXECUTE ON FUNCTION fn_mark_read(uuid, uuid, bigint) TO authenticated;
-- fn_grams: whoever writes an indexed row evaluates it.
GRANT EXECUTE ON FUNCTION
    fn_contacts_like(text), fn_leads_titled_like(text), fn_grams(uuid, text[])
    TO authenticated;
GRANT EXECUTE ON FUNCTION
    fn_lock_members(uuid[]), fn_conditions_hold(jsonb, jsonb), fn_lead_facts(uuid, uuid, jsonb),
    fn_rotation_queue(jsonb), fn_rotation_candidates(uuid, uuid, jsonb), fn_to_uuid(text)
    TO authenticated;

GRANT SELECT ON schema_migrations, queue_migrations TO service_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    procrastinate_jobs, procrastinate_events, procrastinate_workers, procrastinate_periodic_defers
    TO service_role;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO service_role;
