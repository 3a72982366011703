-- Two registrations of one line in two spellings take turns.
-- name: lock_phones
SELECT pg_advisory_xact_lock(fn_lock_key('line', %(line)s));

-- name: phone_registered
SELECT 1 FROM channel_sessions
WHERE provider = %(provider)s AND phone_number = ANY(%(spellings)s::text[]) AND archived_at IS NULL;

-- name: insert_channel
INSERT INTO channel_sessions (
    organization_id, id, provider, name, account_id, phone_number, provider_profile_id, webhook_path_token,
    secret_ciphertext
) VALUES (
    %(organization_id)s, %(id)s, %(provider)s, %(name)s, %(account_id)s, %(phone_number)s, %(profile_id)s,
    %(token)s, %(secret_ciphertext)s
);

-- name: find_channel
SELECT id, organization_id, provider, name, account_id, phone_number, provider_profile_id, webhook_path_token,
    previous_secret_until, state, state_at, archived_at, created_at
FROM channel_sessions WHERE organization_id = %(organization_id)s AND id = %(id)s;

-- name: list_channels
SELECT id, organization_id, provider, name, account_id, phone_number, provider_profile_id, webhook_path_token,
    previous_secret_until, state, state_at, archived_at, created_at
FROM channel_sessions
WHERE organization_id = %(organization_id)s AND (%(with_archived)s OR archived_at IS NULL)
    AND (%(after_at)s::timestamptz IS NULL OR (created_at, id) > (%(after_at)s, %(after_id)s))
ORDER BY created_at, id
LIMIT %(limit)s;

-- The secret in use becomes the previous one, for as long as the provider may still sign with it.
-- name: rotate_secret
UPDATE channel_sessions SET
    previous_secret_ciphertext = CASE WHEN %(keep_for)s > 0 THEN secret_ciphertext END,
    previous_secret_until = CASE WHEN %(keep_for)s > 0 AND secret_ciphertext IS NOT NULL
        THEN now() + make_interval(secs => %(keep_for)s) END,
    secret_ciphertext = %(secret_ciphertext)s
WHERE organization_id = %(organization_id)s AND id = %(id)s AND archived_at IS NULL
RETURNING previous_secret_until;

-- name: archive_channel
UPDATE channel_sessions SET archived_at = now()
WHERE organization_id = %(organization_id)s AND id = %(id)s AND archived_at IS NULL;

-- name: list_ciphertexts
SELECT organization_id, id, secret_ciphertext, previous_secret_ciphertext FROM channel_sessions
WHERE secret_ciphertext IS NOT NULL OR previous_secret_ciphertext IS NOT NULL
ORDER BY organization_id, id;

-- name: move_ciphertexts
UPDATE channel_sessions SET
    secret_ciphertext = %(current)s, previous_secret_ciphertext = %(previous)s
WHERE organization_id = %(organization_id)s AND id = %(id)s
    AND secret_ciphertext IS NOT DISTINCT FROM %(was)s::bytea
    AND previous_secret_ciphertext IS NOT DISTINCT FROM %(previous_was)s::bytea;
