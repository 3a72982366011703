-- A finishing update (spec 2.3): it names the try it belongs to, so that a slow try and its successor
-- cannot both decide. Sets the mark too, for the events that are processed before their answer.
CREATE OR REPLACE FUNCTION fn_close_row(
    p_row uuid, p_attempts integer, p_tried_at timestamptz, p_status text, p_note text,
    p_event_type text, p_external_id text
) RETURNS boolean
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE webhook_events_log SET
        status = p_status, valid_signature = true, error_message = p_note, processed_at = clock_timestamp(),
        event_type = coalesce(event_type, p_event_type), external_id = coalesce(external_id, p_external_id)
    WHERE id = p_row AND status = 'received' AND attempts = p_attempts
        AND last_attempt_at IS NOT DISTINCT FROM p_tried_at;
    RETURN FOUND;
END
$$;
