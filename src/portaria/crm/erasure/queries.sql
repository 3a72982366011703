-- name: contact
SELECT id, name, phone_number, email, username, erased_at FROM contacts
WHERE organization_id = %(organization_id)s AND id = %(contact_id)s;

-- name: contacts_by_phone
SELECT id FROM contacts
WHERE organization_id = %(organization_id)s AND phone_number = ANY (%(phones)s)
ORDER BY id;

-- name: identities
SELECT kind, value FROM contact_identities
WHERE organization_id = %(organization_id)s AND contact_id = %(contact_id)s;

-- name: threads
SELECT provider_conversation_id FROM conversations
WHERE organization_id = %(organization_id)s AND contact_id = %(contact_id)s;

-- name: external_ids
SELECT m.external_id FROM conversations v
JOIN messages m ON m.organization_id = v.organization_id AND m.conversation_id = v.id
WHERE v.organization_id = %(organization_id)s AND v.contact_id = %(contact_id)s
UNION
SELECT external_id FROM contact_opt_outs
WHERE organization_id = %(organization_id)s AND contact_id = %(contact_id)s;

-- name: submissions
SELECT s.webhook_event_id FROM crm_leads l
JOIN lead_form_submissions s ON s.organization_id = l.organization_id AND s.lead_id = l.id
WHERE l.organization_id = %(organization_id)s AND l.contact_id = %(contact_id)s;

-- Spellings that are somebody else's: another contact's; or our own numbers', which every delivery names.
-- name: others_phones
SELECT phone_number FROM channel_sessions
WHERE organization_id = %(organization_id)s AND phone_number = ANY (%(phones)s)
UNION
SELECT phone_number FROM contacts
WHERE organization_id = %(organization_id)s AND phone_number = ANY (%(phones)s) AND id <> %(contact_id)s;

-- name: counts
SELECT
    (SELECT count(*) FROM conversations WHERE organization_id = %(organization_id)s
        AND contact_id = %(contact_id)s) AS conversations,
    (SELECT count(*) FROM fn_rows_of_contact(%(organization_id)s, %(contact_id)s)
        WHERE kind = 'message') AS messages,
    (SELECT count(*) FROM crm_leads WHERE organization_id = %(organization_id)s
        AND contact_id = %(contact_id)s) AS leads,
    (SELECT count(*) FROM fn_rows_of_contact(%(organization_id)s, %(contact_id)s) AS theirs
        JOIN event_log e ON e.organization_id = %(organization_id)s AND e.entity_kind = theirs.kind
            AND e.entity_id = theirs.id) AS events;

-- The archive is walked by (organization, status, id), so many rows at a time: where the next stretch ends.
-- name: stretch
SELECT id FROM webhook_events_log
WHERE organization_id = %(organization_id)s AND status = %(status)s AND id > %(after)s
ORDER BY id OFFSET %(rows)s - 1 LIMIT 1;

-- name: stretch_of_nobody
SELECT id FROM webhook_events_log
WHERE organization_id IS NULL AND status = %(status)s AND id > %(after)s
ORDER BY id OFFSET %(rows)s - 1 LIMIT 1;

-- How many stretches there are, or a few more: for a bar.
-- name: stretches
SELECT (SELECT count(*) FROM webhook_events_log
    WHERE (organization_id = %(organization_id)s OR organization_id IS NULL) AND processed_at IS NOT NULL
) / %(rows)s + 6;

-- What in a stretch may speak of the person, and how much there is to look at.
-- name: suspects
SELECT id, octet_length(raw_body) FROM webhook_events_log
WHERE organization_id = %(organization_id)s AND status = %(status)s AND id > %(after)s AND id <= %(until)s
    AND (external_id = ANY (%(ids)s::text[]) OR (body_emptied_at IS NULL
        AND (provider = 'lead_form' OR fn_might_hold(raw_body, %(needles)s::bytea[]))));

-- name: suspects_of_nobody
SELECT id, octet_length(raw_body) FROM webhook_events_log
WHERE organization_id IS NULL AND status = %(status)s AND id > %(after)s AND id <= %(until)s
    AND (external_id = ANY (%(ids)s::text[]) OR (body_emptied_at IS NULL
        AND (provider = 'lead_form' OR fn_might_hold(raw_body, %(needles)s::bytea[]))));

-- What is pending, or finished since a walk began.
-- name: recent
SELECT id, octet_length(raw_body) FROM webhook_events_log
WHERE (organization_id = %(organization_id)s OR organization_id IS NULL)
    AND (processed_at IS NULL OR (processed_at >= %(since)s AND body_emptied_at IS NULL))
    AND (external_id = ANY (%(ids)s::text[]) OR provider = 'lead_form'
        OR fn_might_hold(raw_body, %(needles)s::bytea[]));

-- name: bodies
SELECT id, external_id, processed_at IS NULL AS pending, raw_body FROM webhook_events_log
WHERE id = ANY (%(rows)s);

-- A transaction that closed a row may commit that much after the time it wrote.
-- name: a_moment_ago
SELECT clock_timestamp() - interval '90 seconds';

-- Somebody with years of messages takes longer than a page may.
-- name: patience
SELECT set_config('statement_timeout', '120s', true);

-- name: lock
SELECT fn_lock_contact(%(organization_id)s, %(contact_id)s);

-- name: erase
SELECT fn_erase_contact(%(organization_id)s, %(contact_id)s, %(arrivals)s::uuid[], %(spellings)s::text[]);
