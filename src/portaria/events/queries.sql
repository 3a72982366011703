-- name: emit
INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id, payload, metadata)
VALUES (
    %(organization_id)s, %(id)s, %(event_type)s, %(entity_kind)s, %(entity_id)s, %(payload)s, %(metadata)s
);

-- name: find_event
SELECT organization_id, id, seq, event_type, entity_kind, entity_id, payload, metadata, created_at
FROM event_log
WHERE organization_id = %(organization_id)s AND id = %(id)s;

-- name: list_events
SELECT organization_id, id, seq, event_type, entity_kind, entity_id, payload, metadata, created_at
FROM event_log
WHERE organization_id = %(organization_id)s AND entity_kind = %(entity_kind)s AND entity_id = %(entity_id)s
    AND (%(before)s::bigint IS NULL OR seq < %(before)s)
ORDER BY seq DESC LIMIT %(limit)s;
