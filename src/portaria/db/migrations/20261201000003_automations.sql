-- migrate:up
SET LOCAL lock_timeout = '5s';

-- ---------------------------------------------------------------------------------------------
-- Lead forms
-- ---------------------------------------------------------------------------------------------
CREATE TABLE lead_forms (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    path_token text NOT NULL CHECK (length(path_token) BETWEEN 8 AND 255),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    -- What the hosted page says above the fields.
    intro text NOT NULL DEFAULT '' CHECK (length(intro) <= 1000),
    -- Where a browser goes after sending; by default to our own thank-you page. Only the business sets
    -- it: no request can name a place to be sent to.
    success_url text CHECK (length(success_url) <= 2000 AND success_url ~ '^https?://[!-~]+$'),
    archived_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX lead_forms_token ON lead_forms (path_token);

-- One row per accepted submission: which arrival made which lead.
CREATE TABLE lead_form_submissions (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    form_id uuid NOT NULL,
    webhook_event_id uuid NOT NULL,
    lead_id uuid NOT NULL,
    idempotency_key text CHECK (length(idempotency_key) BETWEEN 1 AND 255),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, form_id) REFERENCES lead_forms (organization_id, id),
    FOREIGN KEY (organization_id, lead_id) REFERENCES crm_leads (organization_id, id)
);
-- A double click makes one lead.
CREATE UNIQUE INDEX lead_form_submissions_once
    ON lead_form_submissions (organization_id, form_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX lead_form_submissions_lead ON lead_form_submissions (organization_id, lead_id);

-- Submissions of one address to one form until the window ends; the same count for every web process.
-- Hashed keys: nobody's address is kept here. Lost in a crash of the server, which is no harm.
CREATE UNLOGGED TABLE lead_form_rates (
    key bytea PRIMARY KEY CHECK (length(key) = 32),
    hits integer NOT NULL CHECK (hits >= 1),
    ends_at timestamptz NOT NULL
);
CREATE INDEX lead_form_rates_ended ON lead_form_rates (ends_at);

-- ---------------------------------------------------------------------------------------------
-- Automations: rule, run, turn
-- ---------------------------------------------------------------------------------------------
CREATE TABLE automation_rules (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    trigger_event text NOT NULL
        CHECK (trigger_event IN ('lead.created', 'lead.stage_changed', 'message.received')),
    conditions jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(conditions) = 'array'),
    -- The rotation's queue lives here, in actions[].config.fila.
    actions jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(actions) = 'array'),
    is_active boolean NOT NULL DEFAULT true,
    -- Raised by every change, whoever makes it: the ETag.
    version integer NOT NULL DEFAULT 1,
    deleted_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX automation_rules_live ON automation_rules (organization_id, trigger_event)
    WHERE is_active AND deleted_at IS NULL;

CREATE TABLE automation_rule_runs (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    rule_id uuid NOT NULL,
    event_id uuid NOT NULL,
    lead_id uuid,
    -- running, then what its actions came to: done, skipped (all of them), failed (any of them).
    status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'done', 'skipped', 'failed')),
    -- The actions as the rule had them when the run began, and one result per action done so far.
    actions jsonb NOT NULL CHECK (jsonb_typeof(actions) = 'array'),
    actions_result jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(actions_result) = 'array'),
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    PRIMARY KEY (organization_id, id),
    -- One run per rule and event.
    UNIQUE (organization_id, rule_id, event_id),
    FOREIGN KEY (organization_id, rule_id) REFERENCES automation_rules (organization_id, id),
    FOREIGN KEY (organization_id, event_id) REFERENCES event_log (organization_id, id)
);
CREATE INDEX automation_rule_runs_event ON automation_rule_runs (organization_id, event_id);
CREATE INDEX automation_rule_runs_recent ON automation_rule_runs (organization_id, rule_id, created_at DESC, id);
CREATE INDEX automation_rule_runs_lead ON automation_rule_runs (organization_id, lead_id, created_at DESC);

