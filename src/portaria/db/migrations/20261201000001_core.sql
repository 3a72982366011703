-- migrate:up
SET LOCAL lock_timeout = '5s';

-- The organization whose rows the current transaction may see (design 4). Reads '' after a
-- transaction-local setting ended, hence nullif.
CREATE FUNCTION fn_current_organization() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT nullif(current_setting('portaria.organization_id', true), '')::uuid $$;

CREATE FUNCTION fn_is_operator() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT coalesce(current_setting('portaria.is_operator', true), '') = 'on' $$;

-- ---------------------------------------------------------------------------------------------
-- Who: organizations, users, members
-- ---------------------------------------------------------------------------------------------
CREATE TABLE organizations (
    id uuid PRIMARY KEY,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    time_zone text NOT NULL DEFAULT 'America/Sao_Paulo',
    locale text NOT NULL DEFAULT 'pt_BR' CHECK (locale IN ('pt_BR', 'en')),
    -- Agents see leads without an owner (default yes).
    agents_see_unowned boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE users (
    id uuid PRIMARY KEY,
    email text NOT NULL CHECK (length(email) BETWEEN 3 AND 255),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    -- Operators alone see rows that belong to no organization, and incoming_events.
    is_operator boolean NOT NULL DEFAULT false,
    password_hash text,
    locale text CHECK (locale IN ('pt_BR', 'en')),
    -- Raised to sign the user out everywhere: older sessions and tokens are refused.
    sessions_epoch integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);
-- One user per e-mail address, whatever its case.
CREATE UNIQUE INDEX users_email ON users (lower(email));

CREATE TABLE user_organizations (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    user_id uuid NOT NULL REFERENCES users (id),
    role text NOT NULL CHECK (role IN ('viewer', 'agent', 'manager', 'admin')),
    -- Set when the member left; the row stays, as history points to it.
    revoked_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX user_organizations_user ON user_organizations (user_id);

-- ---------------------------------------------------------------------------------------------
-- Channels and the archive of what arrives
-- ---------------------------------------------------------------------------------------------
CREATE TABLE channel_sessions (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    provider text NOT NULL
        CHECK (provider IN ('zernio', 'zernio_social', 'lead_form', 'meta_cloud', 'standard_webhooks')),
    name text NOT NULL DEFAULT '' CHECK (length(name) <= 255),
    account_id text NOT NULL CHECK (length(account_id) BETWEEN 1 AND 255),
    phone_number text CHECK (phone_number ~ '^\+[0-9]{8,15}$'),
    provider_profile_id text CHECK (length(provider_profile_id) BETWEEN 1 AND 255),
    webhook_path_token text NOT NULL CHECK (length(webhook_path_token) BETWEEN 8 AND 255),
    -- Encrypted by the installation's secret key; never readable by `authenticated`.
    secret_ciphertext bytea,
    previous_secret_ciphertext bytea,
    previous_secret_until timestamptz,
    state text,
    state_at timestamptz,
    archived_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX channel_sessions_token ON channel_sessions (webhook_path_token);
-- Nobody can register another's account: unique among the live sessions of the whole installation.
CREATE UNIQUE INDEX channel_sessions_account ON channel_sessions (provider, account_id)
    WHERE archived_at IS NULL;
CREATE UNIQUE INDEX channel_sessions_phone ON channel_sessions (provider, phone_number)
    WHERE archived_at IS NULL AND phone_number IS NOT NULL;
CREATE INDEX channel_sessions_profile ON channel_sessions (provider, provider_profile_id)
    WHERE archived_at IS NULL AND provider_profile_id IS NOT NULL;

-- Whatever arrived, byte for byte, committed before anything in it is looked at (spec 2.2).
-- No foreign keys into tenant tables: the row must be writable before its tenant is known.
CREATE TABLE webhook_events_log (
    id uuid PRIMARY KEY,
    organization_id uuid,
    channel_session_id uuid,
    provider text NOT NULL
        CHECK (provider IN ('zernio', 'zernio_social', 'lead_form', 'meta_cloud', 'standard_webhooks')),
    headers jsonb NOT NULL DEFAULT '{}',
    raw_body bytea NOT NULL,
    status text NOT NULL DEFAULT 'received'
        CHECK (status IN ('received', 'processed', 'error', 'dead')),
    -- null: not looked at; true: proven; false: refused. received + true = accepted, pending.
    valid_signature boolean,
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    last_attempt_at timestamptz,
    error_message text,
    event_type text,
    external_id text,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    processed_at timestamptz,
    CHECK ((status = 'received') = (processed_at IS NULL))
)
-- The accept update must find room on its row's own page, or it is not HOT (design 4).
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
-- What is pending. Its predicate holds no column that the accept update sets. It is not `status =
-- 'received'`, which every update by id names too: nearly no row has it, so this index would look cheaper
-- than the primary key, and each update would read all that is pending.
CREATE INDEX webhook_events_log_pending ON webhook_events_log (received_at) WHERE processed_at IS NULL;

-- ---------------------------------------------------------------------------------------------
-- CRM: contacts, conversations, messages, leads
-- ---------------------------------------------------------------------------------------------
CREATE TABLE contacts (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    name text,
    phone_number text CHECK (phone_number ~ '^\+[0-9]{8,15}$'),
    email text,
    username text,
    is_blocked boolean NOT NULL DEFAULT false,
    blocked_reason text,
    blocked_at timestamptz,
    source_metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id)
) WITH (fillfactor = 90);
-- A phone number is one contact within an organization.
CREATE UNIQUE INDEX contacts_phone ON contacts (organization_id, phone_number)
    WHERE phone_number IS NOT NULL;

-- Ids under which a provider knows a contact (business-scoped id, social user). One owner each.
CREATE TABLE contact_identities (
    organization_id uuid NOT NULL,
    kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 50),
    value text NOT NULL CHECK (length(value) BETWEEN 1 AND 600),
    contact_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, kind, value),
    FOREIGN KEY (organization_id, contact_id) REFERENCES contacts (organization_id, id)
);
CREATE INDEX contact_identities_contact ON contact_identities (organization_id, contact_id);

