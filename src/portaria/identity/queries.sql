-- Who signed in, in the organization asked for or the first joined. No row: unknown user, or signed
-- out everywhere since. A row without a role: no live membership there.
-- name: principal
SELECT u.id AS user_id, u.email, u.name, u.is_operator, m.organization_id, m.role, o.name AS organization_name,
    o.time_zone, coalesce(u.locale, o.locale, 'pt_BR') AS locale
FROM users u
LEFT JOIN user_organizations m ON m.user_id = u.id AND m.revoked_at IS NULL
    AND (%(organization_id)s::uuid IS NULL OR m.organization_id = %(organization_id)s)
LEFT JOIN organizations o ON o.id = m.organization_id
WHERE u.id = %(user_id)s AND u.sessions_epoch = %(epoch)s
ORDER BY m.created_at, m.organization_id
LIMIT 1;

-- name: memberships
SELECT m.organization_id, o.name, m.role
FROM user_organizations m JOIN organizations o ON o.id = m.organization_id
WHERE m.user_id = %(user_id)s AND m.revoked_at IS NULL
ORDER BY m.created_at, m.organization_id;

-- name: credentials
SELECT id, password_hash, sessions_epoch FROM users WHERE lower(email) = lower(%(email)s);

-- name: credentials_by_id
SELECT id, password_hash, sessions_epoch FROM users WHERE id = %(user_id)s;

-- name: rehash_password
UPDATE users SET password_hash = %(new_hash)s WHERE id = %(user_id)s AND password_hash = %(old_hash)s;

-- name: set_password
UPDATE users SET password_hash = %(password_hash)s, sessions_epoch = sessions_epoch + 1
WHERE id = %(user_id)s
RETURNING sessions_epoch;

-- name: sign_out_everywhere
UPDATE users SET sessions_epoch = sessions_epoch + 1 WHERE id = %(user_id)s RETURNING sessions_epoch;

-- name: set_locale
UPDATE users SET locale = %(locale)s WHERE id = %(user_id)s;

-- name: set_operator
UPDATE users SET is_operator = %(is_operator)s WHERE id = %(user_id)s;

-- name: insert_user
INSERT INTO users (id, email, name, password_hash)
VALUES (%(id)s, %(email)s, %(name)s, %(password_hash)s)
ON CONFLICT (lower(email)) DO NOTHING
RETURNING id;

-- name: find_user
SELECT id FROM users WHERE lower(email) = lower(%(email)s);

-- name: insert_organization
INSERT INTO organizations (id, name, time_zone, locale)
VALUES (%(id)s, %(name)s, %(time_zone)s, %(locale)s);

-- name: find_organization
SELECT id, name, time_zone, locale, agents_see_unowned, created_at FROM organizations WHERE id = %(id)s;

-- name: list_organizations
SELECT id, name, time_zone, locale, agents_see_unowned, created_at FROM organizations ORDER BY created_at, id;

-- name: update_organization
UPDATE organizations SET
    name = coalesce(%(name)s, name),
    time_zone = coalesce(%(time_zone)s, time_zone),
    locale = coalesce(%(locale)s, locale),
    agents_see_unowned = coalesce(%(agents_see_unowned)s, agents_see_unowned)
WHERE id = %(id)s
RETURNING id, name, time_zone, locale, agents_see_unowned, created_at;

-- name: insert_member
INSERT INTO user_organizations (organization_id, user_id, role)
VALUES (%(organization_id)s, %(user_id)s, %(role)s)
ON CONFLICT (organization_id, user_id) DO NOTHING;

-- The member, and every live admin: whoever takes an admin away must see that one is left. In the order
-- in which memberships are always locked.
-- name: lock_member_and_admins
SELECT user_id, role, revoked_at FROM user_organizations
WHERE organization_id = %(organization_id)s
    AND (user_id = %(user_id)s OR (role = 'admin' AND revoked_at IS NULL))
ORDER BY user_id
FOR NO KEY UPDATE;

-- name: set_role
UPDATE user_organizations SET role = %(role)s
WHERE organization_id = %(organization_id)s AND user_id = %(user_id)s;

-- name: restore_member
UPDATE user_organizations SET role = %(role)s, revoked_at = NULL
WHERE organization_id = %(organization_id)s AND user_id = %(user_id)s;

-- name: revoke_member
UPDATE user_organizations SET revoked_at = now()
WHERE organization_id = %(organization_id)s AND user_id = %(user_id)s;

