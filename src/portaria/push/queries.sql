-- name: subscribe
INSERT INTO push_subscriptions (organization_id, id, user_id, endpoint, p256dh, auth, user_agent)
VALUES (%(organization_id)s, %(id)s, %(user_id)s, %(endpoint)s, %(p256dh)s, %(auth)s, %(user_agent)s)
ON CONFLICT (organization_id, endpoint) DO UPDATE SET
    user_id = excluded.user_id, p256dh = excluded.p256dh, auth = excluded.auth,
    user_agent = excluded.user_agent, created_at = now();

-- The browser's earlier user, in any organization, is told nothing more through it.
-- name: leave_others
DELETE FROM push_subscriptions WHERE endpoint = %(endpoint)s AND user_id <> %(user_id)s;

-- name: make_room
DELETE FROM push_subscriptions WHERE organization_id = %(organization_id)s AND id IN (
    SELECT id FROM push_subscriptions
    WHERE organization_id = %(organization_id)s AND user_id = %(user_id)s
    ORDER BY endpoint = %(endpoint)s DESC, created_at DESC OFFSET %(most)s
);

-- name: unsubscribe
DELETE FROM push_subscriptions WHERE user_id = %(user_id)s AND endpoint = %(endpoint)s;

-- name: forget
DELETE FROM push_subscriptions WHERE organization_id = %(organization_id)s AND id = %(id)s;

-- The browsers of the lead's owner, if they still are the owner and still a member, that this event has
-- not reached yet; none when it is too long ago, by this server's clock.
-- name: waiting_browsers
SELECT s.id, s.endpoint, s.p256dh, s.auth, l.id AS lead_id, l.title, coalesce(u.locale, o.locale) AS locale
FROM crm_leads l
JOIN push_subscriptions s ON s.organization_id = l.organization_id AND s.user_id = l.owner_user_id
JOIN user_organizations m ON m.organization_id = l.organization_id AND m.user_id = l.owner_user_id
    AND m.revoked_at IS NULL
JOIN users u ON u.id = s.user_id
JOIN organizations o ON o.id = l.organization_id
WHERE l.organization_id = %(organization_id)s AND l.id = %(lead_id)s AND l.owner_user_id = %(owner)s
    AND clock_timestamp() - %(created_at)s <= %(stale)s
    AND NOT EXISTS (
        SELECT FROM push_deliveries d
        WHERE d.organization_id = s.organization_id AND d.event_id = %(event_id)s AND d.subscription_id = s.id
    );

-- A browser that was forgotten meanwhile is nothing to record.
-- name: delivered
INSERT INTO push_deliveries (organization_id, event_id, subscription_id)
SELECT organization_id, %(event_id)s, id FROM push_subscriptions
WHERE organization_id = %(organization_id)s AND id = %(id)s
FOR KEY SHARE
ON CONFLICT DO NOTHING;

-- name: prune
DELETE FROM push_deliveries WHERE sent_at < now() - make_interval(days => %(days)s);

-- The leads' facts of the last moments, in order, at most so many of each organization. Along the index:
-- how much history there is does not matter.
-- name: live_facts
SELECT e.seq, jsonb_build_object(
    'organization_id', e.organization_id, 'type', e.event_type, 'id', e.entity_id,
    'owner_user_id', e.payload -> 'owner_user_id',
    'previous_owner_user_id', e.payload -> 'previous_owner_user_id')
FROM unnest(%(organizations)s::uuid[]) AS o (id)
CROSS JOIN LATERAL (
    SELECT * FROM event_log WHERE organization_id = o.id ORDER BY seq DESC LIMIT %(most)s
) AS e
WHERE e.entity_kind = 'lead' AND e.created_at > clock_timestamp() - make_interval(secs => %(window)s)
ORDER BY e.seq;
