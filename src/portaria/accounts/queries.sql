-- name: receive
SELECT fn_receive_incoming_event(
    %(id)s, %(event_id)s, %(event_type)s, %(occurred_at)s, %(payload)s
);

-- name: begin
SELECT o_verdict, o_attempt_job, o_event_type, o_payload
FROM fn_begin_incoming_event(%(id)s, %(attempts)s, %(job)s);

-- name: close
SELECT fn_close_incoming_event(%(id)s, %(attempts)s, %(job)s);

-- name: fail
SELECT fn_fail_incoming_event(%(id)s, %(attempts)s, %(job)s, %(message)s, %(delay)s);

-- name: reprocess
SELECT fn_reprocess_incoming_event(%(id)s, %(force)s, %(actor)s);

-- name: count_failed
SELECT count(*) FROM incoming_events
WHERE status = 'failed' AND payload <> ''
    AND (%(event_type)s::text IS NULL OR event_type = %(event_type)s)
    AND (%(since)s::timestamptz IS NULL OR received_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR received_at < %(until)s);

-- Each id once, in their order: what fails again meanwhile is behind.
-- name: reprocess_some
WITH chosen AS (
    SELECT id FROM incoming_events
    WHERE status = 'failed' AND payload <> '' AND id > %(after)s
        AND (%(event_type)s::text IS NULL OR event_type = %(event_type)s)
        AND (%(since)s::timestamptz IS NULL OR received_at >= %(since)s)
        AND (%(until)s::timestamptz IS NULL OR received_at < %(until)s)
    ORDER BY id LIMIT %(limit)s
)
SELECT id, fn_reprocess_incoming_event(id, false, %(actor)s) FROM chosen ORDER BY id;

-- The sender's time is read without a zone: in the session's own it may lie beyond the year 9999.
-- name: find
SELECT id, event_id, event_type, occurred_at AT TIME ZONE 'UTC' AS occurred_at, payload, status, attempts,
    error_message, received_at, processed_at, body_emptied_at
FROM incoming_events WHERE id = %(id)s;

-- name: find_by_event_id
SELECT id FROM incoming_events WHERE event_id = %(event_id)s;

-- name: list
SELECT id, event_id, event_type, occurred_at AT TIME ZONE 'UTC' AS occurred_at, NULL AS payload, status,
    attempts, error_message, received_at, processed_at, body_emptied_at
FROM incoming_events
WHERE (%(status)s::text IS NULL OR status = %(status)s)
    AND (%(event_type)s::text IS NULL OR event_type = %(event_type)s)
    AND (%(event_id)s::text IS NULL OR event_id = %(event_id)s)
    AND (%(since)s::timestamptz IS NULL OR received_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR received_at < %(until)s)
    AND (%(after_at)s::timestamptz IS NULL OR (received_at, id) < (%(after_at)s, %(after_id)s::uuid))
ORDER BY received_at DESC, id DESC
LIMIT %(limit)s;

