-- name: open_notice
SELECT fn_open_notice(
    %(organization_id)s::uuid, %(kind)s, %(severity)s, %(title)s, %(body)s, %(resource_kind)s, %(resource_id)s
);

-- name: resolve_titled
UPDATE notices SET status = 'resolved', resolved_at = now()
WHERE (organization_id = %(organization_id)s::uuid
        OR (%(organization_id)s::uuid IS NULL AND organization_id IS NULL))
    AND title = ANY(%(titles)s::text[]) AND status IN ('open', 'ack');

-- name: acknowledge
UPDATE notices SET status = 'ack'
WHERE id = %(id)s AND status = 'open';

-- name: resolve
UPDATE notices SET status = 'resolved', resolved_at = now()
WHERE id = %(id)s AND status IN ('open', 'ack');

-- name: find_notice
SELECT id, organization_id, kind, severity, title, body, resource_kind, resource_id, status, occurrences,
    first_at, last_at, resolved_at
FROM notices WHERE id = %(id)s;

-- Two ordered walks of one index, one of them empty for whoever is no operator: an OR would sort them all.
-- name: list_notices
SELECT id, organization_id, kind, severity, title, body, resource_kind, resource_id, status, occurrences,
    first_at, last_at, resolved_at
FROM (
    (SELECT * FROM notices
    WHERE organization_id = %(organization_id)s
        AND (%(statuses)s::text[] IS NULL OR status = ANY(%(statuses)s))
        AND (%(kind)s::text IS NULL OR kind = %(kind)s)
        AND (%(after_at)s::timestamptz IS NULL
            OR (last_at <= %(after_at)s AND (last_at < %(after_at)s OR id > %(after_id)s)))
    ORDER BY last_at DESC, id LIMIT %(limit)s)
    UNION ALL
    (SELECT * FROM notices
    WHERE %(operator)s AND organization_id IS NULL
        AND (%(statuses)s::text[] IS NULL OR status = ANY(%(statuses)s))
        AND (%(kind)s::text IS NULL OR kind = %(kind)s)
        AND (%(after_at)s::timestamptz IS NULL
            OR (last_at <= %(after_at)s AND (last_at < %(after_at)s OR id > %(after_id)s)))
    ORDER BY last_at DESC, id LIMIT %(limit)s)
) AS both_kinds
ORDER BY last_at DESC, id LIMIT %(limit)s;

-- name: count_live
SELECT count(*) FROM notices
WHERE status IN ('open', 'ack')
    AND (organization_id = %(organization_id)s OR (%(operator)s AND organization_id IS NULL));
