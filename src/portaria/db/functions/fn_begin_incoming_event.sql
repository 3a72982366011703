-- Notes that the queue's job `p_job` begins the attempt after `p_attempts` spent ones (spec 3).
--   begun    the attempt is this run's, if `o_attempt_job` is noted until the end
--   cut_off  an attempt had begun, by `o_attempt_job`, and whoever ran it is gone: it is to be spent
--   nothing  no longer pending, another count, or another live job is at it
CREATE OR REPLACE FUNCTION fn_begin_incoming_event(
    p_id uuid, p_attempts integer, p_job bigint,
    OUT o_verdict text, OUT o_attempt_job bigint, OUT o_event_type text, OUT o_payload text
)
LANGUAGE plpgsql
AS $$
DECLARE
    v_row incoming_events;
BEGIN
    SELECT * INTO v_row FROM incoming_events WHERE id = p_id FOR UPDATE;
    o_event_type := v_row.event_type;
    IF NOT FOUND OR v_row.status <> 'pending' OR v_row.attempts <> p_attempts THEN
        o_verdict := 'nothing';
    ELSIF v_row.attempt_job IS NULL THEN
        UPDATE incoming_events SET attempt_job = p_job, attempt_started_at = clock_timestamp()
        WHERE id = p_id;
        o_verdict := 'begun';
        o_attempt_job := p_job;
        o_payload := v_row.payload;
    ELSIF v_row.attempt_job = p_job OR NOT EXISTS (
        SELECT 1 FROM procrastinate_jobs WHERE id = v_row.attempt_job AND status IN ('todo', 'doing')
    ) THEN
        o_verdict := 'cut_off';
        o_attempt_job := v_row.attempt_job;
    ELSE
        o_verdict := 'nothing';
    END IF;
END
$$;
