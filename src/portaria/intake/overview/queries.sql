-- name: add_minutes
INSERT INTO intake_minutes AS m (organization_id, span, minute, outcome, bucket, answers)
SELECT organization_id, span, date_bin(make_interval(mins => span), to_timestamp(epoch), 'epoch') AS at,
    outcome, bucket, sum(answers)
FROM unnest(
    %(organizations)s, %(minutes)s::bigint[], %(outcomes)s, %(buckets)s::integer[], %(answers)s::integer[]
) AS counted (organization_id, epoch, outcome, bucket, answers)
CROSS JOIN (VALUES (1), (5)) AS spans (span)
GROUP BY organization_id, span, at, outcome, bucket
-- In one order: two processes that write at once do not wait for each other in a circle.
ORDER BY organization_id, span, at, outcome, bucket
ON CONFLICT ON CONSTRAINT intake_minutes_once DO UPDATE SET answers = m.answers + excluded.answers;

-- name: drop_old_minutes
DELETE FROM intake_minutes
WHERE (span = 1 AND minute < now() - interval '3 hours')
    OR (span = 5 AND minute < now() - interval '48 hours');

-- name: read_minutes
SELECT date_bin(make_interval(mins => %(step)s), minute, 'epoch') AS at, outcome, bucket, sum(answers)
FROM intake_minutes
WHERE span = %(span)s AND minute >= date_trunc('minute', now()) - make_interval(mins => %(minutes)s)
    AND (organization_id = %(organization_id)s OR (%(operator)s AND organization_id IS NULL))
GROUP BY at, outcome, bucket
ORDER BY at;

-- What waits is bounded (spec 2.5, back-pressure), what is dead is found by its index.
-- name: figures
SELECT
    count(*) FILTER (WHERE valid_signature) AS pending,
    min(received_at) FILTER (WHERE valid_signature) AS oldest_pending_at,
    count(*) FILTER (WHERE valid_signature AND error_message IS NOT NULL) AS tried_and_waiting,
    (SELECT count(*) FROM (
        SELECT FROM webhook_events_log
        WHERE organization_id = %(organization_id)s AND status = 'dead' LIMIT 1000
    ) AS given_up) AS dead
FROM webhook_events_log
WHERE processed_at IS NULL AND organization_id = %(organization_id)s;

-- As in the intake's queries: the policy's second condition makes the planner expect few rows, and sort them all.
-- name: walk_in_order
SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true),
    set_config('jit', 'off', true);

-- Ordered walks, one for each finished status that is wanted; what is pending is little. A walk ends after so many
-- rows; what is filtered is what it passed. Status and id are compared as one, and it is ordered by all of the
-- index: with an equality a walk could as well follow the primary key, which looks cheaper where many rows have a
-- status, and passes all there is for who has none.
-- name: browse
SELECT a.id, a.organization_id, a.channel_session_id, s.name AS channel_name, a.provider, a.status,
    a.valid_signature, a.attempts, a.error_message, a.event_type, a.external_id, a.received_at,
    a.processed_at, octet_length(a.raw_body) AS body_bytes
FROM (
    SELECT w.* FROM (
        SELECT finished.* FROM unnest(%(statuses)s::text[]) AS wanted (status)
        CROSS JOIN LATERAL (
            SELECT * FROM webhook_events_log
            WHERE (organization_id = %(organization_id)s OR (%(nobodys)s AND organization_id IS NULL))
                AND status <> 'received'
                AND (status, id) < (wanted.status, %(before)s) AND (status, id) >= (wanted.status, %(from)s)
            ORDER BY organization_id DESC, status DESC, id DESC LIMIT %(walk)s
        ) AS finished
        UNION ALL
        (SELECT * FROM webhook_events_log
        WHERE (organization_id = %(organization_id)s OR (%(nobodys)s AND organization_id IS NULL))
            AND processed_at IS NULL AND 'received' = ANY(%(statuses)s::text[])
            AND (NOT %(pending)s OR valid_signature)
            AND id < %(before)s AND id >= %(from)s
        ORDER BY id DESC LIMIT %(walk)s)
    ) AS w
    ORDER BY w.id DESC LIMIT %(walk)s
) AS a
LEFT JOIN channel_sessions s ON s.organization_id = a.organization_id AND s.id = a.channel_session_id
WHERE (%(event_type)s::text IS NULL OR a.event_type = %(event_type)s)
    AND (%(channel_session_id)s::uuid IS NULL OR a.channel_session_id = %(channel_session_id)s)
    AND (%(text)s::bytea IS NULL OR position(%(text)s::bytea IN a.raw_body) > 0)
ORDER BY a.id DESC
LIMIT %(limit)s;

-- Where such a walk ended, if it was not at the end of what there is.
-- name: walked_to
SELECT finished.id FROM unnest(%(statuses)s::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT id FROM webhook_events_log
    WHERE (organization_id = %(organization_id)s OR (%(nobodys)s AND organization_id IS NULL))
        AND status <> 'received'
        AND (status, id) < (wanted.status, %(before)s) AND (status, id) >= (wanted.status, %(from)s)
    ORDER BY organization_id DESC, status DESC, id DESC LIMIT %(walk)s
) AS finished
ORDER BY finished.id DESC OFFSET %(walk)s - 1 LIMIT 1;

-- By the provider's id: all that bear it, which are few, however old. Looked up by themselves first, lest an
-- ordered walk through the others look cheaper.
-- name: browse_named
WITH named AS MATERIALIZED (
    SELECT * FROM webhook_events_log WHERE external_id = %(external_id)s
)
SELECT a.id, a.organization_id, a.channel_session_id, s.name AS channel_name, a.provider, a.status,
    a.valid_signature, a.attempts, a.error_message, a.event_type, a.external_id, a.received_at,
    a.processed_at, octet_length(a.raw_body) AS body_bytes
FROM named AS a
LEFT JOIN channel_sessions s ON s.organization_id = a.organization_id AND s.id = a.channel_session_id
WHERE (a.organization_id = %(organization_id)s OR (%(nobodys)s AND a.organization_id IS NULL))
    AND a.status = ANY(%(statuses)s::text[]) AND (NOT %(pending)s OR a.valid_signature)
    AND a.id < %(before)s AND a.id >= %(from)s
    AND (%(event_type)s::text IS NULL OR a.event_type = %(event_type)s)
    AND (%(channel_session_id)s::uuid IS NULL OR a.channel_session_id = %(channel_session_id)s)
    AND (%(text)s::bytea IS NULL OR position(%(text)s::bytea IN a.raw_body) > 0)
ORDER BY a.id DESC
LIMIT %(limit)s;

-- name: count_replayable
SELECT count(*) FROM webhook_events_log
WHERE organization_id = %(organization_id)s AND status = %(status)s AND valid_signature
    AND provider = 'zernio' AND body_emptied_at IS NULL AND id < %(before)s AND id >= %(from)s;

-- Each once, in their order: what fails again meanwhile is behind.
-- name: replayable_after
SELECT id FROM webhook_events_log
WHERE organization_id = %(organization_id)s AND status = %(status)s AND valid_signature
    AND provider = 'zernio' AND body_emptied_at IS NULL AND id < %(before)s AND id > %(after)s
ORDER BY id LIMIT %(limit)s;
