-- Spends the attempt that `p_job` began: again in `p_delay` seconds from now, or `failed` for good with a
-- notice (spec 3). Null: the attempt is not this run's any more, nothing is changed.
CREATE OR REPLACE FUNCTION fn_fail_incoming_event(
    p_id uuid, p_attempts integer, p_job bigint, p_message text, p_delay double precision
) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    v_row incoming_events;
BEGIN
    UPDATE incoming_events SET
        attempts = attempts + 1,
        status = CASE WHEN attempts + 1 < 3 THEN 'pending' ELSE 'failed' END,
        processed_at = CASE WHEN attempts + 1 < 3 THEN NULL ELSE clock_timestamp() END,
        error_message = p_message, attempt_job = NULL, attempt_started_at = NULL
    WHERE id = p_id AND status = 'pending' AND attempts = p_attempts AND attempt_job = p_job
    RETURNING * INTO v_row;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF v_row.status = 'pending' THEN
        PERFORM fn_enqueue_incoming_event(p_id, v_row.attempts, p_delay);
    ELSE
        PERFORM fn_open_notice(
            NULL, 'incoming_event_failed', 'error', 'Um evento do accounts não foi processado',
            format(
                'O evento %s (%s) falhou três vezes: %s. Corrija a causa e reprocesse-o em Chegadas.',
                v_row.event_id, v_row.event_type, left(p_message, 300)
            ),
            'incoming_event', p_id::text
        );
    END IF;
    RETURN v_row.status;
END
$$;
