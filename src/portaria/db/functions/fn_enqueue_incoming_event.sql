-- The job of one attempt: it carries the attempts it starts from, and does nothing if the row differs.
CREATE OR REPLACE FUNCTION fn_enqueue_incoming_event(
    p_id uuid, p_attempts integer, p_delay double precision
) RETURNS bigint
LANGUAGE sql
AS $$
    SELECT fn_enqueue_job(
        'portaria.incoming_event', 'incoming_events',
        jsonb_build_object('incoming_event_id', p_id, 'attempts', p_attempts), p_delay
    )
$$;
