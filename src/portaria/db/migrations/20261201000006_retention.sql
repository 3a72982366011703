-- migrate:up
SET LOCAL lock_timeout = '5s';

-- When retention, or the erasure of a person, emptied what came: the row stays, so that a repetition is
-- still recognised, and says so (spec 2.5).
ALTER TABLE webhook_events_log ADD COLUMN body_emptied_at timestamptz;
ALTER TABLE incoming_events ADD COLUMN body_emptied_at timestamptz;

-- What is pending keeps its body: a promise could not be kept without it.
-- Of the first release: the tables that get a constraint or an index here are empty.
-- squawk-ignore constraint-missing-not-valid
ALTER TABLE webhook_events_log ADD CONSTRAINT webhook_events_log_pending_has_body
    CHECK (body_emptied_at IS NULL OR (status <> 'received' AND raw_body = ''));
-- squawk-ignore constraint-missing-not-valid
ALTER TABLE incoming_events ADD CONSTRAINT incoming_events_pending_has_body
    CHECK (body_emptied_at IS NULL OR (status <> 'pending' AND payload = ''));

-- Finished rows that still hold what came, the oldest first: what retention walks. A row enters once,
-- when it is closed, and leaves when it is emptied.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX webhook_events_log_kept ON webhook_events_log (processed_at)
    WHERE processed_at IS NOT NULL AND body_emptied_at IS NULL;
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX incoming_events_kept ON incoming_events (processed_at)
    WHERE processed_at IS NOT NULL AND body_emptied_at IS NULL;

-- migrate:down
DROP INDEX incoming_events_kept, webhook_events_log_kept;
ALTER TABLE incoming_events DROP CONSTRAINT incoming_events_pending_has_body, DROP COLUMN body_emptied_at;
ALTER TABLE webhook_events_log DROP CONSTRAINT webhook_events_log_pending_has_body, DROP COLUMN body_emptied_at;
