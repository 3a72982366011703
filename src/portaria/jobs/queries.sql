-- name: enqueue
SELECT fn_enqueue_job(%(task)s, %(queue)s, %(args)s, %(delay)s);

-- The three endings of a run name the run: a job that came back since has another `attempts`.
-- name: end_run
DELETE FROM procrastinate_jobs
WHERE id = %(id)s AND status = 'doing' AND attempts = %(attempts)s;

-- name: put_back
UPDATE procrastinate_jobs SET
    status = 'todo', attempts = attempts + 1, worker_id = NULL, abort_requested = false,
    scheduled_at = clock_timestamp() + make_interval(secs => %(delay)s)
WHERE id = %(id)s AND status = 'doing' AND attempts = %(attempts)s;

-- name: beat
UPDATE procrastinate_workers SET last_heartbeat = clock_timestamp()
WHERE id = ANY(%(workers)s::bigint[])
RETURNING id;

-- A job in `doing` whose worker is silent, or was pruned (worker_id becomes null), is put back. The
-- outer conditions are looked at again under the row's lock, so that of two rescuers one wins, and a
-- job that somebody fetched meanwhile stays theirs.
-- name: rescue
UPDATE procrastinate_jobs j SET
    status = 'todo', attempts = j.attempts + 1, worker_id = NULL, abort_requested = false,
    scheduled_at = NULL
FROM (
    SELECT d.id, d.worker_id, d.attempts
    FROM procrastinate_jobs d
    LEFT JOIN procrastinate_workers w ON w.id = d.worker_id
    WHERE d.status = 'doing'
        AND (w.id IS NULL OR w.last_heartbeat < clock_timestamp() - make_interval(secs => %(stale)s))
) AS silent
WHERE j.id = silent.id AND j.status = 'doing' AND j.attempts = silent.attempts
    AND j.worker_id IS NOT DISTINCT FROM silent.worker_id
RETURNING j.id, j.task_name;

-- name: alive
SELECT count(*) FROM procrastinate_workers
WHERE last_heartbeat > clock_timestamp() - make_interval(secs => %(within)s);
