-- Part of fn_erase_contact: what was written down about the person's rows. Facts, results of runs and the
-- audit keep what cannot be about them (fn_impersonal). A notice that names them, or speaks of their rows
-- in words that are not ours, is blanked and resolved.
CREATE OR REPLACE FUNCTION fn_erase_records(p_org uuid, p_contact uuid, p_arrivals uuid[], p_spellings text[])
RETURNS jsonb
LANGUAGE plpgsql
AS $$
DECLARE
    v_facts integer;
    v_runs integer;
    v_audit integer;
BEGIN
    UPDATE event_log e SET payload = fn_impersonal(e.payload), metadata = fn_impersonal(e.metadata)
    FROM fn_rows_of_contact(p_org, p_contact) AS theirs
    WHERE e.organization_id = p_org AND e.entity_kind = theirs.kind AND e.entity_id = theirs.id;
    GET DIAGNOSTICS v_facts = ROW_COUNT;

    UPDATE automation_rule_runs r SET actions_result = fn_impersonal(r.actions_result)
    FROM event_log e JOIN fn_rows_of_contact(p_org, p_contact) AS theirs
        ON e.entity_kind = theirs.kind AND e.entity_id = theirs.id
    WHERE r.organization_id = p_org AND e.organization_id = p_org AND r.event_id = e.id;
    GET DIAGNOSTICS v_runs = ROW_COUNT;

    UPDATE api_audit_log a SET metadata = fn_impersonal(a.metadata)
    FROM (
        SELECT kind, id::text AS id FROM fn_rows_of_contact(p_org, p_contact)
        UNION ALL
        SELECT 'webhook_event', id::text FROM unnest(p_arrivals) AS id
    ) AS theirs
    WHERE (a.organization_id = p_org OR a.organization_id IS NULL)
        AND a.resource_kind = theirs.kind AND a.resource_id = theirs.id;
    GET DIAGNOSTICS v_audit = ROW_COUNT;
    RETURN jsonb_build_object(
        'events', v_facts, 'runs', v_runs, 'audit_entries', v_audit,
        'notices', fn_erase_notices(p_org, p_contact, p_arrivals, p_spellings));
END
$$;
