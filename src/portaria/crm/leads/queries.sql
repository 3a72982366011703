-- name: agents_see_unowned
SELECT agents_see_unowned FROM organizations WHERE id = %(organization_id)s;

-- Up to three ordered walks, each along its own index, most of them empty: an OR would sort them all.
-- name: list_leads
SELECT l.organization_id, l.id, l.contact_id, c.name AS contact_name, c.phone_number, c.email,
    l.conversation_id, l.title, l.source, l.stage, l.status, l.tags, l.owner_user_id, u.name AS owner_name,
    l.assigned_at, l.created_at, l.updated_at
FROM (
    (SELECT * FROM crm_leads
    WHERE organization_id = %(organization_id)s AND %(everything)s
        AND (%(status)s::text IS NULL OR status = %(status)s)
        AND (%(stage)s::text IS NULL OR stage = %(stage)s)
        AND (%(contact_id)s::uuid IS NULL OR contact_id = %(contact_id)s)
        AND (%(after_at)s::timestamptz IS NULL
            OR (created_at <= %(after_at)s AND (created_at < %(after_at)s OR id > %(after_id)s)))
    ORDER BY created_at DESC, id LIMIT %(limit)s)
    UNION ALL
    (SELECT * FROM crm_leads
    WHERE organization_id = %(organization_id)s AND owner_user_id = %(owner)s
        AND (%(status)s::text IS NULL OR status = %(status)s)
        AND (%(stage)s::text IS NULL OR stage = %(stage)s)
        AND (%(contact_id)s::uuid IS NULL OR contact_id = %(contact_id)s)
        AND (%(after_at)s::timestamptz IS NULL
            OR (created_at <= %(after_at)s AND (created_at < %(after_at)s OR id > %(after_id)s)))
    ORDER BY created_at DESC, id LIMIT %(limit)s)
    UNION ALL
    (SELECT * FROM crm_leads
    WHERE organization_id = %(organization_id)s AND owner_user_id IS NULL AND %(unowned)s
        AND (%(status)s::text IS NULL OR status = %(status)s)
        AND (%(stage)s::text IS NULL OR stage = %(stage)s)
        AND (%(contact_id)s::uuid IS NULL OR contact_id = %(contact_id)s)
        AND (%(after_at)s::timestamptz IS NULL
            OR (created_at <= %(after_at)s AND (created_at < %(after_at)s OR id > %(after_id)s)))
    ORDER BY created_at DESC, id LIMIT %(limit)s)
) AS l
JOIN contacts c ON c.organization_id = l.organization_id AND c.id = l.contact_id
LEFT JOIN users u ON u.id = l.owner_user_id
ORDER BY l.created_at DESC, l.id LIMIT %(limit)s;

-- name: list_unowned
SELECT l.organization_id, l.id, l.contact_id, c.name AS contact_name, c.phone_number, c.email,
    l.conversation_id, l.title, l.source, l.stage, l.status, l.tags, l.owner_user_id,
    NULL::text AS owner_name, l.assigned_at, l.created_at, l.updated_at
FROM crm_leads l
JOIN contacts c ON c.organization_id = l.organization_id AND c.id = l.contact_id
WHERE l.organization_id = %(organization_id)s AND l.owner_user_id IS NULL AND l.status = 'open'
ORDER BY l.created_at, l.id LIMIT %(limit)s;

-- name: find_lead
SELECT l.organization_id, l.id, l.contact_id, c.name AS contact_name, c.phone_number, c.email,
    l.conversation_id, l.title, l.source, l.stage, l.status, l.tags, l.owner_user_id, u.name AS owner_name,
    l.assigned_at, l.created_at, l.updated_at
FROM crm_leads l
JOIN contacts c ON c.organization_id = l.organization_id AND c.id = l.contact_id
LEFT JOIN users u ON u.id = l.owner_user_id
WHERE l.organization_id = %(organization_id)s AND l.id = %(lead_id)s;

-- Who did it, for the facts that the trigger writes in this transaction.
-- name: leave_word
SELECT set_config('portaria.cause', %(cause)s, true);

-- name: resolve_contact
SELECT fn_resolve_contact(%(organization_id)s, NULL, %(person)s);

-- name: complete_email
UPDATE contacts SET email = %(email)s
WHERE organization_id = %(organization_id)s AND id = %(contact_id)s AND email IS NULL;

-- name: insert_lead
INSERT INTO crm_leads (organization_id, id, contact_id, title, source, stage, tags)
VALUES (%(organization_id)s, %(id)s, %(contact_id)s, %(title)s, %(source)s, %(stage)s, %(tags)s);

-- name: update_lead
UPDATE crm_leads SET
    title = coalesce(%(title)s, title),
    stage = coalesce(%(stage)s, stage),
    status = coalesce(%(status)s, status),
    tags = coalesce(%(tags)s::text[], tags),
    updated_at = now()
WHERE organization_id = %(organization_id)s AND id = %(lead_id)s;

-- name: lock_members
SELECT user_id FROM fn_lock_members(ARRAY[%(user_id)s]::uuid[])
WHERE revoked_at IS NULL AND role <> 'viewer';

-- name: lock_lead
SELECT owner_user_id FROM crm_leads WHERE organization_id = %(organization_id)s AND id = %(lead_id)s
FOR UPDATE;

-- name: set_owner
UPDATE crm_leads SET owner_user_id = %(user_id)s, updated_at = now()
WHERE organization_id = %(organization_id)s AND id = %(lead_id)s;
