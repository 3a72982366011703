-- The statement that takes the lock is not the one that reads what it protects.
-- name: lock_subscription
SELECT pg_advisory_xact_lock(hashtextextended('example-subscription:' || %(subscription)s, 7));

-- The newest version that was told, also by a notice that somebody has resolved since.
-- name: told_version
SELECT max(split_part(resource_id, '@', 2)::numeric) FROM notices
WHERE organization_id IS NULL AND resource_kind = 'subscription'
    AND resource_id LIKE '%%@%%' AND split_part(resource_id, '@', 1) = %(subscription)s;
