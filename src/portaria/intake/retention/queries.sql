-- Rows that somebody holds (a replay by hand, say) are passed over until the next batch.
-- name: empty_some
UPDATE webhook_events_log SET raw_body = '', headers = '{}', body_emptied_at = clock_timestamp()
WHERE id IN (
    SELECT id FROM webhook_events_log
    WHERE processed_at < now() - make_interval(days => %(days)s) AND body_emptied_at IS NULL
    ORDER BY processed_at
    LIMIT %(rows)s
    FOR UPDATE SKIP LOCKED
);

-- name: emptied_at
SELECT body_emptied_at FROM webhook_events_log WHERE id = %(row)s;
