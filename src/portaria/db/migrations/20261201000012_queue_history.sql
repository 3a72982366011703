-- migrate:up
SET LOCAL lock_timeout = '5s';

-- The library writes down what becomes of each job, for who wants to look it up. Jobs that have run are deleted,
-- and these rows with them: nobody reads one, and they were a fifth of what a job cost the database.
ALTER TABLE procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_status_events_insert_v1;
ALTER TABLE procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_status_events_update_v1;
ALTER TABLE procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_scheduled_events_v1;
ALTER TABLE procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_abort_requested_events_v1;

-- migrate:down
ALTER TABLE procrastinate_jobs ENABLE TRIGGER procrastinate_trigger_abort_requested_events_v1;
ALTER TABLE procrastinate_jobs ENABLE TRIGGER procrastinate_trigger_scheduled_events_v1;
ALTER TABLE procrastinate_jobs ENABLE TRIGGER procrastinate_trigger_status_events_update_v1;
ALTER TABLE procrastinate_jobs ENABLE TRIGGER procrastinate_trigger_status_events_insert_v1;
