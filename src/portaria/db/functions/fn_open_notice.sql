-- One notice per organization and title while it is open or acknowledged; a repetition raises its
-- count and reopens an acknowledged one (spec 5).
CREATE OR REPLACE FUNCTION fn_open_notice(
    p_org uuid, p_kind text, p_severity text, p_title text, p_body text, p_resource_kind text,
    p_resource_id text
) RETURNS uuid
LANGUAGE sql
AS $$
    INSERT INTO notices AS n (id, organization_id, kind, severity, title, body, resource_kind, resource_id)
    VALUES (gen_random_uuid(), p_org, p_kind, p_severity, p_title, p_body, p_resource_kind, p_resource_id)
    ON CONFLICT (organization_id, title) WHERE status IN ('open', 'ack') DO UPDATE SET
        occurrences = n.occurrences + 1, last_at = now(), status = 'open', severity = excluded.severity,
        body = excluded.body, resource_kind = excluded.resource_kind, resource_id = excluded.resource_id
    RETURNING id
$$;
