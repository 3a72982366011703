-- Writes a new event and its job, or nothing at all for a known event_id (spec 3). A concurrent delivery
-- of the same event waits here for the first one's end. Returns whether it was new.
CREATE OR REPLACE FUNCTION fn_receive_incoming_event(
    p_id uuid, p_event_id text, p_event_type text, p_occurred_at timestamptz, p_payload text
) RETURNS boolean
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO incoming_events (id, event_id, event_type, occurred_at, payload)
    VALUES (p_id, p_event_id, p_event_type, p_occurred_at, p_payload)
    ON CONFLICT (event_id) DO NOTHING;
    IF NOT FOUND THEN
        -- It may be committed here and not yet on a synchronous standby (its own COMMIT was given up waiting
        -- for it). "Known" is a promise too: a record of its own makes this COMMIT wait for both.
        PERFORM pg_logical_emit_message(true, 'portaria', 'known');
        RETURN false;
    END IF;
    PERFORM fn_enqueue_incoming_event(p_id, 0, 0);
    RETURN true;
END
$$;
