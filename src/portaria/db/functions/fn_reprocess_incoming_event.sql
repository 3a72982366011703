-- Starts an event anew: no attempts spent, its job, and the audit, in one transaction (spec 3).
-- Returns `queued`, or why not: `missing`, `pending`, `processed` (needs force), `emptied` by retention.
CREATE OR REPLACE FUNCTION fn_reprocess_incoming_event(p_id uuid, p_force boolean, p_actor text)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    v_row incoming_events;
BEGIN
    SELECT * INTO v_row FROM incoming_events WHERE id = p_id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 'missing';
    ELSIF v_row.status = 'pending' OR (v_row.status = 'processed' AND NOT p_force) THEN
        RETURN v_row.status;
    ELSIF v_row.payload = '' THEN
        RETURN 'emptied';
    END IF;
    UPDATE incoming_events SET
        status = 'pending', attempts = 0, error_message = NULL, processed_at = NULL, attempt_job = NULL,
        attempt_started_at = NULL
    WHERE id = p_id;
    PERFORM fn_enqueue_incoming_event(p_id, 0, 0);
    INSERT INTO api_audit_log (id, action, actor, resource_kind, resource_id, metadata)
    VALUES (
        gen_random_uuid(), 'incoming_event.reprocessed', p_actor, 'incoming_event', p_id::text,
        jsonb_build_object(
            'event_id', v_row.event_id, 'event_type', v_row.event_type, 'status', v_row.status,
            'attempts', v_row.attempts, 'error_message', left(v_row.error_message, 500)
        )
    );
    RETURN 'queued';
END
$$;
