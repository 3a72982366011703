-- name: list_forms
SELECT organization_id, id, path_token, name, intro, success_url, archived_at, created_at
FROM lead_forms WHERE organization_id = %(organization_id)s
ORDER BY archived_at IS NOT NULL, created_at, id;

-- name: find_form
SELECT organization_id, id, path_token, name, intro, success_url, archived_at, created_at
FROM lead_forms WHERE organization_id = %(organization_id)s AND id = %(id)s;

-- name: form_by_token
SELECT organization_id, id, path_token, name, intro, success_url, archived_at, created_at
FROM lead_forms WHERE path_token = %(token)s AND archived_at IS NULL;

-- name: insert_form
INSERT INTO lead_forms (organization_id, id, path_token, name, intro, success_url)
VALUES (%(organization_id)s, %(id)s, %(path_token)s, %(name)s, %(intro)s, %(success_url)s);

-- name: update_form
UPDATE lead_forms SET name = %(name)s, intro = %(intro)s, success_url = %(success_url)s
WHERE organization_id = %(organization_id)s AND id = %(id)s;

-- name: archive_form
UPDATE lead_forms SET archived_at = coalesce(archived_at, now())
WHERE organization_id = %(organization_id)s AND id = %(id)s;

-- name: admit
SELECT fn_admit_lead_form(%(key)s, %(limit)s);

-- name: submit
SELECT outcome, lead_id, contact_id
FROM fn_submit_lead_form(%(organization_id)s, %(form_id)s, %(row)s, %(key)s, %(person)s);

-- An arrival that becomes no lead: `error` with the reason, or `processed` when a trap caught it.
-- name: close_without_lead
UPDATE webhook_events_log SET
    status = %(status)s, error_message = %(note)s, event_type = 'lead_form.submitted',
    processed_at = clock_timestamp()
WHERE id = %(row)s AND status = 'received';