-- An opt-out counts once per message, also when the message itself was never ingested: after a
-- person unblocked the contact, replaying the old request must not block again (spec 2.3, T2).
CREATE TABLE contact_opt_outs (
    organization_id uuid NOT NULL,
    external_id text NOT NULL CHECK (length(external_id) BETWEEN 1 AND 255),
    contact_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, external_id),
    FOREIGN KEY (organization_id, contact_id) REFERENCES contacts (organization_id, id)
);
CREATE INDEX contact_opt_outs_contact ON contact_opt_outs (organization_id, contact_id);

CREATE TABLE conversations (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    contact_id uuid NOT NULL,
    channel_session_id uuid NOT NULL,
    provider_conversation_id text NOT NULL CHECK (length(provider_conversation_id) BETWEEN 1 AND 255),
    last_message_at timestamptz,
    last_inbound_at timestamptz,
    last_outbound_at timestamptz,
    last_message_preview text,
    unread_count integer NOT NULL DEFAULT 0 CHECK (unread_count >= 0),
    -- The arrival number (messages.arrival) up to which somebody has read.
    read_through bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, contact_id) REFERENCES contacts (organization_id, id),
    FOREIGN KEY (organization_id, channel_session_id) REFERENCES channel_sessions (organization_id, id),
    -- The thread is the first proof of identity: one conversation per thread and session.
    UNIQUE (organization_id, channel_session_id, provider_conversation_id)
) WITH (fillfactor = 70);
CREATE INDEX conversations_contact ON conversations (organization_id, contact_id);
CREATE INDEX conversations_recent ON conversations (organization_id, last_message_at DESC NULLS LAST, id);

CREATE TABLE messages (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    contact_id uuid NOT NULL,
    channel_session_id uuid NOT NULL,
    direction text NOT NULL CHECK (direction IN ('inbound', 'outbound')),
    external_id text NOT NULL CHECK (length(external_id) BETWEEN 1 AND 255),
    type text NOT NULL CHECK (length(type) BETWEEN 1 AND 50),
    body text,
    attachments jsonb NOT NULL DEFAULT '[]',
    metadata jsonb NOT NULL DEFAULT '{}',
    status text NOT NULL CHECK (status IN ('received', 'sent', 'delivered', 'read', 'failed')),
    status_at timestamptz,
    error jsonb,
    sent_at timestamptz NOT NULL,
    edited_at timestamptz,
    deleted_at timestamptz,
    -- The order in which messages came in; monotonic within a conversation (its row is locked).
    arrival bigint GENERATED ALWAYS AS IDENTITY,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, conversation_id) REFERENCES conversations (organization_id, id),
    FOREIGN KEY (organization_id, contact_id) REFERENCES contacts (organization_id, id),
    FOREIGN KEY (organization_id, channel_session_id) REFERENCES channel_sessions (organization_id, id),
    -- The one event whose repetition the database absorbs by itself: the second time is a duplicate.
    UNIQUE (organization_id, external_id)
);
CREATE INDEX messages_thread ON messages (organization_id, conversation_id, sent_at, arrival);
CREATE INDEX messages_arrival ON messages (organization_id, conversation_id, arrival)
    WHERE direction = 'inbound';

