-- name: release_leads
SELECT fn_release_leads(%(organization_id)s, %(user_id)s, %(actor)s);