-- name: list_members
SELECT m.user_id, u.email, u.name, m.role, u.is_operator, m.revoked_at, m.created_at
FROM user_organizations m JOIN users u ON u.id = m.user_id
WHERE m.organization_id = %(organization_id)s
    AND (%(with_revoked)s OR m.revoked_at IS NULL)
    AND (%(after_at)s::timestamptz IS NULL OR (m.created_at, m.user_id) > (%(after_at)s, %(after_id)s))
ORDER BY m.created_at, m.user_id
LIMIT %(limit)s;

-- name: find_member
SELECT m.user_id, u.email, u.name, m.role, u.is_operator, m.revoked_at, m.created_at
FROM user_organizations m JOIN users u ON u.id = m.user_id
WHERE m.organization_id = %(organization_id)s AND m.user_id = %(user_id)s;

-- name: find_member_by_email
SELECT m.user_id FROM user_organizations m JOIN users u ON u.id = m.user_id
WHERE m.organization_id = %(organization_id)s AND lower(u.email) = lower(%(email)s);

-- Counts one failure for each key ahead of the try (so that tries side by side cannot all slip through),
-- unless one is over its limit already: a refused try must not lock others out. In one order: no deadlock.
-- name: throttle_take
WITH asked AS (
    SELECT key, "limit" FROM unnest(%(keys)s::bytea[], %(limits)s::integer[]) AS a (key, "limit")
), full_already AS (
    SELECT 1 FROM sign_in_throttles t JOIN asked a USING (key)
    WHERE t.ends_at > now() AND t.failures >= a."limit"
), taken AS (
    INSERT INTO sign_in_throttles AS t (key, failures, ends_at)
    SELECT key, 1, now() + make_interval(secs => %(window)s) FROM asked
    WHERE NOT EXISTS (SELECT 1 FROM full_already)
    ORDER BY key
    ON CONFLICT (key) DO UPDATE SET
        failures = CASE WHEN t.ends_at <= now() THEN 1 ELSE t.failures + 1 END,
        ends_at = CASE WHEN t.ends_at <= now() THEN excluded.ends_at ELSE t.ends_at END
    RETURNING key, failures, ends_at
)
SELECT coalesce(max(extract(epoch FROM held.ends_at - now())), 0)::float8 AS retry_after
FROM (
    SELECT t.ends_at FROM taken t JOIN asked a USING (key) WHERE t.failures > a."limit"
    UNION ALL
    SELECT t.ends_at FROM sign_in_throttles t JOIN asked a USING (key)
    WHERE t.ends_at > now() AND t.failures >= a."limit" AND EXISTS (SELECT 1 FROM full_already)
) AS held;

-- name: throttle_give_back
UPDATE sign_in_throttles SET failures = failures - 1
WHERE failures > 0 AND key IN (
    SELECT key FROM sign_in_throttles WHERE key = ANY(%(keys)s::bytea[]) ORDER BY key FOR UPDATE
);

-- name: throttle_forget
DELETE FROM sign_in_throttles WHERE key = %(key)s;

-- name: throttle_purge
DELETE FROM sign_in_throttles WHERE key IN (
    SELECT key FROM sign_in_throttles WHERE ends_at < now() LIMIT 100 FOR UPDATE SKIP LOCKED
);

-- name: session_read
SELECT data, extract(epoch FROM expires_at - now())::float8 AS left_for
FROM browser_sessions WHERE id_hash = %(id_hash)s AND expires_at > now();

-- name: session_create
INSERT INTO browser_sessions (id_hash, data, expires_at)
VALUES (%(id_hash)s, %(data)s, now() + make_interval(secs => %(lifetime)s));

-- A session that was ended meanwhile stays ended.
-- name: session_write
UPDATE browser_sessions SET data = %(data)s, expires_at = now() + make_interval(secs => %(lifetime)s)
WHERE id_hash = %(id_hash)s;

-- name: session_delete
DELETE FROM browser_sessions WHERE id_hash = %(id_hash)s;

-- name: session_purge
DELETE FROM browser_sessions WHERE id_hash IN (
    SELECT id_hash FROM browser_sessions WHERE expires_at < now() LIMIT 100 FOR UPDATE SKIP LOCKED
);

-- The act's entry in the audit, in its own transaction (identity stands beside the audit, not above it).
-- name: record_act
INSERT INTO api_audit_log (id, organization_id, action, actor, resource_kind, resource_id, metadata)
VALUES (
    %(id)s, %(organization_id)s, %(action)s, %(actor)s, %(resource_kind)s, %(resource_id)s, %(metadata)s
);
