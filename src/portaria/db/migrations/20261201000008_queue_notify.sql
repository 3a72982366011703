-- migrate:up
SET LOCAL lock_timeout = '5s';

-- A NOTIFY takes one lock for the whole server, held until its transaction's flush: with it, every
-- commit that enqueues waits for the one before. Jobs that facts enqueue come with messages and turns,
-- in transactions that hold locks of their own; the workers find them by polling, within half a second.
DROP TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 ON procrastinate_jobs;
CREATE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 AFTER INSERT ON procrastinate_jobs
    FOR EACH ROW WHEN (NEW.status = 'todo' AND NEW.queue_name NOT IN ('events', 'push'))
    EXECUTE FUNCTION procrastinate_notify_queue_job_inserted_v1();

-- migrate:down
DROP TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 ON procrastinate_jobs;
CREATE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 AFTER INSERT ON procrastinate_jobs
    FOR EACH ROW WHEN (NEW.status = 'todo')
    EXECUTE FUNCTION procrastinate_notify_queue_job_inserted_v1();
