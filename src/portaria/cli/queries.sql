-- name: demo_organization
SELECT m.organization_id
FROM users AS u
JOIN user_organizations AS m ON m.user_id = u.id
WHERE u.email = %(email)s
ORDER BY m.created_at
LIMIT 1;

-- name: make_operator
UPDATE users SET is_operator = true WHERE email = %(email)s;

-- name: set_passwords
UPDATE users SET password_hash = %(hash)s WHERE email = ANY (%(emails)s);

-- name: set_channel_secret
UPDATE channel_sessions SET secret_ciphertext = %(ciphertext)s
WHERE organization_id = %(organization_id)s AND account_id = %(account_id)s AND provider = 'zernio'
RETURNING id, webhook_path_token;
