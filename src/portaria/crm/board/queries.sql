-- Viewers and above see every lead; an agent their own, and those without an owner where the organization lets
-- agents see them.
--
-- From stage to stage of the index, and in each as far as is shown: a stage costs a look, however full it is.
-- name: count_stages
WITH RECURSIVE stages AS (
    (SELECT stage FROM crm_leads
    WHERE organization_id = %(organization_id)s AND status = 'open'
    ORDER BY stage LIMIT 1)
    UNION ALL
    SELECT (
        SELECT l.stage FROM crm_leads l
        WHERE l.organization_id = %(organization_id)s AND l.status = 'open' AND l.stage > s.stage
        ORDER BY l.stage LIMIT 1
    )
    FROM stages s WHERE s.stage IS NOT NULL
), shown AS (
    SELECT s.stage FROM stages s
    WHERE s.stage IS NOT NULL
    ORDER BY s.stage = 'new' DESC, (
        SELECT l.created_at FROM crm_leads l
        WHERE l.organization_id = %(organization_id)s AND l.status = 'open' AND l.stage = s.stage
        ORDER BY l.created_at LIMIT 1
    ), s.stage
    LIMIT 12
)
SELECT s.stage, (
    SELECT count(*) FROM (
        SELECT FROM crm_leads l
        WHERE l.organization_id = %(organization_id)s AND l.status = 'open' AND l.stage = s.stage
        ORDER BY l.created_at DESC, l.id LIMIT 1000
    ) AS counted
) AS leads
FROM shown s;

-- What an agent may see: their own along one index, those without an owner along another.
-- name: count_stages_of_agent
SELECT l.stage, least(count(*), 1000) AS leads
FROM (
    SELECT stage, created_at FROM crm_leads
    WHERE organization_id = %(organization_id)s AND owner_user_id = %(user_id)s AND status = 'open'
    UNION ALL
    SELECT stage, created_at FROM crm_leads
    WHERE organization_id = %(organization_id)s AND owner_user_id IS NULL AND status = 'open'
        AND (SELECT agents_see_unowned FROM organizations WHERE id = %(organization_id)s)
) AS l
GROUP BY l.stage
ORDER BY l.stage = 'new' DESC, min(l.created_at), l.stage
LIMIT 12;

-- name: count_unowned
SELECT count(*) AS leads, min(l.created_at) AS oldest_at
FROM (
    SELECT created_at FROM crm_leads
    WHERE organization_id = %(organization_id)s AND owner_user_id IS NULL AND status = 'open'
        AND (%(everything)s
            OR (SELECT agents_see_unowned FROM organizations WHERE id = %(organization_id)s))
    ORDER BY created_at, id LIMIT 1000
) AS l;

-- Among the newest so many, which is enough for what many have; then among all that an index of parts of
-- words lets through. What belongs to a row is looked up for it: joined, the planner may read all there is.
-- name: search_latest_leads
SELECT l.organization_id, l.id, l.contact_id, c.name AS contact_name, c.phone_number, c.email,
    l.conversation_id, l.title, l.source, l.stage, l.status, l.tags, l.owner_user_id, u.name AS owner_name,
    l.assigned_at, l.created_at, l.updated_at
FROM (
    SELECT * FROM crm_leads
    WHERE organization_id = %(organization_id)s
    ORDER BY created_at DESC, id LIMIT %(window)s
) AS l
JOIN organizations o ON o.id = l.organization_id
CROSS JOIN LATERAL (
    SELECT * FROM contacts WHERE organization_id = l.organization_id AND id = l.contact_id LIMIT 1
) AS c
LEFT JOIN users u ON u.id = l.owner_user_id
WHERE (%(everything)s OR l.owner_user_id = %(user_id)s
        OR (l.owner_user_id IS NULL AND o.agents_see_unowned))
    AND (l.title ILIKE %(like)s OR c.name ILIKE %(like)s OR c.email ILIKE %(like)s
        OR c.phone_number LIKE %(phone)s::text)
ORDER BY l.created_at DESC, l.id
LIMIT %(limit)s;

-- name: search_leads
SELECT l.organization_id, l.id, l.contact_id, c.name AS contact_name, c.phone_number, c.email,
    l.conversation_id, l.title, l.source, l.stage, l.status, l.tags, l.owner_user_id, u.name AS owner_name,
    l.assigned_at, l.created_at, l.updated_at
