-- migrate:up
SET LOCAL lock_timeout = '5s';

-- A browser's sign-in, kept here so that any web process serves any request (design 5). The cookie
-- holds the id, this table only its hash: who reads the table cannot use it.
CREATE TABLE browser_sessions (
    id_hash bytea PRIMARY KEY CHECK (length(id_hash) = 32),
    data bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX browser_sessions_expired ON browser_sessions (expires_at);

-- Failed sign-ins of one address, one e-mail, or both together, until the window ends. Hashed keys:
-- nobody's e-mail or address is kept here.
CREATE TABLE sign_in_throttles (
    key bytea PRIMARY KEY CHECK (length(key) = 32),
    failures integer NOT NULL CHECK (failures >= 0),
    ends_at timestamptz NOT NULL
);
CREATE INDEX sign_in_throttles_ended ON sign_in_throttles (ends_at);

ALTER TABLE browser_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sign_in_throttles ENABLE ROW LEVEL SECURITY;
CREATE POLICY service ON browser_sessions TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service ON sign_in_throttles TO service_role USING (true) WITH CHECK (true);
-- `authenticated` gets nothing on either.
GRANT SELECT, INSERT, UPDATE, DELETE ON browser_sessions, sign_in_throttles TO service_role;

-- What a person changes in their own organization: what was read, and who is no longer blocked.
GRANT UPDATE (unread_count, read_through) ON conversations TO authenticated;
GRANT UPDATE (is_blocked, blocked_reason, blocked_at) ON contacts TO authenticated;

-- migrate:down
REVOKE UPDATE (is_blocked, blocked_reason, blocked_at) ON contacts FROM authenticated;
REVOKE UPDATE (unread_count, read_through) ON conversations FROM authenticated;
DROP TABLE sign_in_throttles, browser_sessions;