CREATE TABLE crm_leads (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    contact_id uuid NOT NULL,
    conversation_id uuid,
    title text NOT NULL CHECK (length(title) <= 255),
    source text NOT NULL CHECK (source IN ('whatsapp', 'form', 'console', 'api', 'import')),
    stage text NOT NULL DEFAULT 'new' CHECK (length(stage) BETWEEN 1 AND 50),
    status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'won', 'lost')),
    tags text[] NOT NULL DEFAULT '{}',
    owner_user_id uuid,
    assigned_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, contact_id) REFERENCES contacts (organization_id, id),
    FOREIGN KEY (organization_id, conversation_id) REFERENCES conversations (organization_id, id),
    FOREIGN KEY (organization_id, owner_user_id) REFERENCES user_organizations (organization_id, user_id)
) WITH (fillfactor = 80);
CREATE INDEX crm_leads_open_contact ON crm_leads (organization_id, contact_id) WHERE status = 'open';
CREATE INDEX crm_leads_unowned ON crm_leads (organization_id, created_at, id)
    WHERE owner_user_id IS NULL AND status = 'open';
CREATE INDEX crm_leads_owner ON crm_leads (organization_id, owner_user_id, created_at);
CREATE INDEX crm_leads_recent ON crm_leads (organization_id, created_at DESC, id);

-- ---------------------------------------------------------------------------------------------
-- Facts, notices, audit
-- ---------------------------------------------------------------------------------------------
CREATE TABLE event_log (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    event_type text NOT NULL CHECK (length(event_type) BETWEEN 1 AND 100),
    entity_kind text NOT NULL CHECK (length(entity_kind) BETWEEN 1 AND 50),
    entity_id uuid NOT NULL,
    payload jsonb NOT NULL DEFAULT '{}',
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id)
);
-- At most once per message; the dispatch request's presence marks its effects as complete (spec 2.3).
CREATE UNIQUE INDEX event_log_once_per_message ON event_log (organization_id, entity_id, event_type)
    WHERE entity_kind = 'message' AND event_type IN ('message.received', 'ai_agent.dispatch_requested');
CREATE INDEX event_log_entity ON event_log (organization_id, entity_kind, entity_id, seq);
CREATE INDEX event_log_seq ON event_log (organization_id, seq);

CREATE TABLE notices (
    id uuid PRIMARY KEY,
    organization_id uuid,
    kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 50),
    severity text NOT NULL DEFAULT 'warning' CHECK (severity IN ('info', 'warning', 'error')),
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 255),
    body text NOT NULL DEFAULT '',
    -- What the notice speaks of: webhook_event, channel_session, incoming_event, ...
    resource_kind text,
    resource_id text,
    status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'ack', 'resolved')),
    occurrences integer NOT NULL DEFAULT 1 CHECK (occurrences >= 1),
    first_at timestamptz NOT NULL DEFAULT now(),
    last_at timestamptz NOT NULL DEFAULT now(),
    resolved_at timestamptz,
    CHECK ((status = 'resolved') = (resolved_at IS NOT NULL))
);
-- One notice per organization and title while it is open or acknowledged; no organization counts as one.
CREATE UNIQUE INDEX notices_one_live ON notices (organization_id, title) NULLS NOT DISTINCT
    WHERE status IN ('open', 'ack');
CREATE INDEX notices_recent ON notices (organization_id, last_at DESC, id);

