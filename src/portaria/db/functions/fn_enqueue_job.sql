-- A job for the workers, in the caller's transaction; due after `p_delay` seconds by this server's clock.
CREATE OR REPLACE FUNCTION fn_enqueue_job(
    p_task text, p_queue text, p_args jsonb, p_delay double precision
) RETURNS bigint
LANGUAGE sql
AS $$
    SELECT (procrastinate_defer_jobs_v1(ARRAY[
        ROW(
            p_queue, p_task, 0, NULL, NULL, p_args,
            CASE WHEN p_delay > 0 THEN clock_timestamp() + make_interval(secs => p_delay) END
        )::procrastinate_job_to_defer_v1
    ]))[1]
$$;
