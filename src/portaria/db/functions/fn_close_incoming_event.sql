-- The use case succeeded; in the transaction that holds its writes. False: the attempt is not this
-- run's any more, and the caller must roll back.
CREATE OR REPLACE FUNCTION fn_close_incoming_event(p_id uuid, p_attempts integer, p_job bigint)
RETURNS boolean
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE incoming_events SET
        status = 'processed', processed_at = clock_timestamp(), error_message = NULL, attempt_job = NULL,
        attempt_started_at = NULL
    WHERE id = p_id AND status = 'pending' AND attempts = p_attempts AND attempt_job = p_job;
    RETURN FOUND;
END
$$;
