-- name: record
INSERT INTO api_audit_log (id, organization_id, action, actor, resource_kind, resource_id, metadata)
VALUES (
    %(id)s, %(organization_id)s, %(action)s, %(actor)s, %(resource_kind)s, %(resource_id)s, %(metadata)s
);

-- Two ordered walks of one index, one of them empty for whoever is no operator.
-- name: list_entries
SELECT id, organization_id, action, actor, resource_kind, resource_id, metadata, created_at
FROM (
    (SELECT * FROM api_audit_log
    WHERE organization_id = %(organization_id)s
        AND (%(action)s::text IS NULL OR action = %(action)s)
        AND (%(actor)s::text IS NULL OR actor = %(actor)s)
        AND (%(resource_kind)s::text IS NULL OR resource_kind = %(resource_kind)s)
        AND (%(resource_id)s::text IS NULL OR resource_id = %(resource_id)s)
        AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
        AND (%(until)s::timestamptz IS NULL OR created_at < %(until)s)
        AND (%(after_at)s::timestamptz IS NULL
            OR (created_at <= %(after_at)s AND (created_at < %(after_at)s OR id > %(after_id)s)))
    ORDER BY created_at DESC, id LIMIT %(limit)s)
    UNION ALL
    (SELECT * FROM api_audit_log
    WHERE %(operator)s AND organization_id IS NULL
        AND (%(action)s::text IS NULL OR action = %(action)s)
        AND (%(actor)s::text IS NULL OR actor = %(actor)s)
        AND (%(resource_kind)s::text IS NULL OR resource_kind = %(resource_kind)s)
        AND (%(resource_id)s::text IS NULL OR resource_id = %(resource_id)s)
        AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
        AND (%(until)s::timestamptz IS NULL OR created_at < %(until)s)
        AND (%(after_at)s::timestamptz IS NULL
            OR (created_at <= %(after_at)s AND (created_at < %(after_at)s OR id > %(after_id)s)))
    ORDER BY created_at DESC, id LIMIT %(limit)s)
) AS both_kinds
ORDER BY created_at DESC, id LIMIT %(limit)s;
