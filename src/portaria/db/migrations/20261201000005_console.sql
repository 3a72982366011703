-- migrate:up
SET LOCAL lock_timeout = '5s';

-- Of the first release: the tables that get an index here are empty.
-- What people browse: an organization's finished arrivals, by status, the newest first. A row enters it
-- once, when it is closed. Its key holds a column that the accept update sets on the installation's
-- route alone, so on a channel's own route that update stays HOT.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX webhook_events_log_browse ON webhook_events_log (organization_id, status, id)
    WHERE status <> 'received';

-- Conversations with something unread: the badge on every page, and the list's filter.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX conversations_unread ON conversations (organization_id, last_message_at DESC NULLS LAST, id)
    WHERE unread_count > 0;

-- How the intake answered, by the minute and by five minutes: what the overview plots. Written in one go
-- every few seconds by each web process, away from the answers themselves.
CREATE TABLE intake_minutes (
    -- null: not known when it was answered, or nobody's.
    organization_id uuid,
    -- The minutes that a row stands for, and the first of them.
    span integer NOT NULL CHECK (span IN (1, 5)),
    minute timestamptz NOT NULL,
    outcome text NOT NULL
        CHECK (outcome IN ('accepted', 'processed', 'ignored', 'refused', 'unavailable', 'failed')),
    -- Which step of the scale of answer times (intake/overview/minutes.py).
    bucket integer NOT NULL CHECK (bucket BETWEEN 0 AND 100),
    answers integer NOT NULL CHECK (answers > 0),
    -- One row for all processes.
    CONSTRAINT intake_minutes_once UNIQUE NULLS NOT DISTINCT (organization_id, span, minute, outcome, bucket)
) WITH (fillfactor = 60);
CREATE INDEX intake_minutes_old ON intake_minutes (span, minute);

ALTER TABLE intake_minutes ENABLE ROW LEVEL SECURITY;
CREATE POLICY service ON intake_minutes TO service_role USING (true) WITH CHECK (true);
-- In sub-selects: asked once for a query, not for each of the day's thousands of rows.
CREATE POLICY tenant ON intake_minutes FOR SELECT TO authenticated USING (
    organization_id = (SELECT fn_current_organization())
    OR (organization_id IS NULL AND (SELECT fn_is_operator()))
);
GRANT SELECT, INSERT, UPDATE, DELETE ON intake_minutes TO service_role;
GRANT SELECT ON intake_minutes TO authenticated;

-- migrate:down
DROP TABLE intake_minutes;
DROP INDEX conversations_unread;
DROP INDEX webhook_events_log_browse;
