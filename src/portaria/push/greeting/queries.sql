-- A greeting speaks of no lead: its place is taken by the organization's id.
-- name: own_browsers
SELECT id, endpoint, p256dh, auth, organization_id AS lead_id, %(title)s::text AS title, 'pt_BR' AS locale,
    %(heading)s::text AS heading
FROM push_subscriptions
WHERE organization_id = %(organization_id)s AND user_id = %(user_id)s
ORDER BY created_at DESC;

-- name: forget
DELETE FROM push_subscriptions
WHERE organization_id = %(organization_id)s AND id = ANY(%(ids)s::uuid[]);