CREATE TABLE api_audit_log (
    id uuid PRIMARY KEY,
    organization_id uuid,
    action text NOT NULL CHECK (length(action) BETWEEN 1 AND 100),
    actor text NOT NULL,
    resource_kind text,
    resource_id text,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX api_audit_log_recent ON api_audit_log (organization_id, created_at DESC, id);

-- When a cron's last round began, by the database's clock: any number of workers, one round when due.
CREATE TABLE cron_rounds (
    name text PRIMARY KEY,
    last_round_at timestamptz NOT NULL
);

-- Reviews of message templates: the newest by the provider's time counts.
CREATE TABLE channel_templates (
    organization_id uuid NOT NULL,
    channel_session_id uuid NOT NULL,
    template_id text NOT NULL CHECK (length(template_id) BETWEEN 1 AND 255),
    name text NOT NULL,
    language text,
    status text NOT NULL,
    reason text,
    status_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, channel_session_id, template_id),
    FOREIGN KEY (organization_id, channel_session_id) REFERENCES channel_sessions (organization_id, id)
);

-- ---------------------------------------------------------------------------------------------
-- Who may see what. The service works across tenants; the console and the API see one organization.
-- Row-level security is not forced on the owner: definer functions need it (spec 7).
-- ---------------------------------------------------------------------------------------------
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY[
        'organizations', 'users', 'user_organizations', 'channel_sessions', 'webhook_events_log',
        'contacts', 'contact_identities', 'contact_opt_outs', 'conversations', 'messages', 'crm_leads',
        'event_log', 'notices', 'api_audit_log', 'channel_templates', 'cron_rounds'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY service ON %I TO service_role USING (true) WITH CHECK (true)', t);
    END LOOP;

    FOREACH t IN ARRAY ARRAY[
        'user_organizations', 'channel_sessions', 'contacts', 'contact_identities', 'contact_opt_outs',
        'conversations', 'messages', 'crm_leads', 'event_log', 'channel_templates'
    ] LOOP
        EXECUTE format(
            'CREATE POLICY tenant ON %I TO authenticated USING (organization_id = fn_current_organization())'
            || ' WITH CHECK (organization_id = fn_current_organization())', t);
    END LOOP;

    -- Rows without an organization are the operators'.
    FOREACH t IN ARRAY ARRAY['webhook_events_log', 'notices', 'api_audit_log'] LOOP
        EXECUTE format(
            'CREATE POLICY tenant ON %I TO authenticated USING (organization_id = fn_current_organization()'
            || ' OR (organization_id IS NULL AND fn_is_operator()))'
            || ' WITH CHECK (organization_id = fn_current_organization()'
            || ' OR (organization_id IS NULL AND fn_is_operator()))', t);
    END LOOP;
END
$$;
CREATE POLICY tenant ON organizations TO authenticated USING (id = fn_current_organization());
CREATE POLICY tenant ON users TO authenticated USING (
    EXISTS (
        SELECT 1 FROM user_organizations m
        WHERE m.user_id = users.id AND m.organization_id = fn_current_organization()
    )
);

GRANT USAGE ON SCHEMA public TO service_role, authenticated;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    organizations, users, user_organizations, channel_sessions, webhook_events_log, contacts,
    contact_identities, contact_opt_outs, conversations, messages, crm_leads, notices, channel_templates,
    cron_rounds
    TO service_role;
-- Facts and the audit are appended; erasure blanks a person in place through the owner's functions.
GRANT SELECT, INSERT ON event_log, api_audit_log TO service_role;

GRANT SELECT ON
    organizations, user_organizations, webhook_events_log, contacts, contact_identities, contact_opt_outs,
    conversations, messages, crm_leads, event_log, notices, api_audit_log, channel_templates
    TO authenticated;
GRANT SELECT (id, email, name, is_operator, locale, created_at) ON users TO authenticated;
GRANT SELECT (
    organization_id, id, provider, name, account_id, phone_number, provider_profile_id,
    webhook_path_token, previous_secret_until, state, state_at, archived_at, created_at
) ON channel_sessions TO authenticated;
GRANT UPDATE (status, resolved_at) ON notices TO authenticated;
GRANT INSERT ON api_audit_log TO authenticated;

-- Every web process hears at once of a changed session (its cache), besides its short time to live.
CREATE FUNCTION fn_notify_channel_session() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM pg_notify('portaria_channel_sessions', NEW.id::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER trg_notify_channel_session AFTER INSERT OR UPDATE ON channel_sessions
    FOR EACH ROW EXECUTE FUNCTION fn_notify_channel_session();

-- migrate:down
DROP TABLE channel_templates, cron_rounds, api_audit_log, notices, event_log, crm_leads, messages, conversations,
    contact_opt_outs, contact_identities, contacts, webhook_events_log, channel_sessions,
    user_organizations, users, organizations;
DROP FUNCTION fn_notify_channel_session(), fn_is_operator(), fn_current_organization();
