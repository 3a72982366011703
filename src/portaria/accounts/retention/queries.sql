-- Rows that somebody holds are passed over until the next batch.
-- name: empty_some
UPDATE incoming_events SET payload = '', body_emptied_at = clock_timestamp()
WHERE id IN (
    SELECT id FROM incoming_events
    WHERE processed_at < now() - make_interval(days => %(days)s) AND body_emptied_at IS NULL
    ORDER BY processed_at
    LIMIT %(rows)s
    FOR UPDATE SKIP LOCKED
);
