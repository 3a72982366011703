-- migrate:up
SET LOCAL lock_timeout = '5s';

-- What the accounts service told us (spec 3). Belongs to no organization: operators alone see it.
CREATE TABLE incoming_events (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    event_id text NOT NULL CHECK (length(event_id) BETWEEN 1 AND 255),
    event_type text NOT NULL CHECK (length(event_type) BETWEEN 1 AND 255),
    occurred_at timestamptz NOT NULL,
    -- The body exactly as it came, byte for byte. Emptied by retention, never changed.
    payload text NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processed', 'failed')),
    -- Attempts spent. The count lives here, not in the queue; the third ends it.
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 3),
    error_message text,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    processed_at timestamptz,
    -- The queue's job whose attempt has begun and is not yet recorded. A job that finds its own number
    -- here was cut off: that attempt is spent.
    attempt_job bigint,
    attempt_started_at timestamptz,
    -- An event is received once, however often it is sent; outlives the payload.
    CONSTRAINT incoming_events_once UNIQUE (event_id),
    CHECK ((status = 'pending') = (processed_at IS NULL)),
    CHECK ((attempt_job IS NULL) = (attempt_started_at IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX incoming_events_recent ON incoming_events (received_at DESC, id DESC);
CREATE INDEX incoming_events_failed ON incoming_events (id) WHERE status = 'failed';
CREATE INDEX incoming_events_pending ON incoming_events (received_at) WHERE status = 'pending';

ALTER TABLE incoming_events ENABLE ROW LEVEL SECURITY;
CREATE POLICY service ON incoming_events TO service_role USING (true) WITH CHECK (true);
CREATE POLICY operator ON incoming_events FOR SELECT TO authenticated USING (fn_is_operator());
-- No DELETE: the row keeps a repetition out for good.
GRANT SELECT, INSERT, UPDATE ON incoming_events TO service_role;
GRANT SELECT ON incoming_events TO authenticated;

-- Every job is three row versions and then none: tidy up early.
ALTER TABLE procrastinate_jobs SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE procrastinate_events SET (autovacuum_vacuum_scale_factor = 0.02);

-- migrate:down
ALTER TABLE procrastinate_events RESET (autovacuum_vacuum_scale_factor);
ALTER TABLE procrastinate_jobs RESET (autovacuum_vacuum_scale_factor);
DROP TABLE incoming_events;