-- The turns of the rotation. The next one is calculated from the newest row, so no row ever changes.
CREATE TABLE automation_rodizio_atribuicoes (
    organization_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    -- Given under the rule's lock: within a rule, a later turn has a greater number.
    seq bigint GENERATED ALWAYS AS IDENTITY,
    event_id uuid NOT NULL,
    lead_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- 1-based in the stored queue, paused members included.
    posicao integer NOT NULL CHECK (posicao >= 1),
    -- Who was considered, in queue order: [{user_id, posicao, reason}], reason null for whoever could.
    candidates jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(candidates) = 'array'),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, rule_id, seq),
    -- The same event does not turn the queue twice.
    UNIQUE (organization_id, rule_id, event_id),
    FOREIGN KEY (organization_id, rule_id) REFERENCES automation_rules (organization_id, id),
    FOREIGN KEY (organization_id, event_id) REFERENCES event_log (organization_id, id),
    FOREIGN KEY (organization_id, lead_id) REFERENCES crm_leads (organization_id, id),
    FOREIGN KEY (organization_id, user_id) REFERENCES user_organizations (organization_id, user_id)
);
CREATE INDEX automation_rodizio_atribuicoes_lead ON automation_rodizio_atribuicoes (organization_id, lead_id);
CREATE INDEX automation_rodizio_atribuicoes_event ON automation_rodizio_atribuicoes (organization_id, event_id);
CREATE INDEX automation_rodizio_atribuicoes_member
    ON automation_rodizio_atribuicoes (organization_id, rule_id, user_id, created_at);

-- ---------------------------------------------------------------------------------------------
-- Push: the browsers that asked to be told, and what each was told
-- ---------------------------------------------------------------------------------------------
CREATE TABLE push_subscriptions (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    endpoint text NOT NULL CHECK (length(endpoint) BETWEEN 10 AND 2048),
    -- The browser's keys, base64url: whoever holds them reads what is pushed.
    p256dh text NOT NULL CHECK (length(p256dh) BETWEEN 80 AND 100),
    auth text NOT NULL CHECK (length(auth) BETWEEN 20 AND 30),
    user_agent text NOT NULL DEFAULT '' CHECK (length(user_agent) <= 255),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, user_id) REFERENCES user_organizations (organization_id, user_id),
    -- One row per browser and organization.
    UNIQUE (organization_id, endpoint)
);
CREATE INDEX push_subscriptions_user ON push_subscriptions (organization_id, user_id);
CREATE INDEX push_subscriptions_endpoint ON push_subscriptions (endpoint);