FROM (
    SELECT id, created_at FROM (
        SELECT theirs.id, theirs.created_at FROM (
            SELECT fn_contacts_like(%(text)s) AS id UNION SELECT fn_contacts_like(%(digits)s)
        ) AS known
        JOIN crm_leads theirs ON theirs.organization_id = %(organization_id)s AND theirs.contact_id = known.id
        UNION
        SELECT called.id, called.created_at FROM (SELECT fn_leads_titled_like(%(text)s) AS id) AS titled
        JOIN crm_leads called ON called.organization_id = %(organization_id)s AND called.id = titled.id
    ) AS candidates
    ORDER BY created_at DESC, id LIMIT 20000
) AS newest
CROSS JOIN LATERAL (
    SELECT * FROM crm_leads WHERE organization_id = %(organization_id)s AND id = newest.id LIMIT 1
) AS l
JOIN organizations o ON o.id = l.organization_id
CROSS JOIN LATERAL (
    SELECT * FROM contacts WHERE organization_id = l.organization_id AND id = l.contact_id LIMIT 1
) AS c
LEFT JOIN users u ON u.id = l.owner_user_id
WHERE (%(everything)s OR l.owner_user_id = %(user_id)s
        OR (l.owner_user_id IS NULL AND o.agents_see_unowned))
    AND (l.title ILIKE %(like)s OR c.name ILIKE %(like)s OR c.email ILIKE %(like)s
        OR c.phone_number LIKE %(phone)s::text)
ORDER BY newest.created_at DESC, newest.id
LIMIT %(limit)s;

-- name: search_latest_conversations
SELECT v.id, v.contact_id, c.name AS contact_name, c.phone_number, c.username, c.is_blocked, c.blocked_reason,
    v.channel_session_id, s.name AS channel_name, s.provider, v.provider_conversation_id, v.last_message_at,
    v.last_inbound_at, v.last_outbound_at, v.last_message_preview, v.unread_count, v.created_at
FROM (
    SELECT * FROM conversations
    WHERE organization_id = %(organization_id)s
    ORDER BY last_message_at DESC NULLS LAST, id LIMIT %(window)s
) AS v
CROSS JOIN LATERAL (
    SELECT * FROM contacts WHERE organization_id = v.organization_id AND id = v.contact_id LIMIT 1
) AS c
JOIN channel_sessions s ON s.organization_id = v.organization_id AND s.id = v.channel_session_id
WHERE c.name ILIKE %(like)s OR c.username ILIKE %(like)s OR c.phone_number LIKE %(phone)s::text
ORDER BY v.last_message_at DESC NULLS LAST, v.id
LIMIT %(limit)s;

-- name: search_conversations
SELECT v.id, v.contact_id, c.name AS contact_name, c.phone_number, c.username, c.is_blocked, c.blocked_reason,
    v.channel_session_id, s.name AS channel_name, s.provider, v.provider_conversation_id, v.last_message_at,
    v.last_inbound_at, v.last_outbound_at, v.last_message_preview, v.unread_count, v.created_at
FROM (
    SELECT theirs.* FROM (
        SELECT fn_contacts_like(%(text)s) AS id UNION SELECT fn_contacts_like(%(digits)s)
    ) AS known
    JOIN conversations theirs ON theirs.organization_id = %(organization_id)s AND theirs.contact_id = known.id
    ORDER BY theirs.last_message_at DESC NULLS LAST, theirs.id LIMIT 20000
) AS v
CROSS JOIN LATERAL (
    SELECT * FROM contacts WHERE organization_id = v.organization_id AND id = v.contact_id LIMIT 1
) AS c
JOIN channel_sessions s ON s.organization_id = v.organization_id AND s.id = v.channel_session_id
WHERE c.name ILIKE %(like)s OR c.username ILIKE %(like)s OR c.phone_number LIKE %(phone)s::text
ORDER BY v.last_message_at DESC NULLS LAST, v.id
LIMIT %(limit)s;

-- name: news
SELECT newest.id, newest.last_message_at, coalesce(newest.unread_count, 0) AS unread_count,
    (SELECT count(*) FROM (
        SELECT FROM conversations WHERE organization_id = %(organization_id)s AND unread_count > 0 LIMIT 1000
    ) AS unread) AS unread_conversations,
    coalesce((
        SELECT seq FROM event_log WHERE organization_id = %(organization_id)s ORDER BY seq DESC LIMIT 1
    ), 0) AS newest_fact
FROM (VALUES (1)) AS always
LEFT JOIN (
    SELECT id, last_message_at, unread_count FROM conversations
    WHERE organization_id = %(organization_id)s
    ORDER BY last_message_at DESC NULLS LAST, id LIMIT 1
) AS newest ON true;
