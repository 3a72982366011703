-- The page is chosen on one index before anything is joined. Conversations without a message yet come
-- last, on the same index.
-- name: list_conversations
SELECT v.id, v.contact_id, c.name AS contact_name, c.phone_number, c.username, c.is_blocked, c.blocked_reason,
    v.channel_session_id, s.name AS channel_name, s.provider, v.provider_conversation_id, v.last_message_at,
    v.last_inbound_at, v.last_outbound_at, v.last_message_preview, v.unread_count, v.created_at
FROM (
    (SELECT * FROM conversations
    WHERE organization_id = %(organization_id)s AND last_message_at IS NOT NULL
        AND (NOT %(unread)s OR unread_count > 0)
        AND (%(contact_id)s::uuid IS NULL OR contact_id = %(contact_id)s)
        AND (%(channel_session_id)s::uuid IS NULL OR channel_session_id = %(channel_session_id)s)
        AND (%(after_id)s::uuid IS NULL OR (
            last_message_at <= %(after_at)s AND (last_message_at < %(after_at)s OR id > %(after_id)s)))
    ORDER BY last_message_at DESC NULLS LAST, id LIMIT %(limit)s)
    UNION ALL
    (SELECT * FROM conversations
    WHERE organization_id = %(organization_id)s AND last_message_at IS NULL
        AND (NOT %(unread)s OR unread_count > 0)
        AND (%(contact_id)s::uuid IS NULL OR contact_id = %(contact_id)s)
        AND (%(channel_session_id)s::uuid IS NULL OR channel_session_id = %(channel_session_id)s)
        AND (%(after_id)s::uuid IS NULL OR %(after_at)s::timestamptz IS NOT NULL OR id > %(after_id)s)
    ORDER BY id LIMIT %(limit)s)
) AS v
JOIN contacts c ON c.organization_id = v.organization_id AND c.id = v.contact_id
JOIN channel_sessions s ON s.organization_id = v.organization_id AND s.id = v.channel_session_id
ORDER BY v.last_message_at DESC NULLS LAST, v.id
LIMIT %(limit)s;

-- name: find_conversation
SELECT v.id, v.contact_id, c.name AS contact_name, c.phone_number, c.username, c.is_blocked, c.blocked_reason,
    v.channel_session_id, s.name AS channel_name, s.provider, v.provider_conversation_id, v.last_message_at,
    v.last_inbound_at, v.last_outbound_at, v.last_message_preview, v.unread_count, v.created_at
FROM conversations v
JOIN contacts c ON c.organization_id = v.organization_id AND c.id = v.contact_id
JOIN channel_sessions s ON s.organization_id = v.organization_id AND s.id = v.channel_session_id
WHERE v.organization_id = %(organization_id)s AND v.id = %(id)s;

-- name: count_unread
SELECT count(*) FROM conversations WHERE organization_id = %(organization_id)s AND unread_count > 0;

-- name: list_messages
SELECT id, direction, external_id, type, body, attachments, metadata, status, status_at, error, sent_at,
    edited_at, deleted_at, arrival
FROM messages
WHERE organization_id = %(organization_id)s AND conversation_id = %(conversation_id)s
    AND (%(before_at)s::timestamptz IS NULL OR (sent_at, arrival) < (%(before_at)s, %(before_arrival)s))
ORDER BY sent_at DESC, arrival DESC
LIMIT %(limit)s;

-- Never beyond what has arrived: a reader cannot mark the future read.
-- name: mark_read
SELECT fn_mark_read(%(organization_id)s, %(conversation_id)s, least(%(through)s::bigint, coalesce((
    SELECT max(arrival) FROM messages
    WHERE organization_id = %(organization_id)s AND conversation_id = %(conversation_id)s
), 0)));

-- name: unblock_contact
UPDATE contacts SET is_blocked = false, blocked_reason = NULL, blocked_at = NULL
WHERE organization_id = %(organization_id)s AND id = %(contact_id)s AND is_blocked;

-- name: contact_exists
SELECT EXISTS (SELECT 1 FROM contacts WHERE organization_id = %(organization_id)s AND id = %(contact_id)s);