-- What reached which browser: a push tried again goes only to those it has not reached.
CREATE TABLE push_deliveries (
    organization_id uuid NOT NULL,
    event_id uuid NOT NULL,
    subscription_id uuid NOT NULL,
    sent_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, event_id, subscription_id),
    FOREIGN KEY (organization_id, subscription_id)
        REFERENCES push_subscriptions (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX push_deliveries_subscription ON push_deliveries (organization_id, subscription_id);
CREATE INDEX push_deliveries_old ON push_deliveries (sent_at);

-- ---------------------------------------------------------------------------------------------
-- Who may see what, in the manner of the core schema
-- ---------------------------------------------------------------------------------------------
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY[
        'lead_forms', 'lead_form_submissions', 'lead_form_rates', 'automation_rules', 'automation_rule_runs',
        'automation_rodizio_atribuicoes', 'push_subscriptions', 'push_deliveries'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY service ON %I TO service_role USING (true) WITH CHECK (true)', t);
        IF t <> 'lead_form_rates' THEN
            EXECUTE format(
                'CREATE POLICY tenant ON %I TO authenticated USING (organization_id = fn_current_organization())'
                || ' WITH CHECK (organization_id = fn_current_organization())', t);
        END IF;
    END LOOP;
END
$$;

GRANT SELECT, INSERT, UPDATE ON lead_forms, automation_rules, automation_rule_runs TO service_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON lead_form_rates, push_subscriptions, push_deliveries TO service_role;
GRANT SELECT, INSERT ON lead_form_submissions, automation_rodizio_atribuicoes TO service_role;

GRANT SELECT ON
    lead_forms, lead_form_submissions, automation_rules, automation_rule_runs, automation_rodizio_atribuicoes
    TO authenticated;
GRANT SELECT (organization_id, id, user_id, user_agent, created_at) ON push_subscriptions TO authenticated;
GRANT INSERT, UPDATE ON lead_forms, automation_rules TO authenticated;
-- Leads that people change in the console and through the API.
GRANT UPDATE (title, stage, status, tags, owner_user_id, updated_at) ON crm_leads TO authenticated;

-- ---------------------------------------------------------------------------------------------
-- Triggers. The current bodies stand in functions/; these hold their place until they are applied.
-- ---------------------------------------------------------------------------------------------
DO $$
DECLARE
    f text;
BEGIN
    FOREACH f IN ARRAY ARRAY[
        'fn_bump_rule_version', 'fn_refuse_change', 'fn_stamp_lead_owner', 'fn_emit_event_on_lead_change',
        'fn_enqueue_event', 'fn_notify_notice'
    ] LOOP
        EXECUTE format(
            'CREATE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $f$'
            || ' BEGIN RAISE EXCEPTION ''the functions of this version are not applied yet''; END $f$', f);
    END LOOP;
END
$$;

CREATE TRIGGER trg_bump_rule_version BEFORE UPDATE ON automation_rules
    FOR EACH ROW EXECUTE FUNCTION fn_bump_rule_version();

-- History is append-only, for the owner of the tables too.
CREATE TRIGGER trg_refuse_change BEFORE UPDATE OR DELETE ON automation_rodizio_atribuicoes
    FOR EACH ROW EXECUTE FUNCTION fn_refuse_change();
CREATE TRIGGER trg_refuse_truncate BEFORE TRUNCATE ON automation_rodizio_atribuicoes
    FOR EACH STATEMENT EXECUTE FUNCTION fn_refuse_change();

CREATE TRIGGER trg_stamp_lead_owner BEFORE INSERT OR UPDATE OF owner_user_id ON crm_leads
    FOR EACH ROW WHEN (NEW.owner_user_id IS NOT NULL OR NEW.assigned_at IS NOT NULL)
    EXECUTE FUNCTION fn_stamp_lead_owner();
CREATE TRIGGER trg_emit_event_on_lead_change AFTER INSERT OR UPDATE OF owner_user_id, stage ON crm_leads
    FOR EACH ROW EXECUTE FUNCTION fn_emit_event_on_lead_change();

-- The one place that turns facts into jobs. Deferred to the end of the transaction, so that a rule's
-- conditions see the values that will be committed.
CREATE CONSTRAINT TRIGGER trg_enqueue_event AFTER INSERT ON event_log
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.event_type <> 'ai_agent.dispatch_requested')
    EXECUTE FUNCTION fn_enqueue_event();

CREATE TRIGGER trg_notify_notice AFTER INSERT OR UPDATE OF status ON notices
    FOR EACH ROW EXECUTE FUNCTION fn_notify_notice();

-- migrate:down
DROP TRIGGER trg_notify_notice ON notices;
DROP TRIGGER trg_enqueue_event ON event_log;
DROP TRIGGER trg_emit_event_on_lead_change ON crm_leads;
DROP TRIGGER trg_stamp_lead_owner ON crm_leads;
REVOKE UPDATE (title, stage, status, tags, owner_user_id, updated_at) ON crm_leads FROM authenticated;
DROP TABLE push_deliveries, push_subscriptions, automation_rodizio_atribuicoes, automation_rule_runs,
    automation_rules, lead_form_rates, lead_form_submissions, lead_forms;
DROP FUNCTION fn_bump_rule_version(), fn_refuse_change(), fn_stamp_lead_owner(),
    fn_emit_event_on_lead_change(), fn_enqueue_event(), fn_notify_notice();
