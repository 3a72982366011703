

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: procrastinate_job_event_type; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.procrastinate_job_event_type AS ENUM (
    'deferred',
    'started',
    'deferred_for_retry',
    'failed',
    'succeeded',
    'cancelled',
    'abort_requested',
    'aborted',
    'scheduled',
    'retried'
);


--
-- Name: procrastinate_job_status; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.procrastinate_job_status AS ENUM (
    'todo',
    'doing',
    'succeeded',
    'failed',
    'cancelled',
    'aborting',
    'aborted'
);


--
-- Name: procrastinate_job_to_defer_v1; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.procrastinate_job_to_defer_v1 AS (
	queue_name character varying,
	task_name character varying,
	priority integer,
	lock text,
	queueing_lock text,
	args jsonb,
	scheduled_at timestamp with time zone
);


--
-- Name: fn_admit_lead_form(bytea, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_admit_lead_form(p_key bytea, p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_window lead_form_rates;
BEGIN
    INSERT INTO lead_form_rates AS r (key, hits, ends_at)
    VALUES (p_key, 1, clock_timestamp() + interval '1 minute')
    ON CONFLICT (key) DO UPDATE SET
        hits = CASE WHEN r.ends_at <= clock_timestamp() THEN 1 ELSE r.hits + 1 END,
        ends_at = CASE WHEN r.ends_at <= clock_timestamp() THEN excluded.ends_at ELSE r.ends_at END
        WHERE r.ends_at <= clock_timestamp() OR r.hits < p_limit
    RETURNING * INTO v_window;
    IF NOT FOUND THEN
        SELECT * INTO v_window FROM lead_form_rates WHERE key = p_key;
        RETURN greatest(1, ceil(extract(epoch FROM v_window.ends_at - clock_timestamp())))::integer;
    END IF;
    IF v_window.hits = 1 THEN
        DELETE FROM lead_form_rates WHERE key IN (
            SELECT key FROM lead_form_rates WHERE ends_at < now() - interval '1 minute'
            LIMIT 20 FOR UPDATE SKIP LOCKED);
    END IF;
    RETURN 0;
END
$$;


--
-- Name: fn_anchor_digest(uuid, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_anchor_digest(p_org uuid, p_kind text, p_value text) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT sha256(convert_to(p_org::text || '/' || p_kind || '/' || p_value, 'UTF8')) $$;


--
-- Name: fn_assign_fixed_owner(uuid, uuid, uuid, uuid, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_assign_fixed_owner(p_org uuid, p_rule uuid, p_lead uuid, p_event uuid, p_user uuid) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_cause text := coalesce(current_setting('portaria.cause', true), '');
    v_eligible boolean;
    v_owner uuid;
BEGIN
    SELECT revoked_at IS NULL AND role <> 'viewer' INTO v_eligible FROM user_organizations
    WHERE organization_id = p_org AND user_id = p_user
    FOR SHARE;
    SELECT owner_user_id INTO v_owner FROM crm_leads WHERE organization_id = p_org AND id = p_lead
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('status', 'skipped', 'reason', 'lead_inexistente');
    END IF;
    IF v_owner IS DISTINCT FROM (
        SELECT (payload ->> 'owner_user_id')::uuid FROM event_log WHERE organization_id = p_org AND id = p_event
    ) THEN
        RETURN jsonb_build_object('status', 'skipped', 'reason', 'ja_tem_dono');
    END IF;
    IF v_eligible IS NOT TRUE THEN
        RETURN jsonb_build_object('status', 'skipped', 'reason', 'ninguem_disponivel');
    END IF;

    PERFORM set_config(
        'portaria.cause', jsonb_build_object('caused_by_rule', p_rule, 'event_id', p_event)::text, true);
    UPDATE crm_leads SET owner_user_id = p_user, updated_at = now()
    WHERE organization_id = p_org AND id = p_lead;
    PERFORM set_config('portaria.cause', v_cause, true);
    RETURN jsonb_build_object(
        'status', 'assigned', 'user_id', p_user, 'nome', (SELECT name FROM users WHERE id = p_user));
END
$$;


--
-- Name: fn_automation_rodizio_atribuir(uuid, uuid, uuid, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_automation_rodizio_atribuir(p_org uuid, p_rule uuid, p_lead uuid, p_event uuid) RETURNS jsonb
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_cause text := coalesce(current_setting('portaria.cause', true), '');
    v_seen_owner uuid;
    v_turn jsonb;
    v_queue jsonb;
    v_owner uuid;
    v_considered jsonb;
    v_posicao integer;
    v_user uuid;
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'the rotation cannot run above READ COMMITTED' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    SELECT (payload ->> 'owner_user_id')::uuid INTO v_seen_owner FROM event_log
    WHERE organization_id = p_org AND id = p_event;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'event % does not exist in this organization', p_event USING ERRCODE = 'no_data_found';
    END IF;

    PERFORM pg_advisory_xact_lock(fn_lock_key('rule', p_org || '/' || p_rule));

    SELECT jsonb_build_object('status', 'assigned', 'user_id', t.user_id, 'nome', u.name, 'posicao', t.posicao)
    INTO v_turn
    FROM automation_rodizio_atribuicoes t JOIN users u ON u.id = t.user_id
    WHERE t.organization_id = p_org AND t.rule_id = p_rule AND t.event_id = p_event;
    IF FOUND THEN
        RETURN v_turn;
    END IF;

    SELECT fn_rotation_queue(actions) INTO v_queue FROM automation_rules
    WHERE organization_id = p_org AND id = p_rule AND is_active AND deleted_at IS NULL
    FOR SHARE;
    IF v_queue IS NULL THEN
        RETURN jsonb_build_object('status', 'skipped', 'reason', 'sem_rodizio');
    END IF;
    PERFORM FROM user_organizations
    WHERE organization_id = p_org
        AND user_id IN (SELECT fn_to_uuid(entry ->> 'user_id') FROM jsonb_array_elements(v_queue) AS entry)
    ORDER BY user_id
    FOR SHARE;
    SELECT owner_user_id INTO v_owner FROM crm_leads WHERE organization_id = p_org AND id = p_lead
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('status', 'skipped', 'reason', 'lead_inexistente');
    END IF;
    IF v_owner IS DISTINCT FROM v_seen_owner THEN
        RETURN jsonb_build_object('status', 'skipped', 'reason', 'ja_tem_dono');
    END IF;

    SELECT (min(ARRAY[place, posicao]) FILTER (WHERE reason IS NULL))[2],
        jsonb_agg(jsonb_build_object('user_id', user_id, 'posicao', posicao, 'reason', reason) ORDER BY posicao)
    INTO v_posicao, v_considered FROM fn_rotation_candidates(p_org, p_rule, v_queue);
    IF v_posicao IS NULL THEN
        RETURN jsonb_build_object('status', 'skipped', 'reason', 'ninguem_disponivel');
    END IF;

    v_user := (v_considered -> v_posicao - 1 ->> 'user_id')::uuid;
    INSERT INTO automation_rodizio_atribuicoes (
        organization_id, rule_id, event_id, lead_id, user_id, posicao, candidates
    ) VALUES (p_org, p_rule, p_event, p_lead, v_user, v_posicao, v_considered);
    PERFORM set_config(
        'portaria.cause', jsonb_build_object('caused_by_rule', p_rule, 'event_id', p_event)::text, true);
    UPDATE crm_leads SET owner_user_id = v_user, updated_at = now()
    WHERE organization_id = p_org AND id = p_lead;
    PERFORM set_config('portaria.cause', v_cause, true);
    RETURN jsonb_build_object(
        'status', 'assigned', 'user_id', v_user, 'nome', (SELECT name FROM users WHERE id = v_user),
        'posicao', v_posicao);
END
$$;


--
-- Name: fn_begin_incoming_event(uuid, integer, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_begin_incoming_event(p_id uuid, p_attempts integer, p_job bigint, OUT o_verdict text, OUT o_attempt_job bigint, OUT o_event_type text, OUT o_payload text) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_row incoming_events;
BEGIN
    SELECT * INTO v_row FROM incoming_events WHERE id = p_id FOR UPDATE;
    o_event_type := v_row.event_type;
    IF NOT FOUND OR v_row.status <> 'pending' OR v_row.attempts <> p_attempts THEN
        o_verdict := 'nothing';
    ELSIF v_row.attempt_job IS NULL THEN
        UPDATE incoming_events SET attempt_job = p_job, attempt_started_at = clock_timestamp()
        WHERE id = p_id;
        o_verdict := 'begun';
        o_attempt_job := p_job;
        o_payload := v_row.payload;
    ELSIF v_row.attempt_job = p_job OR NOT EXISTS (
        SELECT 1 FROM procrastinate_jobs WHERE id = v_row.attempt_job AND status IN ('todo', 'doing')
    ) THEN
        o_verdict := 'cut_off';
        o_attempt_job := v_row.attempt_job;
    ELSE
        o_verdict := 'nothing';
    END IF;
END
$$;


--
-- Name: fn_bump_rule_version(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_bump_rule_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.version := OLD.version + 1;
    NEW.updated_at := now();
    RETURN NEW;
END
$$;


--
-- Name: fn_close_incoming_event(uuid, integer, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_close_incoming_event(p_id uuid, p_attempts integer, p_job bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE incoming_events SET
        status = 'processed', processed_at = clock_timestamp(), error_message = NULL, attempt_job = NULL,
        attempt_started_at = NULL
    WHERE id = p_id AND status = 'pending' AND attempts = p_attempts AND attempt_job = p_job;
    RETURN FOUND;
END
$$;


--
-- Name: fn_close_row(uuid, integer, timestamp with time zone, text, text, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_close_row(p_row uuid, p_attempts integer, p_tried_at timestamp with time zone, p_status text, p_note text, p_event_type text, p_external_id text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE webhook_events_log SET
        status = p_status, valid_signature = true, error_message = p_note, processed_at = clock_timestamp(),
        event_type = coalesce(event_type, p_event_type), external_id = coalesce(external_id, p_external_id)
    WHERE id = p_row AND status = 'received' AND attempts = p_attempts
        AND last_attempt_at IS NOT DISTINCT FROM p_tried_at;
    RETURN FOUND;
END
$$;


--
-- Name: fn_complete_contact(uuid, uuid, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_complete_contact(p_org uuid, p_contact uuid, p_message jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_phone text := p_message ->> 'phone';
    v_known contacts;
BEGIN
    SELECT * INTO v_known FROM contacts WHERE organization_id = p_org AND id = p_contact;
    IF (v_known.name IS NULL AND p_message ->> 'name' IS NOT NULL)
        OR (v_known.username IS DISTINCT FROM p_message ->> 'username' AND p_message ->> 'username' IS NOT NULL)
    THEN
        UPDATE contacts SET
            name = coalesce(name, p_message ->> 'name'),
            username = coalesce(p_message ->> 'username', username)
        WHERE organization_id = p_org AND id = p_contact;
    END IF;

    IF v_known.phone_number IS NULL AND v_phone IS NOT NULL THEN
        IF NOT EXISTS (
            SELECT 1 FROM jsonb_array_elements_text(p_message -> 'phone_spellings') AS spelling
            JOIN contacts c ON c.organization_id = p_org AND c.phone_number = spelling
        ) THEN
            BEGIN
                UPDATE contacts SET phone_number = v_phone
                WHERE organization_id = p_org AND id = p_contact AND phone_number IS NULL;
                RETURN;
            EXCEPTION WHEN unique_violation THEN
                NULL;  -- taken a moment ago
            END;
        END IF;
        UPDATE contacts SET
            source_metadata = source_metadata || jsonb_build_object('telefone_em_conflito', v_phone)
        WHERE organization_id = p_org AND id = p_contact
            AND source_metadata ->> 'telefone_em_conflito' IS DISTINCT FROM v_phone;
    END IF;
END
$$;


--
-- Name: fn_conditions_hold(jsonb, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_conditions_hold(p_conditions jsonb, p_facts jsonb) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
DECLARE
    v_condition jsonb;
    v_fact jsonb;
    v_wanted text;
    v_holds boolean;
BEGIN
    FOR v_condition IN SELECT jsonb_array_elements(p_conditions) LOOP
        v_fact := p_facts -> (v_condition ->> 'field');
        v_wanted := v_condition ->> 'value';
        v_holds := v_wanted IS NOT NULL AND v_fact IS NOT NULL AND CASE v_condition ->> 'op'
            WHEN 'eq' THEN v_fact #>> '{}' = v_wanted
            WHEN 'neq' THEN v_fact #>> '{}' IS DISTINCT FROM v_wanted
            WHEN 'contains' THEN CASE jsonb_typeof(v_fact)
                WHEN 'array' THEN EXISTS (
                    SELECT FROM jsonb_array_elements_text(v_fact) AS tag WHERE lower(tag) = lower(v_wanted))
                ELSE strpos(lower(v_fact #>> '{}'), lower(v_wanted)) > 0
            END
        END;
        IF v_holds IS NOT TRUE THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END
$$;


--
-- Name: fn_contacts_like(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_contacts_like(p_text text) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_org uuid := fn_current_organization();
    v_grams bigint[] := fn_grams(v_org, p_text);
    v_like text := '%' || regexp_replace(p_text, '([\\%_])', '\\\1', 'g') || '%';
BEGIN
    IF cardinality(v_grams) > 0 THEN
        RETURN QUERY SELECT c.id FROM contacts c
        WHERE c.organization_id = v_org
            AND fn_grams(c.organization_id, c.name, c.username, c.email, c.phone_number) @> v_grams
            AND (c.name ILIKE v_like OR c.username ILIKE v_like OR c.email ILIKE v_like
                OR c.phone_number LIKE v_like);
    END IF;
END
$$;


--
-- Name: fn_current_organization(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_current_organization() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('portaria.organization_id', true), '')::uuid $$;


--
-- Name: fn_emit_event_on_lead_change(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_emit_event_on_lead_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    v_before crm_leads;
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM fn_emit_lead_event(NEW, 'lead.created', '{}');
    ELSE
        v_before := OLD;
        IF NEW.stage IS DISTINCT FROM v_before.stage THEN
            PERFORM fn_emit_lead_event(
                NEW, 'lead.stage_changed', jsonb_build_object('from', v_before.stage, 'to', NEW.stage));
        END IF;
    END IF;

    IF NEW.owner_user_id IS DISTINCT FROM v_before.owner_user_id THEN
        PERFORM fn_emit_lead_event(
            NEW,
            CASE WHEN NEW.owner_user_id IS NULL THEN 'lead.unassigned' ELSE 'lead.assigned' END,
            jsonb_build_object('previous_owner_user_id', v_before.owner_user_id));
    END IF;
    RETURN NULL;
END
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: crm_leads; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.crm_leads (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    contact_id uuid NOT NULL,
    conversation_id uuid,
    title text NOT NULL,
    source text NOT NULL,
    stage text DEFAULT 'new'::text NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    owner_user_id uuid,
    assigned_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    is_titled boolean DEFAULT false NOT NULL,
    CONSTRAINT crm_leads_source_check CHECK ((source = ANY (ARRAY['whatsapp'::text, 'form'::text, 'console'::text, 'api'::text, 'import'::text]))),
    CONSTRAINT crm_leads_stage_check CHECK (((length(stage) >= 1) AND (length(stage) <= 50))),
    CONSTRAINT crm_leads_status_check CHECK ((status = ANY (ARRAY['open'::text, 'won'::text, 'lost'::text]))),
    CONSTRAINT crm_leads_title_check CHECK ((length(title) <= 255))
)
WITH (fillfactor='80');


--
-- Name: fn_emit_lead_event(public.crm_leads, text, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_emit_lead_event(p_lead public.crm_leads, p_type text, p_more jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id, payload, metadata)
    VALUES (
        p_lead.organization_id, gen_random_uuid(), p_type, 'lead', p_lead.id,
        jsonb_build_object(
            'lead_id', p_lead.id, 'contact_id', p_lead.contact_id, 'conversation_id', p_lead.conversation_id,
            'owner_user_id', p_lead.owner_user_id, 'source', p_lead.source, 'stage', p_lead.stage
        ) || p_more,
        coalesce(nullif(current_setting('portaria.cause', true), ''), '{}')::jsonb
    );
END
$$;


--
-- Name: fn_enqueue_event(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_enqueue_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    v_task text := 'portaria.event';
    v_queue text := 'events';
    v_lock text;
BEGIN
    IF NEW.event_type = 'lead.assigned' THEN
        IF NOT EXISTS (
            SELECT FROM push_subscriptions
            WHERE organization_id = NEW.organization_id AND user_id = (NEW.payload ->> 'owner_user_id')::uuid
        ) THEN
            RETURN NULL;
        END IF;
        v_task := 'portaria.push';
        v_queue := 'push';
    ELSIF NEW.event_type = 'lead.handed_to_rotation' THEN
        v_lock := 'rotation/' || (NEW.payload ->> 'rule_id');
    ELSIF NOT EXISTS (
        -- One index probe; only then what is dearer.
        SELECT FROM automation_rules
        WHERE organization_id = NEW.organization_id AND trigger_event = NEW.event_type
            AND is_active AND deleted_at IS NULL
    ) OR NOT EXISTS (SELECT FROM fn_matching_rules(NEW.organization_id, NEW.id)) THEN
        RETURN NULL;
    END IF;

    PERFORM procrastinate_defer_jobs_v1(ARRAY[ROW(
        v_queue, v_task, 0, v_lock, NULL,
        jsonb_build_object('organization_id', NEW.organization_id, 'event_id', NEW.id), NULL
    )::procrastinate_job_to_defer_v1]);
    RETURN NULL;
END
$$;


--
-- Name: fn_enqueue_incoming_event(uuid, integer, double precision); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_enqueue_incoming_event(p_id uuid, p_attempts integer, p_delay double precision) RETURNS bigint
    LANGUAGE sql
    AS $$
    SELECT fn_enqueue_job(
        'portaria.incoming_event', 'incoming_events',
        jsonb_build_object('incoming_event_id', p_id, 'attempts', p_attempts), p_delay
    )
$$;


--
-- Name: fn_enqueue_job(text, text, jsonb, double precision); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_enqueue_job(p_task text, p_queue text, p_args jsonb, p_delay double precision) RETURNS bigint
    LANGUAGE sql
    AS $$
    SELECT (procrastinate_defer_jobs_v1(ARRAY[
        ROW(
            p_queue, p_task, 0, NULL, NULL, p_args,
            CASE WHEN p_delay > 0 THEN clock_timestamp() + make_interval(secs => p_delay) END
        )::procrastinate_job_to_defer_v1
    ]))[1]
$$;


--
-- Name: fn_erase_arrivals(uuid, uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_erase_arrivals(p_org uuid, p_arrivals uuid[]) RETURNS integer
    LANGUAGE plpgsql
    AS $_$
DECLARE
    v_count integer;
BEGIN
    UPDATE webhook_events_log SET
        raw_body = '', headers = '{}', body_emptied_at = coalesce(body_emptied_at, clock_timestamp()),
        external_id = fn_erased_id(p_org, external_id),
        event_type = CASE WHEN event_type ~ '^[a-z_.]{1,50}$' THEN event_type END,
        error_message = CASE
            WHEN error_message ~ '^([a-z_]+|contract: [A-Za-z_., ]+)$' THEN error_message
            WHEN error_message IS NOT NULL THEN 'erased'
        END
    WHERE id = ANY (p_arrivals) AND status <> 'received'
        AND (organization_id = p_org OR organization_id IS NULL);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF EXISTS (SELECT FROM webhook_events_log WHERE id = ANY (p_arrivals) AND status = 'received') THEN
        RAISE EXCEPTION 'an arrival became pending meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN v_count;
END
$_$;


--
-- Name: fn_erase_contact(uuid, uuid, uuid[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_erase_contact(p_org uuid, p_contact uuid, p_arrivals uuid[], p_spellings text[]) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    v_counts jsonb;
BEGIN
    PERFORM fn_remember_departure(p_org, p_contact, p_spellings);
    v_counts := jsonb_build_object('arrivals', fn_erase_arrivals(p_org, p_arrivals))
        || fn_erase_records(p_org, p_contact, p_arrivals, p_spellings)
        || fn_erase_rows(p_org, p_contact);

    UPDATE contacts SET source_metadata = source_metadata - 'telefone_em_conflito'
    WHERE organization_id = p_org AND source_metadata ->> 'telefone_em_conflito' = ANY (p_spellings);
    DELETE FROM contact_identities WHERE organization_id = p_org AND contact_id = p_contact;
    UPDATE contact_opt_outs SET external_id = fn_erased_id(p_org, external_id)
    WHERE organization_id = p_org AND contact_id = p_contact;
    UPDATE contacts SET
        name = NULL, phone_number = NULL, email = NULL, username = NULL, source_metadata = '{}',
        erased_at = clock_timestamp()
    WHERE organization_id = p_org AND id = p_contact;
    RETURN v_counts;
END
$$;


--
-- Name: fn_erase_notices(uuid, uuid, uuid[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_erase_notices(p_org uuid, p_contact uuid, p_arrivals uuid[], p_spellings text[]) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_contact contacts;
    v_names text[];
    v_count integer;
BEGIN
    SELECT * INTO STRICT v_contact FROM contacts WHERE organization_id = p_org AND id = p_contact;
    -- What points to one person wherever it stands; a name or a short id does not.
    SELECT array_agg(named) INTO v_names FROM (
        SELECT unnest(p_spellings) UNION SELECT lower(v_contact.email)
        UNION SELECT lower(value) FROM contact_identities
        WHERE organization_id = p_org AND contact_id = p_contact
    ) AS known (named) WHERE length(named) >= 8;

    WITH theirs AS (
        SELECT kind, id::text AS id FROM fn_rows_of_contact(p_org, p_contact)
        UNION ALL
        SELECT 'webhook_event', id::text FROM unnest(p_arrivals) AS id
    )
    UPDATE notices n SET
        title = 'Aviso sobre uma pessoa apagada', body = '', status = 'resolved',
        resolved_at = coalesce(resolved_at, now())
    WHERE (n.organization_id = p_org OR n.organization_id IS NULL)
        AND (
            EXISTS (SELECT FROM unnest(v_names) AS named WHERE strpos(lower(n.title || ' ' || n.body), named) > 0)
            OR (
                EXISTS (SELECT FROM theirs WHERE theirs.kind = n.resource_kind AND theirs.id = n.resource_id)
                AND (
                    n.kind NOT IN ('event_dead', 'event_contract', 'automation')
                    OR EXISTS (
                        SELECT FROM unnest(ARRAY[v_contact.name, v_contact.username]) AS named
                        WHERE length(named) >= 3 AND strpos(lower(n.title || ' ' || n.body), lower(named)) > 0)
                )
            )
        );
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;


--
-- Name: fn_erase_records(uuid, uuid, uuid[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_erase_records(p_org uuid, p_contact uuid, p_arrivals uuid[], p_spellings text[]) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_facts integer;
    v_runs integer;
    v_audit integer;
BEGIN
    UPDATE event_log e SET payload = fn_impersonal(e.payload), metadata = fn_impersonal(e.metadata)
    FROM fn_rows_of_contact(p_org, p_contact) AS theirs
    WHERE e.organization_id = p_org AND e.entity_kind = theirs.kind AND e.entity_id = theirs.id;
    GET DIAGNOSTICS v_facts = ROW_COUNT;

    UPDATE automation_rule_runs r SET actions_result = fn_impersonal(r.actions_result)
    FROM event_log e JOIN fn_rows_of_contact(p_org, p_contact) AS theirs
        ON e.entity_kind = theirs.kind AND e.entity_id = theirs.id
    WHERE r.organization_id = p_org AND e.organization_id = p_org AND r.event_id = e.id;
    GET DIAGNOSTICS v_runs = ROW_COUNT;

    UPDATE api_audit_log a SET metadata = fn_impersonal(a.metadata)
    FROM (
        SELECT kind, id::text AS id FROM fn_rows_of_contact(p_org, p_contact)
        UNION ALL
        SELECT 'webhook_event', id::text FROM unnest(p_arrivals) AS id
    ) AS theirs
    WHERE (a.organization_id = p_org OR a.organization_id IS NULL)
        AND a.resource_kind = theirs.kind AND a.resource_id = theirs.id;
    GET DIAGNOSTICS v_audit = ROW_COUNT;
    RETURN jsonb_build_object(
        'events', v_facts, 'runs', v_runs, 'audit_entries', v_audit,
        'notices', fn_erase_notices(p_org, p_contact, p_arrivals, p_spellings));
END
$$;


--
-- Name: fn_erase_rows(uuid, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_erase_rows(p_org uuid, p_contact uuid) RETURNS jsonb
    LANGUAGE plpgsql
    AS $_$
DECLARE
    v_messages integer;
    v_submissions integer;
    v_leads integer;
    v_conversations integer;
BEGIN
    UPDATE messages m SET
        external_id = fn_erased_id(p_org, m.external_id), body = NULL, attachments = '[]', metadata = '{}',
        error = NULL, type = CASE WHEN m.type ~ '^[a-z_]+$' THEN m.type ELSE 'unknown' END
    FROM conversations v
    WHERE v.organization_id = p_org AND v.contact_id = p_contact
        AND m.organization_id = p_org AND m.conversation_id = v.id;
    GET DIAGNOSTICS v_messages = ROW_COUNT;

    UPDATE lead_form_submissions s SET idempotency_key = 'erased:' || s.id
    FROM crm_leads l
    WHERE l.organization_id = p_org AND l.contact_id = p_contact
        AND s.organization_id = p_org AND s.lead_id = l.id;
    GET DIAGNOSTICS v_submissions = ROW_COUNT;

    UPDATE crm_leads SET title = '—', tags = '{}'
    WHERE organization_id = p_org AND contact_id = p_contact;
    GET DIAGNOSTICS v_leads = ROW_COUNT;

    UPDATE conversations SET
        provider_conversation_id = 'erased:' || id,
        last_message_preview = NULL, unread_count = 0, read_through = greatest(read_through, coalesce((
            SELECT max(m.arrival) FROM messages m
            WHERE m.organization_id = p_org AND m.conversation_id = conversations.id), 0))
    WHERE organization_id = p_org AND contact_id = p_contact;
    GET DIAGNOSTICS v_conversations = ROW_COUNT;
    RETURN jsonb_build_object(
        'messages', v_messages, 'form_submissions', v_submissions, 'leads', v_leads,
        'conversations', v_conversations);
END
$_$;


--
-- Name: fn_erased_id(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_erased_id(p_org uuid, p_id text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT 'erased:' || encode(sha256(convert_to(p_org::text || '/' || p_id, 'UTF8')), 'hex') $$;


--
-- Name: fn_fail_incoming_event(uuid, integer, bigint, text, double precision); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_fail_incoming_event(p_id uuid, p_attempts integer, p_job bigint, p_message text, p_delay double precision) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_row incoming_events;
BEGIN
    UPDATE incoming_events SET
        attempts = attempts + 1,
        status = CASE WHEN attempts + 1 < 3 THEN 'pending' ELSE 'failed' END,
        processed_at = CASE WHEN attempts + 1 < 3 THEN NULL ELSE clock_timestamp() END,
        error_message = p_message, attempt_job = NULL, attempt_started_at = NULL
    WHERE id = p_id AND status = 'pending' AND attempts = p_attempts AND attempt_job = p_job
    RETURNING * INTO v_row;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF v_row.status = 'pending' THEN
        PERFORM fn_enqueue_incoming_event(p_id, v_row.attempts, p_delay);
    ELSE
        PERFORM fn_open_notice(
            NULL, 'incoming_event_failed', 'error', 'Um evento do accounts não foi processado',
            format(
                'O evento %s (%s) falhou três vezes: %s. Corrija a causa e reprocesse-o em Chegadas.',
                v_row.event_id, v_row.event_type, left(p_message, 300)
            ),
            'incoming_event', p_id::text
        );
    END IF;
    RETURN v_row.status;
END
$$;


--
-- Name: fn_grams(uuid, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_grams(p_org uuid, VARIADIC p_texts text[]) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    v_seed bigint := uuid_hash_extended(p_org, 0);
    v_text text := left(lower(array_to_string(p_texts, ' ')), 500);
    v_grams bigint[] := '{}';
BEGIN
    FOR n IN 1 .. length(v_text) - 2 LOOP
        v_grams := v_grams || hashtextextended(substr(v_text, n, 3), v_seed);
    END LOOP;
    RETURN v_grams;
END
$$;


--
-- Name: fn_hand_over_leads(uuid, uuid, text, uuid[], integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_hand_over_leads(p_org uuid, p_rule uuid, p_actor text, p_leads uuid[], p_limit integer) RETURNS integer
    LANGUAGE sql
    AS $$
    WITH handed AS (
        INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id, payload, metadata)
        SELECT p_org, gen_random_uuid(), 'lead.handed_to_rotation', 'lead', l.id,
            jsonb_build_object(
                'lead_id', l.id, 'contact_id', l.contact_id, 'conversation_id', l.conversation_id,
                'owner_user_id', NULL, 'rule_id', p_rule),
            jsonb_build_object('actor', p_actor)
        FROM crm_leads l
        WHERE l.organization_id = p_org AND l.owner_user_id IS NULL AND l.status = 'open'
            AND (p_leads IS NULL OR l.id = ANY (p_leads))
        ORDER BY l.created_at, l.id
        LIMIT p_limit
        RETURNING 1
    )
    SELECT count(*)::integer FROM handed
$$;


--
-- Name: fn_honour_suppression(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_honour_suppression() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_contact uuid;
    v_digest bytea;
BEGIN
    IF TG_TABLE_NAME = 'contacts' THEN
        v_contact := NEW.id;
        v_digest := fn_anchor_digest(NEW.organization_id, 'phone', NEW.phone_number);
    ELSE
        v_contact := NEW.contact_id;
        v_digest := fn_anchor_digest(NEW.organization_id, NEW.kind, NEW.value);
    END IF;
    IF NOT EXISTS (
        SELECT FROM contact_suppressions WHERE organization_id = NEW.organization_id AND digest = v_digest
    ) THEN
        RETURN NULL;
    END IF;
    UPDATE contacts SET is_blocked = true, blocked_reason = 'stop_keyword', blocked_at = now()
    WHERE organization_id = NEW.organization_id AND id = v_contact AND NOT is_blocked;
    IF FOUND THEN
        INSERT INTO api_audit_log (id, organization_id, action, actor, resource_kind, resource_id, metadata)
        VALUES (
            gen_random_uuid(), NEW.organization_id, 'contact.blocked', 'system', 'contact', v_contact::text,
            jsonb_build_object('reason', 'asked_to_leave_before')
        );
    END IF;
    RETURN NULL;
END
$$;


--
-- Name: fn_impersonal(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_impersonal(p_value jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $_$
    SELECT CASE jsonb_typeof(p_value)
        WHEN 'array' THEN (
            SELECT coalesce(jsonb_agg(fn_impersonal(entry) ORDER BY n), '[]')
            FROM jsonb_array_elements(p_value) WITH ORDINALITY AS listed (entry, n)
            WHERE jsonb_typeof(entry) IN ('object', 'array'))
        WHEN 'object' THEN (
            SELECT coalesce(jsonb_object_agg(
                key, CASE WHEN jsonb_typeof(value) IN ('object', 'array') THEN fn_impersonal(value) ELSE value END
            ), '{}')
            FROM jsonb_each(p_value)
            WHERE CASE
                WHEN key = 'detail' THEN jsonb_typeof(value) = 'object'
                WHEN jsonb_typeof(value) IN ('object', 'array') THEN false
                WHEN key ~ '(^|_)(id|by_rule|from|to)$' AND fn_to_uuid(value #>> '{}') IS NOT NULL THEN
                    key <> 'external_id'
                WHEN key ~ '_at$' THEN value #>> '{}' ~ '^\d{4}-\d\d-\d\d[T ][\d:.+Z-]+$' OR value = 'null'
                ELSE jsonb_typeof(value) IN ('boolean', 'null') OR key IN (
                    'type', 'source', 'stage', 'from', 'to', 'status', 'reason', 'actor', 'nome', 'posicao',
                    'attempts', 'leads', 'rows')
            END)
    END
$_$;


--
-- Name: fn_ingest_message(uuid, integer, timestamp with time zone, uuid, uuid, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_ingest_message(p_row uuid, p_attempts integer, p_tried_at timestamp with time zone, p_org uuid, p_session uuid, p_message jsonb, OUT outcome text, OUT message_id uuid, OUT contact_id uuid, OUT conversation_id uuid, OUT dispatched boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_thread text := p_message ->> 'provider_conversation_id';
    v_sent_at timestamptz := (p_message ->> 'sent_at')::timestamptz;
    v_direction text := p_message ->> 'direction';
    v_contact uuid;
    v_conversation uuid;
    v_arrival bigint;
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM webhook_events_log w
        WHERE w.id = p_row AND w.status = 'received' AND w.attempts = p_attempts
            AND w.last_attempt_at IS NOT DISTINCT FROM p_tried_at
    ) THEN
        outcome := 'superseded';
        RETURN;
    END IF;

    -- Its own statement: what is read below is read after the lock (design 4).
    PERFORM pg_advisory_xact_lock(fn_lock_key('thread', p_org || '/' || p_session || '/' || v_thread));

    SELECT m.id, m.contact_id, m.conversation_id INTO message_id, contact_id, conversation_id
    FROM messages m
    WHERE m.organization_id = p_org AND m.external_id IN (
        p_message ->> 'external_id', fn_erased_id(p_org, p_message ->> 'external_id'));
    IF FOUND THEN
        outcome := 'duplicate';
        dispatched := fn_is_dispatched(p_org, message_id);
        RETURN;
    END IF;

    SELECT c.id, c.contact_id INTO v_conversation, v_contact
    FROM conversations c
    WHERE c.organization_id = p_org AND c.channel_session_id = p_session
        AND c.provider_conversation_id = v_thread
    FOR NO KEY UPDATE;

    v_contact := fn_resolve_contact(p_org, v_contact, p_message);
    IF v_contact IS NULL THEN
        outcome := 'no_anchor';
        RETURN;
    END IF;

    IF v_conversation IS NULL THEN
        INSERT INTO conversations (
            organization_id, id, contact_id, channel_session_id, provider_conversation_id
        ) VALUES (p_org, gen_random_uuid(), v_contact, p_session, v_thread)
        RETURNING id INTO v_conversation;
    END IF;

    INSERT INTO messages (
        organization_id, id, conversation_id, contact_id, channel_session_id, direction, external_id,
        type, body, attachments, metadata, status, sent_at
    ) VALUES (
        p_org, (p_message ->> 'id')::uuid, v_conversation, v_contact, p_session, v_direction,
        p_message ->> 'external_id', p_message ->> 'type', p_message ->> 'body',
        p_message -> 'attachments', p_message -> 'metadata',
        CASE v_direction WHEN 'inbound' THEN 'received' ELSE 'sent' END, v_sent_at
    )
    ON CONFLICT (organization_id, external_id) DO NOTHING
    RETURNING arrival INTO v_arrival;
    IF v_arrival IS NULL THEN
        -- One external id through two threads at once: nothing of this transaction may stay.
        RAISE EXCEPTION 'message came in meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;

    PERFORM fn_stamp_conversation(
        p_org, v_conversation, v_direction, v_sent_at, p_message ->> 'preview', v_arrival
    );
    outcome := 'inserted';
    message_id := (p_message ->> 'id')::uuid;
    contact_id := v_contact;
    conversation_id := v_conversation;
    dispatched := false;
END
$$;


--
-- Name: fn_ingest_together(uuid[], uuid[], uuid[], text[], text[], text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_ingest_together(p_rows uuid[], p_orgs uuid[], p_sessions uuid[], p_lead_sources text[], p_messages text[], p_wait text) RETURNS TABLE(row_id uuid, outcome text)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_row record;
    v_first record;
BEGIN
    PERFORM set_config('lock_timeout', p_wait, true);
    FOR v_row IN
        SELECT id, org, session, lead_source, message::jsonb AS message
        FROM unnest(p_rows, p_orgs, p_sessions, p_lead_sources, p_messages)
            AS listed (id, org, session, lead_source, message)
    LOOP
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(fn_lock_key(
            'thread',
            v_row.org || '/' || v_row.session || '/' || (v_row.message ->> 'provider_conversation_id')));
        v_first := fn_ingest_message(v_row.id, 0, NULL, v_row.org, v_row.session, v_row.message);
        CONTINUE WHEN v_first.outcome = 'no_anchor';
        row_id := v_row.id;
        outcome := CASE
            WHEN v_first.outcome = 'superseded' THEN 'superseded'
            WHEN v_first.outcome = 'inserted' AND v_row.message ->> 'direction' = 'inbound' THEN
                CASE fn_message_effects(
                    v_row.id, 0, NULL, v_row.org, v_first.message_id, true, 'processed', NULL, v_row.lead_source)
                WHEN 'superseded' THEN 'superseded' ELSE 'ingested' END
            WHEN NOT fn_close_row(
                v_row.id, 0, NULL, 'processed', NULL,
                CASE v_row.message ->> 'direction' WHEN 'inbound' THEN 'message.received' ELSE 'message.sent' END,
                v_row.message ->> 'external_id') THEN 'superseded'
            WHEN v_first.outcome = 'duplicate' THEN 'duplicate'
            ELSE 'ingested'
        END;
        RETURN NEXT;
    END LOOP;
END
$$;


--
-- Name: fn_is_dispatched(uuid, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_is_dispatched(p_org uuid, p_message uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1 FROM event_log e
        WHERE e.organization_id = p_org AND e.entity_id = p_message AND e.entity_kind = 'message'
            AND e.event_type = 'ai_agent.dispatch_requested'
    );
END
$$;


--
-- Name: fn_is_operator(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_is_operator() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT coalesce(current_setting('portaria.is_operator', true), '') = 'on' $$;


--
-- Name: fn_lead_facts(uuid, uuid, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_lead_facts(p_org uuid, p_lead uuid, p_payload jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_lead crm_leads;
    v_contact contacts;
BEGIN
    SELECT * INTO v_lead FROM crm_leads WHERE organization_id = p_org AND id = p_lead;
    SELECT * INTO v_contact FROM contacts
    WHERE organization_id = p_org AND id = coalesce(v_lead.contact_id, (p_payload ->> 'contact_id')::uuid);
    RETURN jsonb_build_object(
        'lead.title', v_lead.title, 'lead.source', v_lead.source, 'lead.stage', v_lead.stage,
        'lead.status', v_lead.status, 'lead.tags', to_jsonb(v_lead.tags),
        'lead.owner_user_id', v_lead.owner_user_id,
        'contact.name', v_contact.name, 'contact.phone_number', v_contact.phone_number,
        'contact.email', v_contact.email,
        'message.text', p_payload -> 'text', 'message.type', p_payload -> 'type',
        'event.from', p_payload -> 'from', 'event.to', p_payload -> 'to'
    );
END
$$;


--
-- Name: fn_leads_titled_like(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_leads_titled_like(p_text text) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_org uuid := fn_current_organization();
    v_grams bigint[] := fn_grams(v_org, p_text);
BEGIN
    IF cardinality(v_grams) > 0 THEN
        RETURN QUERY SELECT l.id FROM crm_leads l
        WHERE l.organization_id = v_org AND (l.is_titled OR l.source <> 'whatsapp')
            AND fn_grams(l.organization_id, l.title) @> v_grams;
    END IF;
END
$$;


--
-- Name: fn_lock_contact(uuid, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_lock_contact(p_org uuid, p_contact uuid) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_threads uuid[];
BEGIN
    SELECT array_agg(id ORDER BY id) INTO v_threads FROM conversations
    WHERE organization_id = p_org AND contact_id = p_contact;
    PERFORM pg_advisory_xact_lock(key) FROM (
        SELECT fn_lock_key(
            'thread', p_org || '/' || channel_session_id || '/' || provider_conversation_id) AS key
        FROM conversations WHERE organization_id = p_org AND id = ANY (v_threads)
        ORDER BY 1
    ) AS threads;
    PERFORM FROM conversations WHERE organization_id = p_org AND id = ANY (v_threads) ORDER BY id FOR UPDATE;
    PERFORM FROM contacts WHERE organization_id = p_org AND id = p_contact FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM FROM crm_leads WHERE organization_id = p_org AND contact_id = p_contact ORDER BY id FOR UPDATE;
    IF v_threads IS DISTINCT FROM (
        SELECT array_agg(id ORDER BY id) FROM conversations
        WHERE organization_id = p_org AND contact_id = p_contact
    ) THEN
        RAISE EXCEPTION 'a thread came in meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN true;
END
$$;


--
-- Name: fn_lock_key(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_lock_key(p_kind text, p_key text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT hashtextextended(p_kind || ':' || p_key, 7) $$;


--
-- Name: fn_lock_members(uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_lock_members(p_users uuid[]) RETURNS TABLE(user_id uuid, role text, revoked_at timestamp with time zone)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT m.user_id, m.role, m.revoked_at FROM user_organizations m
    WHERE m.organization_id = fn_current_organization() AND m.user_id = ANY (p_users)
    ORDER BY m.user_id
    FOR SHARE
$$;


--
-- Name: fn_mark_read(uuid, uuid, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_mark_read(p_org uuid, p_conversation uuid, p_through bigint) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_through bigint;
    v_unread integer;
BEGIN
    SELECT greatest(read_through, p_through) INTO v_through FROM conversations
    WHERE organization_id = p_org AND id = p_conversation
    FOR NO KEY UPDATE;
    -- A statement after the lock: it sees every message committed before the lock was ours.
    UPDATE conversations SET
        read_through = v_through,
        unread_count = (
            SELECT count(*) FROM messages
            WHERE organization_id = p_org AND conversation_id = p_conversation
                AND direction = 'inbound' AND arrival > v_through
        )
    WHERE organization_id = p_org AND id = p_conversation
    RETURNING unread_count INTO v_unread;
    RETURN v_unread;
END
$$;


--
-- Name: fn_mark_titled(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_mark_titled() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.is_titled := true;
    RETURN NEW;
END
$$;


--
-- Name: automation_rules; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.automation_rules (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    trigger_event text NOT NULL,
    conditions jsonb DEFAULT '[]'::jsonb NOT NULL,
    actions jsonb DEFAULT '[]'::jsonb NOT NULL,
    is_active boolean DEFAULT true NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    deleted_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT automation_rules_actions_check CHECK ((jsonb_typeof(actions) = 'array'::text)),
    CONSTRAINT automation_rules_conditions_check CHECK ((jsonb_typeof(conditions) = 'array'::text)),
    CONSTRAINT automation_rules_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT automation_rules_trigger_event_check CHECK ((trigger_event = ANY (ARRAY['lead.created'::text, 'lead.stage_changed'::text, 'message.received'::text])))
);


--
-- Name: fn_matching_rules(uuid, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_matching_rules(p_org uuid, p_event uuid) RETURNS SETOF public.automation_rules
    LANGUAGE sql STABLE
    AS $$
    SELECT r.*
    FROM event_log e
    JOIN automation_rules r ON r.organization_id = e.organization_id AND r.is_active AND r.deleted_at IS NULL
        AND CASE e.event_type
            WHEN 'lead.handed_to_rotation' THEN r.id = (e.payload ->> 'rule_id')::uuid
            ELSE r.trigger_event = e.event_type
        END
    WHERE e.organization_id = p_org AND e.id = p_event AND NOT e.metadata ? 'caused_by_rule'
        AND CASE
            WHEN e.event_type = 'lead.handed_to_rotation' OR r.conditions = '[]' THEN true
            ELSE fn_conditions_hold(r.conditions, fn_lead_facts(
                p_org, coalesce((e.payload ->> 'lead_id')::uuid, e.entity_id), e.payload))
        END
    ORDER BY r.created_at, r.id
$$;


--
-- Name: fn_message_effects(uuid, integer, timestamp with time zone, uuid, uuid, boolean, text, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_message_effects(p_row uuid, p_attempts integer, p_tried_at timestamp with time zone, p_org uuid, p_message uuid, p_dispatch boolean, p_status text, p_note text, p_lead_source text) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_message messages;
    v_contact contacts;
    v_lead crm_leads;
    v_dispatched boolean;
    v_payload jsonb;
BEGIN
    IF NOT fn_close_row(
        p_row, p_attempts, p_tried_at, p_status, p_note,
        'message.received', (SELECT external_id FROM messages WHERE organization_id = p_org AND id = p_message)
    ) THEN
        RETURN 'superseded';
    END IF;

    SELECT * INTO STRICT v_message FROM messages WHERE organization_id = p_org AND id = p_message;
    SELECT * INTO STRICT v_contact FROM contacts
    WHERE organization_id = p_org AND id = v_message.contact_id
    FOR NO KEY UPDATE;
    SELECT bool_or(event_type = 'ai_agent.dispatch_requested'),
        (array_agg(payload) FILTER (WHERE event_type = 'message.received'))[1]
    INTO v_dispatched, v_payload
    FROM event_log
    WHERE organization_id = p_org AND entity_id = p_message AND entity_kind = 'message'
        AND event_type IN ('message.received', 'ai_agent.dispatch_requested');
    IF v_dispatched THEN
        UPDATE webhook_events_log SET status = 'processed', error_message = NULL
        WHERE id = p_row AND (status <> 'processed' OR error_message IS NOT NULL);
        RETURN 'already';
    END IF;
    IF v_payload IS NOT NULL THEN
        -- The effects ran without the dispatch: no lead is made twice. Whoever is blocked by now is.
        IF p_dispatch THEN
            INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id, payload)
            VALUES (
                p_org, gen_random_uuid(), 'ai_agent.dispatch_requested', 'message', p_message,
                v_payload || jsonb_build_object('blocked', v_contact.is_blocked)
            );
        END IF;
        RETURN 'done';
    END IF;

    SELECT * INTO v_lead FROM crm_leads
    WHERE organization_id = p_org AND contact_id = v_contact.id AND status = 'open'
    ORDER BY created_at, id LIMIT 1;
    IF NOT FOUND AND NOT v_contact.is_blocked THEN
        INSERT INTO crm_leads (organization_id, id, contact_id, conversation_id, title, source)
        VALUES (
            p_org, gen_random_uuid(), v_contact.id, v_message.conversation_id,
            left(coalesce(v_contact.name, v_contact.phone_number, v_contact.username, '—'), 255), p_lead_source
        )
        RETURNING * INTO v_lead;
    END IF;

    v_payload := jsonb_build_object(
        'contact_id', v_contact.id, 'lead_id', v_lead.id, 'owner_user_id', v_lead.owner_user_id,
        'conversation_id', v_message.conversation_id, 'channel_session_id', v_message.channel_session_id,
        'type', v_message.type, 'text', left(v_message.body, 4096), 'sent_at', v_message.sent_at,
        'blocked', v_contact.is_blocked
    );
    INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id, payload)
    SELECT p_org, gen_random_uuid(), kind, 'message', p_message, v_payload
    FROM unnest(ARRAY['message.received', 'ai_agent.dispatch_requested']) WITH ORDINALITY AS fact (kind, n)
    WHERE p_dispatch OR kind = 'message.received'
    ORDER BY n
    ON CONFLICT DO NOTHING;
    RETURN 'done';
END
$$;


--
-- Name: fn_might_hold(bytea, bytea[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_might_hold(p_raw bytea, p_needles bytea[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    v_needle bytea;
BEGIN
    FOREACH v_needle IN ARRAY p_needles LOOP
        IF position(v_needle IN p_raw) > 0 THEN
            RETURN true;
        END IF;
    END LOOP;
    -- \u002x to \u007x: plain letters and digits, escaped; a zero byte: UTF-16 or UTF-32.
    RETURN position('\x00'::bytea IN p_raw) > 0 OR (
        position('\x5c753030'::bytea IN p_raw) > 0 AND (
            position('\x5c75303032'::bytea IN p_raw) > 0 OR position('\x5c75303033'::bytea IN p_raw) > 0
            OR position('\x5c75303034'::bytea IN p_raw) > 0 OR position('\x5c75303035'::bytea IN p_raw) > 0
            OR position('\x5c75303036'::bytea IN p_raw) > 0 OR position('\x5c75303037'::bytea IN p_raw) > 0
        ));
END
$$;


--
-- Name: fn_notify_channel_session(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_notify_channel_session() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('portaria_channel_sessions', NEW.id::text);
    RETURN NULL;
END
$$;


--
-- Name: fn_notify_notice(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_notify_notice() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.status IS DISTINCT FROM OLD.status THEN
        PERFORM pg_notify('portaria_live', jsonb_build_object(
            'organization_id', NEW.organization_id, 'type', 'notice.' || NEW.status, 'id', NEW.id)::text);
    END IF;
    RETURN NULL;
END
$$;


--
-- Name: fn_open_notice(uuid, text, text, text, text, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_open_notice(p_org uuid, p_kind text, p_severity text, p_title text, p_body text, p_resource_kind text, p_resource_id text) RETURNS uuid
    LANGUAGE sql
    AS $$
    INSERT INTO notices AS n (id, organization_id, kind, severity, title, body, resource_kind, resource_id)
    VALUES (gen_random_uuid(), p_org, p_kind, p_severity, p_title, p_body, p_resource_kind, p_resource_id)
    ON CONFLICT (organization_id, title) WHERE status IN ('open', 'ack') DO UPDATE SET
        occurrences = n.occurrences + 1, last_at = now(), status = 'open', severity = excluded.severity,
        body = excluded.body, resource_kind = excluded.resource_kind, resource_id = excluded.resource_id
    RETURNING id
$$;


--
-- Name: fn_open_runs(uuid, uuid, uuid, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_open_runs(p_org uuid, p_event uuid, p_lead uuid, p_rotation_only boolean) RETURNS TABLE(id uuid, rule_id uuid, lead_id uuid, actions jsonb, next integer)
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH begun AS (
        INSERT INTO automation_rule_runs (
            organization_id, id, rule_id, event_id, lead_id, actions, status, finished_at
        )
        SELECT r.organization_id, gen_random_uuid(), r.id, p_event, p_lead, wanted.actions,
            CASE WHEN wanted.actions = '[]' THEN 'done' ELSE 'running' END,
            CASE WHEN wanted.actions = '[]' THEN now() END
        FROM fn_matching_rules(p_org, p_event) AS r,
            LATERAL (
                SELECT CASE WHEN p_rotation_only
                    THEN '[{"type": "assign_owner", "config": {"modo": "rodizio"}}]'::jsonb ELSE r.actions
                END AS actions
            ) AS wanted
        ON CONFLICT (organization_id, rule_id, event_id) DO NOTHING
        RETURNING id, rule_id, lead_id, actions, actions_result
    ), unfinished AS (
        SELECT id, rule_id, lead_id, actions, actions_result FROM begun
        UNION ALL
        SELECT id, rule_id, lead_id, actions, actions_result FROM automation_rule_runs
        WHERE organization_id = p_org AND event_id = p_event AND status = 'running'
    )
    SELECT u.id, u.rule_id, u.lead_id, u.actions, jsonb_array_length(u.actions_result)
    FROM unfinished u
    JOIN automation_rules r ON r.organization_id = p_org AND r.id = u.rule_id
    ORDER BY r.created_at, r.id;
END
$$;


--
-- Name: fn_receive_incoming_event(uuid, text, text, timestamp with time zone, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_receive_incoming_event(p_id uuid, p_event_id text, p_event_type text, p_occurred_at timestamp with time zone, p_payload text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO incoming_events (id, event_id, event_type, occurred_at, payload)
    VALUES (p_id, p_event_id, p_event_type, p_occurred_at, p_payload)
    ON CONFLICT (event_id) DO NOTHING;
    IF NOT FOUND THEN
        -- It may be committed here and not yet on a synchronous standby (its own COMMIT was given up waiting
        -- for it). "Known" is a promise too: a record of its own makes this COMMIT wait for both.
        PERFORM pg_logical_emit_message(true, 'portaria', 'known');
        RETURN false;
    END IF;
    PERFORM fn_enqueue_incoming_event(p_id, 0, 0);
    RETURN true;
END
$$;


--
-- Name: fn_record_action_result(uuid, uuid, integer, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_record_action_result(p_org uuid, p_run uuid, p_index integer, p_result jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_run automation_rule_runs;
BEGIN
    UPDATE automation_rule_runs SET actions_result = actions_result || jsonb_build_array(p_result)
    WHERE organization_id = p_org AND id = p_run AND status = 'running'
        AND jsonb_array_length(actions_result) = p_index
    RETURNING * INTO v_run;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF jsonb_array_length(v_run.actions_result) >= jsonb_array_length(v_run.actions) THEN
        UPDATE automation_rule_runs SET finished_at = clock_timestamp(), status = (
            SELECT CASE WHEN bool_or(result ->> 'status' = 'failed') THEN 'failed'
                WHEN bool_and(result ->> 'status' = 'skipped') THEN 'skipped' ELSE 'done' END
            FROM jsonb_array_elements(v_run.actions_result) AS result)
        WHERE organization_id = p_org AND id = p_run;
    END IF;
    RETURN true;
END
$$;


--
-- Name: fn_record_opt_out(uuid, uuid, uuid, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_record_opt_out(p_org uuid, p_session uuid, p_contact uuid, p_message jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_contact uuid := p_contact;
BEGIN
    IF EXISTS (
        SELECT 1 FROM contact_opt_outs
        WHERE organization_id = p_org AND external_id IN (
            p_message ->> 'external_id', fn_erased_id(p_org, p_message ->> 'external_id'))
    ) THEN
        RETURN false;
    END IF;

    IF v_contact IS NULL THEN
        PERFORM pg_advisory_xact_lock(fn_lock_key(
            'thread', p_org || '/' || p_session || '/' || (p_message ->> 'provider_conversation_id')));
        SELECT contact_id INTO v_contact FROM conversations
        WHERE organization_id = p_org AND channel_session_id = p_session
            AND provider_conversation_id = p_message ->> 'provider_conversation_id';
        v_contact := fn_resolve_contact(p_org, v_contact, p_message);
        IF v_contact IS NULL THEN
            RETURN false;  -- no usable anchor: the body holds no opt-out (spec 2.4)
        END IF;
    END IF;

    INSERT INTO contact_opt_outs (organization_id, external_id, contact_id)
    VALUES (p_org, p_message ->> 'external_id', v_contact)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;

    UPDATE contacts SET is_blocked = true, blocked_reason = 'stop_keyword', blocked_at = now()
    WHERE organization_id = p_org AND id = v_contact AND NOT is_blocked;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO api_audit_log (id, organization_id, action, actor, resource_kind, resource_id, metadata)
    VALUES (
        gen_random_uuid(), p_org, 'contact.blocked', 'system', 'contact', v_contact::text,
        jsonb_build_object('reason', 'stop_keyword', 'external_id', p_message ->> 'external_id')
    );
    RETURN true;
END
$$;


--
-- Name: fn_refuse_change(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;


--
-- Name: fn_release_leads(uuid, uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_release_leads(p_org uuid, p_user uuid, p_actor text) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_cause text := coalesce(current_setting('portaria.cause', true), '');
    v_count integer;
BEGIN
    PERFORM FROM crm_leads
    WHERE organization_id = p_org AND owner_user_id = p_user AND status = 'open'
    ORDER BY id
    FOR UPDATE;
    PERFORM set_config(
        'portaria.cause', jsonb_build_object('actor', p_actor, 'reason', 'member_revoked')::text, true);
    UPDATE crm_leads SET owner_user_id = NULL, updated_at = now()
    WHERE organization_id = p_org AND owner_user_id = p_user AND status = 'open';
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM set_config('portaria.cause', v_cause, true);
    RETURN v_count;
END
$$;


--
-- Name: fn_remember_departure(uuid, uuid, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_remember_departure(p_org uuid, p_contact uuid, p_spellings text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_contact contacts;
    v_digests bytea[];
BEGIN
    SELECT * INTO STRICT v_contact FROM contacts WHERE organization_id = p_org AND id = p_contact;
    SELECT array_agg(fn_anchor_digest(p_org, kind, value)) INTO v_digests FROM (
        SELECT kind, value FROM contact_identities WHERE organization_id = p_org AND contact_id = p_contact
        UNION
        SELECT 'phone', spelling FROM unnest(p_spellings) AS spelling
        UNION
        SELECT 'email', lower(v_contact.email) WHERE v_contact.email IS NOT NULL
    ) AS known;
    IF v_contact.is_blocked THEN
        INSERT INTO contact_suppressions (organization_id, digest)
        SELECT p_org, digest FROM unnest(v_digests) AS digest
        ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM contact_suppressions WHERE organization_id = p_org AND digest = ANY (v_digests);
    END IF;
END
$$;


--
-- Name: fn_reprocess_incoming_event(uuid, boolean, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_reprocess_incoming_event(p_id uuid, p_force boolean, p_actor text) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_row incoming_events;
BEGIN
    SELECT * INTO v_row FROM incoming_events WHERE id = p_id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 'missing';
    ELSIF v_row.status = 'pending' OR (v_row.status = 'processed' AND NOT p_force) THEN
        RETURN v_row.status;
    ELSIF v_row.payload = '' THEN
        RETURN 'emptied';
    END IF;
    UPDATE incoming_events SET
        status = 'pending', attempts = 0, error_message = NULL, processed_at = NULL, attempt_job = NULL,
        attempt_started_at = NULL
    WHERE id = p_id;
    PERFORM fn_enqueue_incoming_event(p_id, 0, 0);
    INSERT INTO api_audit_log (id, action, actor, resource_kind, resource_id, metadata)
    VALUES (
        gen_random_uuid(), 'incoming_event.reprocessed', p_actor, 'incoming_event', p_id::text,
        jsonb_build_object(
            'event_id', v_row.event_id, 'event_type', v_row.event_type, 'status', v_row.status,
            'attempts', v_row.attempts, 'error_message', left(v_row.error_message, 500)
        )
    );
    RETURN 'queued';
END
$$;


--
-- Name: fn_resolve_contact(uuid, uuid, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_resolve_contact(p_org uuid, p_thread_contact uuid, p_message jsonb) RETURNS uuid
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_contact uuid := p_thread_contact;
    v_phone text := p_message ->> 'phone';
    v_spelling text;
    v_identity record;
    v_fresh uuid;
BEGIN
    IF v_contact IS NULL THEN
        SELECT i.contact_id INTO v_contact
        FROM jsonb_array_elements(p_message -> 'identities') WITH ORDINALITY AS wanted (anchor, n)
        JOIN contact_identities i ON i.organization_id = p_org
            AND i.kind = wanted.anchor ->> 'kind' AND i.value = wanted.anchor ->> 'value'
        ORDER BY wanted.n LIMIT 1;
    END IF;

    IF v_contact IS NULL THEN
        FOR v_spelling IN SELECT jsonb_array_elements_text(p_message -> 'phone_spellings') LOOP
            SELECT id INTO v_contact FROM contacts
            WHERE organization_id = p_org AND phone_number = v_spelling;
            EXIT WHEN v_contact IS NOT NULL;
        END LOOP;
    END IF;

    IF v_contact IS NULL AND v_phone IS NULL AND jsonb_array_length(p_message -> 'identities') = 0 THEN
        RETURN NULL;
    END IF;

    IF v_contact IS NULL THEN
        INSERT INTO contacts (organization_id, id, name, phone_number, username)
        VALUES (p_org, gen_random_uuid(), p_message ->> 'name', v_phone, p_message ->> 'username')
        ON CONFLICT (organization_id, phone_number) WHERE phone_number IS NOT NULL DO NOTHING
        RETURNING id INTO v_contact;
        v_fresh := v_contact;
        IF v_contact IS NULL THEN
            -- Somebody else committed this phone while we waited on the unique key.
            SELECT id INTO STRICT v_contact FROM contacts
            WHERE organization_id = p_org AND phone_number = v_phone;
        END IF;
    END IF;
    IF v_fresh IS NULL THEN
        PERFORM fn_complete_contact(p_org, v_contact, p_message);
    END IF;

    FOR v_identity IN
        SELECT wanted ->> 'kind' AS kind, wanted ->> 'value' AS value
        FROM jsonb_array_elements(p_message -> 'identities') AS wanted
        -- For a new contact every one must be ours: what was free a moment ago may be taken by now.
        WHERE v_fresh IS NOT NULL OR NOT EXISTS (
            SELECT 1 FROM contact_identities i
            WHERE i.organization_id = p_org AND i.kind = wanted ->> 'kind' AND i.value = wanted ->> 'value'
        )
    LOOP
        INSERT INTO contact_identities (organization_id, kind, value, contact_id)
        VALUES (p_org, v_identity.kind, v_identity.value, v_contact)
        ON CONFLICT DO NOTHING;
        IF NOT FOUND AND v_fresh IS NOT NULL THEN
            -- The same new person came in by two threads at once; the caller tries again and finds them.
            RAISE EXCEPTION 'identity taken meanwhile' USING ERRCODE = 'serialization_failure';
        END IF;
    END LOOP;
    RETURN v_contact;
END
$$;


--
-- Name: fn_restamp_message(uuid, uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_restamp_message(p_org uuid, p_message uuid, p_preview text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_message messages;
    v_last timestamptz;
BEGIN
    SELECT * INTO STRICT v_message FROM messages WHERE organization_id = p_org AND id = p_message;
    SELECT last_message_at INTO v_last FROM conversations
    WHERE organization_id = p_org AND id = v_message.conversation_id
    FOR NO KEY UPDATE;
    IF v_last IS NULL OR v_last < v_message.sent_at THEN
        PERFORM fn_stamp_conversation(
            p_org, v_message.conversation_id, v_message.direction, v_message.sent_at, p_preview,
            v_message.arrival
        );
    ELSE
        UPDATE conversations SET last_inbound_at = v_message.sent_at
        WHERE organization_id = p_org AND id = v_message.conversation_id AND v_message.direction = 'inbound'
            AND (last_inbound_at IS NULL OR last_inbound_at < v_message.sent_at);
    END IF;
END
$$;


--
-- Name: fn_rotation_candidates(uuid, uuid, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_rotation_candidates(p_org uuid, p_rule uuid, p_queue jsonb) RETURNS TABLE(place integer, posicao integer, user_id uuid, nome text, reason text)
    LANGUAGE sql STABLE
    AS $$
    WITH queue AS (
        SELECT n::integer AS posicao, fn_to_uuid(entry ->> 'user_id') AS user_id,
            coalesce(entry ->> 'pausado' = 'true', false) AS paused,
            jsonb_array_length(p_queue) AS size
        FROM jsonb_array_elements(p_queue) WITH ORDINALITY AS listed (entry, n)
    ), newest AS (
        SELECT t.user_id, t.posicao FROM automation_rodizio_atribuicoes t
        WHERE t.organization_id = p_org AND t.rule_id = p_rule
        ORDER BY t.seq DESC LIMIT 1
    ), start AS (
        SELECT coalesce(
            (SELECT min(q.posicao) + 1 FROM queue q, newest WHERE q.user_id = newest.user_id),
            (SELECT posicao FROM newest), 1) AS posicao
    )
    SELECT mod(q.posicao - CASE WHEN s.posicao > q.size THEN 1 ELSE s.posicao END + q.size, q.size) + 1,
        q.posicao, q.user_id, u.name,
        CASE
            WHEN m.user_id IS NULL THEN 'fora_da_organizacao'
            WHEN m.revoked_at IS NOT NULL THEN 'revogado'
            WHEN m.role = 'viewer' THEN 'viewer'
            WHEN q.paused THEN 'pausado'
        END
    FROM queue q
    CROSS JOIN start s
    LEFT JOIN user_organizations m ON m.organization_id = p_org AND m.user_id = q.user_id
    LEFT JOIN users u ON u.id = q.user_id
$$;


--
-- Name: fn_rotation_queue(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_rotation_queue(p_actions jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    AS $$
DECLARE
    v_action jsonb;
BEGIN
    FOR v_action IN SELECT jsonb_array_elements(p_actions) LOOP
        IF v_action ->> 'type' = 'assign_owner' AND v_action #>> '{config,modo}' = 'rodizio' THEN
            RETURN CASE jsonb_typeof(v_action #> '{config,fila}')
                WHEN 'array' THEN v_action #> '{config,fila}' ELSE '[]' END;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;


--
-- Name: fn_rows_of_contact(uuid, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_rows_of_contact(p_org uuid, p_contact uuid) RETURNS TABLE(kind text, id uuid)
    LANGUAGE sql STABLE
    AS $$
    SELECT 'contact', p_contact
    UNION ALL
    SELECT 'conversation', v.id FROM conversations v
    WHERE v.organization_id = p_org AND v.contact_id = p_contact
    UNION ALL
    SELECT 'message', m.id FROM conversations v
    JOIN messages m ON m.organization_id = v.organization_id AND m.conversation_id = v.id
    WHERE v.organization_id = p_org AND v.contact_id = p_contact
    UNION ALL
    SELECT 'lead', l.id FROM crm_leads l WHERE l.organization_id = p_org AND l.contact_id = p_contact
$$;


--
-- Name: fn_stamp_conversation(uuid, uuid, text, timestamp with time zone, text, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_stamp_conversation(p_org uuid, p_conversation uuid, p_direction text, p_sent_at timestamp with time zone, p_preview text, p_arrival bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE conversations SET
        last_message_preview = CASE
            WHEN last_message_at IS NULL OR p_sent_at >= last_message_at THEN p_preview
            ELSE last_message_preview
        END,
        last_message_at = greatest(last_message_at, p_sent_at),
        last_inbound_at = CASE WHEN p_direction = 'inbound'
            THEN greatest(last_inbound_at, p_sent_at) ELSE last_inbound_at END,
        last_outbound_at = CASE WHEN p_direction = 'outbound'
            THEN greatest(last_outbound_at, p_sent_at) ELSE last_outbound_at END,
        unread_count = CASE
            WHEN p_direction = 'inbound' THEN unread_count + 1
            WHEN p_sent_at < last_inbound_at THEN unread_count
            ELSE 0
        END,
        read_through = CASE
            WHEN p_direction = 'inbound' OR p_sent_at < last_inbound_at THEN read_through
            ELSE greatest(read_through, p_arrival)
        END
    WHERE organization_id = p_org AND id = p_conversation;
END
$$;


--
-- Name: fn_stamp_lead_owner(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_stamp_lead_owner() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.assigned_at := CASE WHEN NEW.owner_user_id IS NULL THEN NULL ELSE coalesce(NEW.assigned_at, now()) END;
    ELSIF NEW.owner_user_id IS DISTINCT FROM OLD.owner_user_id THEN
        NEW.assigned_at := CASE WHEN NEW.owner_user_id IS NULL THEN NULL ELSE now() END;
    END IF;
    RETURN NEW;
END
$$;


--
-- Name: fn_submit_lead_form(uuid, uuid, uuid, text, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_submit_lead_form(p_org uuid, p_form uuid, p_row uuid, p_key text, p_person jsonb) RETURNS TABLE(outcome text, lead_id uuid, contact_id uuid)
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_contact uuid;
    v_lead uuid;
BEGIN
    IF p_key IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(fn_lock_key('form', p_org || '/' || p_form || '/' || p_key));
        SELECT s.lead_id, l.contact_id INTO v_lead, v_contact
        FROM lead_form_submissions s
        JOIN crm_leads l ON l.organization_id = s.organization_id AND l.id = s.lead_id
        WHERE s.organization_id = p_org AND s.form_id = p_form AND s.idempotency_key = p_key;
    END IF;
    IF NOT fn_close_row(
        p_row, 0, NULL, 'processed', CASE WHEN v_lead IS NOT NULL THEN 'duplicate' END, 'lead_form.submitted', p_key
    ) THEN
        RETURN QUERY SELECT 'superseded', v_lead, v_contact;
        RETURN;
    END IF;
    IF v_lead IS NOT NULL THEN
        RETURN QUERY SELECT 'duplicate', v_lead, v_contact;
        RETURN;
    END IF;

    v_contact := fn_resolve_contact(p_org, NULL, p_person);
    UPDATE contacts SET email = p_person ->> 'email'
    WHERE organization_id = p_org AND id = v_contact AND email IS NULL AND p_person ->> 'email' IS NOT NULL;
    INSERT INTO crm_leads (organization_id, id, contact_id, title, source)
    VALUES (p_org, gen_random_uuid(), v_contact, p_person ->> 'name', 'form')
    RETURNING id INTO v_lead;
    INSERT INTO lead_form_submissions (organization_id, id, form_id, webhook_event_id, lead_id, idempotency_key)
    VALUES (p_org, gen_random_uuid(), p_form, p_row, v_lead, p_key);
    RETURN QUERY SELECT 'created', v_lead, v_contact;
END
$$;


--
-- Name: fn_take_turn(uuid, uuid, uuid, uuid, uuid, integer, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_take_turn(p_org uuid, p_rule uuid, p_lead uuid, p_event uuid, p_run uuid, p_index integer, p_wait text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_turn jsonb;
BEGIN
    PERFORM set_config('lock_timeout', p_wait, true);
    v_turn := fn_automation_rodizio_atribuir(p_org, p_rule, p_lead, p_event);
    RETURN fn_record_action_result(p_org, p_run, p_index, jsonb_build_object(
        'type', 'assign_owner', 'status', v_turn ->> 'status', 'detail', v_turn - 'status'));
END
$$;


--
-- Name: fn_to_uuid(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fn_to_uuid(p_text text) RETURNS uuid
    LANGUAGE sql IMMUTABLE
    AS $_$
    SELECT CASE
        WHEN p_text ~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN p_text::uuid
    END
$_$;


--
-- Name: procrastinate_cancel_job_v1(bigint, boolean, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_cancel_job_v1(job_id bigint, abort boolean, delete_job boolean) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
BEGIN
    IF delete_job THEN
        DELETE FROM procrastinate_jobs
        WHERE id = job_id AND status = 'todo'
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        IF abort THEN
            UPDATE procrastinate_jobs
            SET abort_requested = true,
                status = CASE status
                    WHEN 'todo' THEN 'cancelled'::procrastinate_job_status ELSE status
                END
            WHERE id = job_id AND status IN ('todo', 'doing')
            RETURNING id INTO _job_id;
        ELSE
            UPDATE procrastinate_jobs
            SET status = 'cancelled'::procrastinate_job_status
            WHERE id = job_id AND status = 'todo'
            RETURNING id INTO _job_id;
        END IF;
    END IF;
    RETURN _job_id;
END;
$$;


--
-- Name: procrastinate_defer_jobs_v1(public.procrastinate_job_to_defer_v1[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_defer_jobs_v1(jobs public.procrastinate_job_to_defer_v1[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    job_ids bigint[];
BEGIN
    WITH inserted_jobs AS (
        INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
        SELECT (job).queue_name,
               (job).task_name,
               (job).priority,
               (job).lock,
               (job).queueing_lock,
               (job).args,
               (job).scheduled_at
        FROM unnest(jobs) AS job
        RETURNING id
    )
    SELECT array_agg(id) FROM inserted_jobs INTO job_ids;

    RETURN job_ids;
END;
$$;


--
-- Name: procrastinate_defer_periodic_job_v2(character varying, character varying, character varying, character varying, integer, character varying, bigint, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_defer_periodic_job_v2(_queue_name character varying, _lock character varying, _queueing_lock character varying, _task_name character varying, _priority integer, _periodic_id character varying, _defer_timestamp bigint, _args jsonb) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
	_job_id bigint;
	_defer_id bigint;
BEGIN
    INSERT
        INTO procrastinate_periodic_defers (task_name, periodic_id, defer_timestamp)
        VALUES (_task_name, _periodic_id, _defer_timestamp)
        ON CONFLICT DO NOTHING
        RETURNING id into _defer_id;

    IF _defer_id IS NULL THEN
        RETURN NULL;
    END IF;

    UPDATE procrastinate_periodic_defers
        SET job_id = (
            SELECT COALESCE((
                SELECT unnest(procrastinate_defer_jobs_v1(
                    ARRAY[
                        ROW(
                            _queue_name,
                            _task_name,
                            _priority,
                            _lock,
                            _queueing_lock,
                            _args,
                            NULL::timestamptz
                        )
                    ]::procrastinate_job_to_defer_v1[]
                ))
            ), NULL)
        )
        WHERE id = _defer_id
        RETURNING job_id INTO _job_id;

    DELETE
        FROM procrastinate_periodic_defers
        USING (
            SELECT id
            FROM procrastinate_periodic_defers
            WHERE procrastinate_periodic_defers.task_name = _task_name
            AND procrastinate_periodic_defers.periodic_id = _periodic_id
            AND procrastinate_periodic_defers.defer_timestamp < _defer_timestamp
            ORDER BY id
            FOR UPDATE
        ) to_delete
        WHERE procrastinate_periodic_defers.id = to_delete.id;

    RETURN _job_id;
END;
$$;


--
-- Name: procrastinate_jobs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.procrastinate_jobs (
    id bigint NOT NULL,
    queue_name character varying(128) NOT NULL,
    task_name character varying(128) NOT NULL,
    priority integer DEFAULT 0 NOT NULL,
    lock text,
    queueing_lock text,
    args jsonb DEFAULT '{}'::jsonb NOT NULL,
    status public.procrastinate_job_status DEFAULT 'todo'::public.procrastinate_job_status NOT NULL,
    scheduled_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    abort_requested boolean DEFAULT false NOT NULL,
    worker_id bigint,
    CONSTRAINT check_not_todo_abort_requested CHECK ((NOT ((status = 'todo'::public.procrastinate_job_status) AND (abort_requested = true))))
)
WITH (autovacuum_vacuum_scale_factor='0.02');


--
-- Name: procrastinate_fetch_job_v2(character varying[], bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_fetch_job_v2(target_queue_names character varying[], p_worker_id bigint) RETURNS public.procrastinate_jobs
    LANGUAGE plpgsql
    AS $$
DECLARE
	found_jobs procrastinate_jobs;
BEGIN
    WITH candidate AS (
        SELECT jobs.*
            FROM procrastinate_jobs AS jobs
            WHERE
                -- reject the job if its lock has earlier or higher priority jobs
                NOT EXISTS (
                    SELECT 1
                        FROM procrastinate_jobs AS other_jobs
                        WHERE
                            jobs.lock IS NOT NULL
                            AND other_jobs.lock = jobs.lock
                            AND (
                                -- job with same lock is already running
                                other_jobs.status = 'doing'
                                OR
                                -- job with same lock is waiting and has higher priority (or same priority but was queued first)
                                (
                                    other_jobs.status = 'todo'
                                    AND (
                                        other_jobs.priority > jobs.priority
                                        OR (
                                        other_jobs.priority = jobs.priority
                                        AND other_jobs.id < jobs.id
                                        )
                                    )
                                )
                            )
                )
                AND jobs.status = 'todo'
                AND (target_queue_names IS NULL OR jobs.queue_name = ANY( target_queue_names ))
                AND (jobs.scheduled_at IS NULL OR jobs.scheduled_at <= now())
            ORDER BY jobs.priority DESC, jobs.id ASC LIMIT 1
            FOR UPDATE OF jobs SKIP LOCKED
    )
    UPDATE procrastinate_jobs
        SET status = 'doing', worker_id = p_worker_id
        FROM candidate
        WHERE procrastinate_jobs.id = candidate.id
        RETURNING procrastinate_jobs.* INTO found_jobs;

 RETURN found_jobs;
END;
$$;


--
-- Name: procrastinate_finish_job_v1(bigint, public.procrastinate_job_status, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_finish_job_v1(job_id bigint, end_status public.procrastinate_job_status, delete_job boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
BEGIN
    IF end_status NOT IN ('succeeded', 'failed', 'aborted') THEN
        RAISE 'End status should be either "succeeded", "failed" or "aborted" (job id: %)', job_id;
    END IF;
    IF delete_job THEN
        DELETE FROM procrastinate_jobs
        WHERE id = job_id AND status IN ('todo', 'doing')
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = end_status,
            abort_requested = false,
            attempts = CASE status
                WHEN 'doing' THEN attempts + 1 ELSE attempts
            END
        WHERE id = job_id AND status IN ('todo', 'doing')
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        RAISE 'Job was not found or not in "doing" or "todo" status (job id: %)', job_id;
    END IF;
END;
$$;


--
-- Name: procrastinate_notify_queue_abort_job_v1(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_notify_queue_abort_job_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    payload TEXT;
BEGIN
    SELECT json_build_object('type', 'abort_job_requested', 'job_id', NEW.id)::text INTO payload;
	PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, payload);
	PERFORM pg_notify('procrastinate_any_queue_v1', payload);
	RETURN NEW;
END;
$$;


--
-- Name: procrastinate_notify_queue_job_inserted_v1(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_notify_queue_job_inserted_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    payload TEXT;
BEGIN
    SELECT json_build_object('type', 'job_inserted', 'job_id', NEW.id)::text INTO payload;
	PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, payload);
	PERFORM pg_notify('procrastinate_any_queue_v1', payload);
	RETURN NEW;
END;
$$;


--
-- Name: procrastinate_prune_stalled_workers_v1(double precision); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_prune_stalled_workers_v1(seconds_since_heartbeat double precision) RETURNS TABLE(worker_id bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    DELETE FROM procrastinate_workers
    WHERE last_heartbeat < NOW() - (seconds_since_heartbeat || 'SECOND')::INTERVAL
    RETURNING procrastinate_workers.id;
END;
$$;


--
-- Name: procrastinate_register_worker_v1(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_register_worker_v1() RETURNS TABLE(worker_id bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    INSERT INTO procrastinate_workers DEFAULT VALUES
    RETURNING procrastinate_workers.id;
END;
$$;


--
-- Name: procrastinate_retry_job_v1(bigint, timestamp with time zone, integer, character varying, character varying); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_retry_job_v1(job_id bigint, retry_at timestamp with time zone, new_priority integer, new_queue_name character varying, new_lock character varying) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
    _abort_requested boolean;
BEGIN
    SELECT abort_requested FROM procrastinate_jobs
    WHERE id = job_id AND status = 'doing'
    FOR UPDATE
    INTO _abort_requested;
    IF _abort_requested THEN
        UPDATE procrastinate_jobs
        SET status = 'failed'::procrastinate_job_status
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = 'todo'::procrastinate_job_status,
            attempts = attempts + 1,
            scheduled_at = retry_at,
            priority = COALESCE(new_priority, priority),
            queue_name = COALESCE(new_queue_name, queue_name),
            lock = COALESCE(new_lock, lock)
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    END IF;

    IF _job_id IS NULL THEN
        RAISE 'Job was not found or not in "doing" status (job id: %)', job_id;
    END IF;
END;
$$;


--
-- Name: procrastinate_retry_job_v2(bigint, timestamp with time zone, integer, character varying, character varying); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_retry_job_v2(job_id bigint, retry_at timestamp with time zone, new_priority integer, new_queue_name character varying, new_lock character varying) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
    _abort_requested boolean;
    _current_status procrastinate_job_status;
BEGIN
    SELECT status, abort_requested FROM procrastinate_jobs
    WHERE id = job_id AND status IN ('doing', 'failed')
    FOR UPDATE
    INTO _current_status, _abort_requested;
    IF _current_status = 'doing' AND _abort_requested THEN
        UPDATE procrastinate_jobs
        SET status = 'failed'::procrastinate_job_status
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = 'todo'::procrastinate_job_status,
            attempts = attempts + 1,
            scheduled_at = retry_at,
            priority = COALESCE(new_priority, priority),
            queue_name = COALESCE(new_queue_name, queue_name),
            lock = COALESCE(new_lock, lock)
        WHERE id = job_id AND status IN ('doing', 'failed')
        RETURNING id INTO _job_id;
    END IF;

    IF _job_id IS NULL THEN
        RAISE 'Job was not found or has an invalid status to retry (job id: %)', job_id;
    END IF;

END;
$$;


--
-- Name: procrastinate_trigger_abort_requested_events_procedure_v1(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_trigger_abort_requested_events_procedure_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type)
        VALUES (NEW.id, 'abort_requested'::procrastinate_job_event_type);
    RETURN NEW;
END;
$$;


--
-- Name: procrastinate_trigger_function_scheduled_events_v1(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_trigger_function_scheduled_events_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type, at)
        VALUES (NEW.id, 'scheduled'::procrastinate_job_event_type, NEW.scheduled_at);

	RETURN NEW;
END;
$$;


--
-- Name: procrastinate_trigger_function_status_events_insert_v1(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_trigger_function_status_events_insert_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type)
        VALUES (NEW.id, 'deferred'::procrastinate_job_event_type);
	RETURN NEW;
END;
$$;


--
-- Name: procrastinate_trigger_function_status_events_update_v1(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_trigger_function_status_events_update_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH t AS (
        SELECT CASE
            WHEN OLD.status = 'todo'::procrastinate_job_status
                AND NEW.status = 'doing'::procrastinate_job_status
                THEN 'started'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'todo'::procrastinate_job_status
                THEN 'deferred_for_retry'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'failed'::procrastinate_job_status
                THEN 'failed'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'succeeded'::procrastinate_job_status
                THEN 'succeeded'::procrastinate_job_event_type
            WHEN OLD.status = 'todo'::procrastinate_job_status
                AND (
                    NEW.status = 'cancelled'::procrastinate_job_status
                    OR NEW.status = 'failed'::procrastinate_job_status
                    OR NEW.status = 'succeeded'::procrastinate_job_status
                )
                THEN 'cancelled'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'aborted'::procrastinate_job_status
                THEN 'aborted'::procrastinate_job_event_type
            WHEN OLD.status = 'failed'::procrastinate_job_status
                AND NEW.status = 'todo'::procrastinate_job_status
                THEN 'retried'::procrastinate_job_event_type
            ELSE NULL
        END as event_type
    )
    INSERT INTO procrastinate_events(job_id, type)
        SELECT NEW.id, t.event_type
        FROM t
        WHERE t.event_type IS NOT NULL;
	RETURN NEW;
END;
$$;


--
-- Name: procrastinate_unlink_periodic_defers_v1(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_unlink_periodic_defers_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE procrastinate_periodic_defers
    SET job_id = NULL
    WHERE job_id = OLD.id;
    RETURN OLD;
END;
$$;


--
-- Name: procrastinate_unregister_worker_v1(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_unregister_worker_v1(worker_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM procrastinate_workers
    WHERE id = worker_id;
END;
$$;


--
-- Name: procrastinate_update_heartbeat_v1(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.procrastinate_update_heartbeat_v1(worker_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE procrastinate_workers
    SET last_heartbeat = NOW()
    WHERE id = worker_id;
END;
$$;


--
-- Name: api_audit_log; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_audit_log (
    id uuid NOT NULL,
    organization_id uuid,
    action text NOT NULL,
    actor text NOT NULL,
    resource_kind text,
    resource_id text,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT api_audit_log_action_check CHECK (((length(action) >= 1) AND (length(action) <= 100)))
);


--
-- Name: automation_rodizio_atribuicoes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.automation_rodizio_atribuicoes (
    organization_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    seq bigint NOT NULL,
    event_id uuid NOT NULL,
    lead_id uuid NOT NULL,
    user_id uuid NOT NULL,
    posicao integer NOT NULL,
    candidates jsonb DEFAULT '[]'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT automation_rodizio_atribuicoes_candidates_check CHECK ((jsonb_typeof(candidates) = 'array'::text)),
    CONSTRAINT automation_rodizio_atribuicoes_posicao_check CHECK ((posicao >= 1))
);


--
-- Name: automation_rodizio_atribuicoes_seq_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.automation_rodizio_atribuicoes ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.automation_rodizio_atribuicoes_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: automation_rule_runs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.automation_rule_runs (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    rule_id uuid NOT NULL,
    event_id uuid NOT NULL,
    lead_id uuid,
    status text DEFAULT 'running'::text NOT NULL,
    actions jsonb NOT NULL,
    actions_result jsonb DEFAULT '[]'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT automation_rule_runs_actions_check CHECK ((jsonb_typeof(actions) = 'array'::text)),
    CONSTRAINT automation_rule_runs_actions_result_check CHECK ((jsonb_typeof(actions_result) = 'array'::text)),
    CONSTRAINT automation_rule_runs_status_check CHECK ((status = ANY (ARRAY['running'::text, 'done'::text, 'skipped'::text, 'failed'::text])))
);


--
-- Name: browser_sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.browser_sessions (
    id_hash bytea NOT NULL,
    data bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT browser_sessions_id_hash_check CHECK ((length(id_hash) = 32))
);


--
-- Name: channel_sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.channel_sessions (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    provider text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    account_id text NOT NULL,
    phone_number text,
    provider_profile_id text,
    webhook_path_token text NOT NULL,
    secret_ciphertext bytea,
    previous_secret_ciphertext bytea,
    previous_secret_until timestamp with time zone,
    state text,
    state_at timestamp with time zone,
    archived_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT channel_sessions_account_id_check CHECK (((length(account_id) >= 1) AND (length(account_id) <= 255))),
    CONSTRAINT channel_sessions_name_check CHECK ((length(name) <= 255)),
    CONSTRAINT channel_sessions_phone_number_check CHECK ((phone_number ~ '^\+[0-9]{8,15}$'::text)),
    CONSTRAINT channel_sessions_provider_check CHECK ((provider = ANY (ARRAY['zernio'::text, 'zernio_social'::text, 'lead_form'::text, 'meta_cloud'::text, 'standard_webhooks'::text]))),
    CONSTRAINT channel_sessions_provider_profile_id_check CHECK (((length(provider_profile_id) >= 1) AND (length(provider_profile_id) <= 255))),
    CONSTRAINT channel_sessions_webhook_path_token_check CHECK (((length(webhook_path_token) >= 8) AND (length(webhook_path_token) <= 255)))
);


--
-- Name: channel_templates; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.channel_templates (
    organization_id uuid NOT NULL,
    channel_session_id uuid NOT NULL,
    template_id text NOT NULL,
    name text NOT NULL,
    language text,
    status text NOT NULL,
    reason text,
    status_at timestamp with time zone NOT NULL,
    CONSTRAINT channel_templates_template_id_check CHECK (((length(template_id) >= 1) AND (length(template_id) <= 255)))
);


--
-- Name: contact_identities; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.contact_identities (
    organization_id uuid NOT NULL,
    kind text NOT NULL,
    value text NOT NULL,
    contact_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT contact_identities_kind_check CHECK (((length(kind) >= 1) AND (length(kind) <= 50))),
    CONSTRAINT contact_identities_value_check CHECK (((length(value) >= 1) AND (length(value) <= 600)))
);


--
-- Name: contact_opt_outs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.contact_opt_outs (
    organization_id uuid NOT NULL,
    external_id text NOT NULL,
    contact_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT contact_opt_outs_external_id_check CHECK (((length(external_id) >= 1) AND (length(external_id) <= 255)))
);


--
-- Name: contact_suppressions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.contact_suppressions (
    organization_id uuid NOT NULL,
    digest bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT contact_suppressions_digest_check CHECK ((length(digest) = 32))
);


--
-- Name: contacts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.contacts (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    name text,
    phone_number text,
    email text,
    username text,
    is_blocked boolean DEFAULT false NOT NULL,
    blocked_reason text,
    blocked_at timestamp with time zone,
    source_metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    erased_at timestamp with time zone,
    CONSTRAINT contacts_phone_number_check CHECK ((phone_number ~ '^\+[0-9]{8,15}$'::text))
)
WITH (fillfactor='90');


--
-- Name: conversations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.conversations (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    contact_id uuid NOT NULL,
    channel_session_id uuid NOT NULL,
    provider_conversation_id text NOT NULL,
    last_message_at timestamp with time zone,
    last_inbound_at timestamp with time zone,
    last_outbound_at timestamp with time zone,
    last_message_preview text,
    unread_count integer DEFAULT 0 NOT NULL,
    read_through bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT conversations_provider_conversation_id_check CHECK (((length(provider_conversation_id) >= 1) AND (length(provider_conversation_id) <= 255))),
    CONSTRAINT conversations_unread_count_check CHECK ((unread_count >= 0))
)
WITH (fillfactor='70');


--
-- Name: cron_rounds; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.cron_rounds (
    name text NOT NULL,
    last_round_at timestamp with time zone NOT NULL
);


--
-- Name: event_log; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.event_log (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    seq bigint NOT NULL,
    event_type text NOT NULL,
    entity_kind text NOT NULL,
    entity_id uuid NOT NULL,
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT event_log_entity_kind_check CHECK (((length(entity_kind) >= 1) AND (length(entity_kind) <= 50))),
    CONSTRAINT event_log_event_type_check CHECK (((length(event_type) >= 1) AND (length(event_type) <= 100)))
);


--
-- Name: event_log_seq_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.event_log ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.event_log_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: incoming_events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.incoming_events (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    event_id text NOT NULL,
    event_type text NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    payload text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    error_message text,
    received_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    processed_at timestamp with time zone,
    attempt_job bigint,
    attempt_started_at timestamp with time zone,
    body_emptied_at timestamp with time zone,
    CONSTRAINT incoming_events_attempts_check CHECK (((attempts >= 0) AND (attempts <= 3))),
    CONSTRAINT incoming_events_check CHECK (((status = 'pending'::text) = (processed_at IS NULL))),
    CONSTRAINT incoming_events_check1 CHECK (((attempt_job IS NULL) = (attempt_started_at IS NULL))),
    CONSTRAINT incoming_events_event_id_check CHECK (((length(event_id) >= 1) AND (length(event_id) <= 255))),
    CONSTRAINT incoming_events_event_type_check CHECK (((length(event_type) >= 1) AND (length(event_type) <= 255))),
    CONSTRAINT incoming_events_pending_has_body CHECK (((body_emptied_at IS NULL) OR ((status <> 'pending'::text) AND (payload = ''::text)))),
    CONSTRAINT incoming_events_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'processed'::text, 'failed'::text])))
)
WITH (fillfactor='80');


--
-- Name: intake_minutes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.intake_minutes (
    organization_id uuid,
    span integer NOT NULL,
    minute timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    bucket integer NOT NULL,
    answers integer NOT NULL,
    CONSTRAINT intake_minutes_answers_check CHECK ((answers > 0)),
    CONSTRAINT intake_minutes_bucket_check CHECK (((bucket >= 0) AND (bucket <= 100))),
    CONSTRAINT intake_minutes_outcome_check CHECK ((outcome = ANY (ARRAY['accepted'::text, 'processed'::text, 'ignored'::text, 'refused'::text, 'unavailable'::text, 'failed'::text]))),
    CONSTRAINT intake_minutes_span_check CHECK ((span = ANY (ARRAY[1, 5])))
)
WITH (fillfactor='60');


--
-- Name: lead_form_rates; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.lead_form_rates (
    key bytea NOT NULL,
    hits integer NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    CONSTRAINT lead_form_rates_hits_check CHECK ((hits >= 1)),
    CONSTRAINT lead_form_rates_key_check CHECK ((length(key) = 32))
);


--
-- Name: lead_form_submissions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.lead_form_submissions (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    form_id uuid NOT NULL,
    webhook_event_id uuid NOT NULL,
    lead_id uuid NOT NULL,
    idempotency_key text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT lead_form_submissions_idempotency_key_check CHECK (((length(idempotency_key) >= 1) AND (length(idempotency_key) <= 255)))
);


--
-- Name: lead_forms; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.lead_forms (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    path_token text NOT NULL,
    name text NOT NULL,
    intro text DEFAULT ''::text NOT NULL,
    success_url text,
    archived_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT lead_forms_intro_check CHECK ((length(intro) <= 1000)),
    CONSTRAINT lead_forms_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
    CONSTRAINT lead_forms_path_token_check CHECK (((length(path_token) >= 8) AND (length(path_token) <= 255))),
    CONSTRAINT lead_forms_success_url_check CHECK (((length(success_url) <= 2000) AND (success_url ~ '^https?://[!-~]+$'::text)))
);


--
-- Name: messages; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.messages (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    contact_id uuid NOT NULL,
    channel_session_id uuid NOT NULL,
    direction text NOT NULL,
    external_id text NOT NULL,
    type text NOT NULL,
    body text,
    attachments jsonb DEFAULT '[]'::jsonb NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    status text NOT NULL,
    status_at timestamp with time zone,
    error jsonb,
    sent_at timestamp with time zone NOT NULL,
    edited_at timestamp with time zone,
    deleted_at timestamp with time zone,
    arrival bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT messages_direction_check CHECK ((direction = ANY (ARRAY['inbound'::text, 'outbound'::text]))),
    CONSTRAINT messages_external_id_check CHECK (((length(external_id) >= 1) AND (length(external_id) <= 255))),
    CONSTRAINT messages_status_check CHECK ((status = ANY (ARRAY['received'::text, 'sent'::text, 'delivered'::text, 'read'::text, 'failed'::text]))),
    CONSTRAINT messages_type_check CHECK (((length(type) >= 1) AND (length(type) <= 50)))
);


--
-- Name: messages_arrival_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.messages ALTER COLUMN arrival ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.messages_arrival_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: notices; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.notices (
    id uuid NOT NULL,
    organization_id uuid,
    kind text NOT NULL,
    severity text DEFAULT 'warning'::text NOT NULL,
    title text NOT NULL,
    body text DEFAULT ''::text NOT NULL,
    resource_kind text,
    resource_id text,
    status text DEFAULT 'open'::text NOT NULL,
    occurrences integer DEFAULT 1 NOT NULL,
    first_at timestamp with time zone DEFAULT now() NOT NULL,
    last_at timestamp with time zone DEFAULT now() NOT NULL,
    resolved_at timestamp with time zone,
    CONSTRAINT notices_check CHECK (((status = 'resolved'::text) = (resolved_at IS NOT NULL))),
    CONSTRAINT notices_kind_check CHECK (((length(kind) >= 1) AND (length(kind) <= 50))),
    CONSTRAINT notices_occurrences_check CHECK ((occurrences >= 1)),
    CONSTRAINT notices_severity_check CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'error'::text]))),
    CONSTRAINT notices_status_check CHECK ((status = ANY (ARRAY['open'::text, 'ack'::text, 'resolved'::text]))),
    CONSTRAINT notices_title_check CHECK (((length(title) >= 1) AND (length(title) <= 255)))
);


--
-- Name: organizations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.organizations (
    id uuid NOT NULL,
    name text NOT NULL,
    time_zone text DEFAULT 'America/Sao_Paulo'::text NOT NULL,
    locale text DEFAULT 'pt_BR'::text NOT NULL,
    agents_see_unowned boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT organizations_locale_check CHECK ((locale = ANY (ARRAY['pt_BR'::text, 'en'::text]))),
    CONSTRAINT organizations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);


--
-- Name: procrastinate_events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.procrastinate_events (
    id bigint NOT NULL,
    job_id bigint NOT NULL,
    type public.procrastinate_job_event_type,
    at timestamp with time zone DEFAULT now()
)
WITH (autovacuum_vacuum_scale_factor='0.02');


--
-- Name: procrastinate_events_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.procrastinate_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: procrastinate_events_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.procrastinate_events_id_seq OWNED BY public.procrastinate_events.id;


--
-- Name: procrastinate_jobs_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.procrastinate_jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: procrastinate_jobs_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.procrastinate_jobs_id_seq OWNED BY public.procrastinate_jobs.id;


--
-- Name: procrastinate_periodic_defers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.procrastinate_periodic_defers (
    id bigint NOT NULL,
    task_name character varying(128) NOT NULL,
    defer_timestamp bigint,
    job_id bigint,
    periodic_id character varying(128) DEFAULT ''::character varying NOT NULL
);


--
-- Name: procrastinate_periodic_defers_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.procrastinate_periodic_defers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: procrastinate_periodic_defers_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.procrastinate_periodic_defers_id_seq OWNED BY public.procrastinate_periodic_defers.id;


--
-- Name: procrastinate_workers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.procrastinate_workers (
    id bigint NOT NULL,
    last_heartbeat timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: procrastinate_workers_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.procrastinate_workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.procrastinate_workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: push_deliveries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.push_deliveries (
    organization_id uuid NOT NULL,
    event_id uuid NOT NULL,
    subscription_id uuid NOT NULL,
    sent_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: push_subscriptions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.push_subscriptions (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    endpoint text NOT NULL,
    p256dh text NOT NULL,
    auth text NOT NULL,
    user_agent text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT push_subscriptions_auth_check CHECK (((length(auth) >= 20) AND (length(auth) <= 30))),
    CONSTRAINT push_subscriptions_endpoint_check CHECK (((length(endpoint) >= 10) AND (length(endpoint) <= 2048))),
    CONSTRAINT push_subscriptions_p256dh_check CHECK (((length(p256dh) >= 80) AND (length(p256dh) <= 100))),
    CONSTRAINT push_subscriptions_user_agent_check CHECK ((length(user_agent) <= 255))
);


--
-- Name: queue_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.queue_migrations (
    name text NOT NULL
);


--
-- Name: schema_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schema_migrations (
    version character varying NOT NULL
);


--
-- Name: sign_in_throttles; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sign_in_throttles (
    key bytea NOT NULL,
    failures integer NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    CONSTRAINT sign_in_throttles_failures_check CHECK ((failures >= 0)),
    CONSTRAINT sign_in_throttles_key_check CHECK ((length(key) = 32))
);


--
-- Name: user_organizations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.user_organizations (
    organization_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    revoked_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT user_organizations_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'agent'::text, 'manager'::text, 'admin'::text])))
);


--
-- Name: users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.users (
    id uuid NOT NULL,
    email text NOT NULL,
    name text NOT NULL,
    is_operator boolean DEFAULT false NOT NULL,
    password_hash text,
    locale text,
    sessions_epoch integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT users_email_check CHECK (((length(email) >= 3) AND (length(email) <= 255))),
    CONSTRAINT users_locale_check CHECK ((locale = ANY (ARRAY['pt_BR'::text, 'en'::text]))),
    CONSTRAINT users_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);


--
-- Name: webhook_events_log; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhook_events_log (
    id uuid NOT NULL,
    organization_id uuid,
    channel_session_id uuid,
    provider text NOT NULL,
    headers jsonb DEFAULT '{}'::jsonb NOT NULL,
    raw_body bytea NOT NULL,
    status text DEFAULT 'received'::text NOT NULL,
    valid_signature boolean,
    attempts integer DEFAULT 0 NOT NULL,
    last_attempt_at timestamp with time zone,
    error_message text,
    event_type text,
    external_id text,
    received_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    processed_at timestamp with time zone,
    body_emptied_at timestamp with time zone,
    CONSTRAINT webhook_events_log_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT webhook_events_log_check CHECK (((status = 'received'::text) = (processed_at IS NULL))),
    CONSTRAINT webhook_events_log_pending_has_body CHECK (((body_emptied_at IS NULL) OR ((status <> 'received'::text) AND (raw_body = '\x'::bytea)))),
    CONSTRAINT webhook_events_log_provider_check CHECK ((provider = ANY (ARRAY['zernio'::text, 'zernio_social'::text, 'lead_form'::text, 'meta_cloud'::text, 'standard_webhooks'::text]))),
    CONSTRAINT webhook_events_log_status_check CHECK ((status = ANY (ARRAY['received'::text, 'processed'::text, 'error'::text, 'dead'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02');


--
-- Name: procrastinate_events id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.procrastinate_events ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_events_id_seq'::regclass);


--
-- Name: procrastinate_jobs id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.procrastinate_jobs ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_jobs_id_seq'::regclass);


--
-- Name: procrastinate_periodic_defers id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.procrastinate_periodic_defers ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_periodic_defers_id_seq'::regclass);


--
-- Name: api_audit_log api_audit_log_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_audit_log
    ADD CONSTRAINT api_audit_log_pkey PRIMARY KEY (id);


--
-- Name: automation_rodizio_atribuicoes automation_rodizio_atribuicoe_organization_id_rule_id_event_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rodizio_atribuicoes
    ADD CONSTRAINT automation_rodizio_atribuicoe_organization_id_rule_id_event_key UNIQUE (organization_id, rule_id, event_id);


--
-- Name: automation_rodizio_atribuicoes automation_rodizio_atribuicoes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rodizio_atribuicoes
    ADD CONSTRAINT automation_rodizio_atribuicoes_pkey PRIMARY KEY (organization_id, rule_id, seq);


--
-- Name: automation_rule_runs automation_rule_runs_organization_id_rule_id_event_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rule_runs
    ADD CONSTRAINT automation_rule_runs_organization_id_rule_id_event_id_key UNIQUE (organization_id, rule_id, event_id);


--
-- Name: automation_rule_runs automation_rule_runs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rule_runs
    ADD CONSTRAINT automation_rule_runs_pkey PRIMARY KEY (organization_id, id);


--
-- Name: automation_rules automation_rules_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rules
    ADD CONSTRAINT automation_rules_pkey PRIMARY KEY (organization_id, id);


--
-- Name: browser_sessions browser_sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.browser_sessions
    ADD CONSTRAINT browser_sessions_pkey PRIMARY KEY (id_hash);


--
-- Name: channel_sessions channel_sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.channel_sessions
    ADD CONSTRAINT channel_sessions_pkey PRIMARY KEY (organization_id, id);


--
-- Name: channel_templates channel_templates_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.channel_templates
    ADD CONSTRAINT channel_templates_pkey PRIMARY KEY (organization_id, channel_session_id, template_id);


--
-- Name: contact_identities contact_identities_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.contact_identities
    ADD CONSTRAINT contact_identities_pkey PRIMARY KEY (organization_id, kind, value);


--
-- Name: contact_opt_outs contact_opt_outs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.contact_opt_outs
    ADD CONSTRAINT contact_opt_outs_pkey PRIMARY KEY (organization_id, external_id);


--
-- Name: contact_suppressions contact_suppressions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.contact_suppressions
    ADD CONSTRAINT contact_suppressions_pkey PRIMARY KEY (organization_id, digest);


--
-- Name: contacts contacts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.contacts
    ADD CONSTRAINT contacts_pkey PRIMARY KEY (organization_id, id);


--
-- Name: conversations conversations_organization_id_channel_session_id_provider_c_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_organization_id_channel_session_id_provider_c_key UNIQUE (organization_id, channel_session_id, provider_conversation_id);


--
-- Name: conversations conversations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_pkey PRIMARY KEY (organization_id, id);


--
-- Name: crm_leads crm_leads_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.crm_leads
    ADD CONSTRAINT crm_leads_pkey PRIMARY KEY (organization_id, id);


--
-- Name: cron_rounds cron_rounds_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.cron_rounds
    ADD CONSTRAINT cron_rounds_pkey PRIMARY KEY (name);


--
-- Name: event_log event_log_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event_log
    ADD CONSTRAINT event_log_pkey PRIMARY KEY (organization_id, id);


--
-- Name: incoming_events incoming_events_once; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.incoming_events
    ADD CONSTRAINT incoming_events_once UNIQUE (event_id);


--
-- Name: incoming_events incoming_events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.incoming_events
    ADD CONSTRAINT incoming_events_pkey PRIMARY KEY (id);


--
-- Name: intake_minutes intake_minutes_once; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.intake_minutes
    ADD CONSTRAINT intake_minutes_once UNIQUE NULLS NOT DISTINCT (organization_id, span, minute, outcome, bucket);


--
-- Name: lead_form_rates lead_form_rates_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.lead_form_rates
    ADD CONSTRAINT lead_form_rates_pkey PRIMARY KEY (key);


--
-- Name: lead_form_submissions lead_form_submissions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.lead_form_submissions
    ADD CONSTRAINT lead_form_submissions_pkey PRIMARY KEY (organization_id, id);


--
-- Name: lead_forms lead_forms_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.lead_forms
    ADD CONSTRAINT lead_forms_pkey PRIMARY KEY (organization_id, id);


--
-- Name: messages messages_organization_id_external_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_organization_id_external_id_key UNIQUE (organization_id, external_id);


--
-- Name: messages messages_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (organization_id, id);


--
-- Name: notices notices_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.notices
    ADD CONSTRAINT notices_pkey PRIMARY KEY (id);


--
-- Name: organizations organizations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.organizations
    ADD CONSTRAINT organizations_pkey PRIMARY KEY (id);


--
-- Name: procrastinate_events procrastinate_events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.procrastinate_events
    ADD CONSTRAINT procrastinate_events_pkey PRIMARY KEY (id);


--
-- Name: procrastinate_jobs procrastinate_jobs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_pkey PRIMARY KEY (id);


--
-- Name: procrastinate_periodic_defers procrastinate_periodic_defers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_pkey PRIMARY KEY (id);


--
-- Name: procrastinate_periodic_defers procrastinate_periodic_defers_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_unique UNIQUE (task_name, periodic_id, defer_timestamp);


--
-- Name: procrastinate_workers procrastinate_workers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.procrastinate_workers
    ADD CONSTRAINT procrastinate_workers_pkey PRIMARY KEY (id);


--
-- Name: push_deliveries push_deliveries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.push_deliveries
    ADD CONSTRAINT push_deliveries_pkey PRIMARY KEY (organization_id, event_id, subscription_id);


--
-- Name: push_subscriptions push_subscriptions_organization_id_endpoint_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.push_subscriptions
    ADD CONSTRAINT push_subscriptions_organization_id_endpoint_key UNIQUE (organization_id, endpoint);


--
-- Name: push_subscriptions push_subscriptions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.push_subscriptions
    ADD CONSTRAINT push_subscriptions_pkey PRIMARY KEY (organization_id, id);


--
-- Name: queue_migrations queue_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.queue_migrations
    ADD CONSTRAINT queue_migrations_pkey PRIMARY KEY (name);


--
-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);


--
-- Name: sign_in_throttles sign_in_throttles_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sign_in_throttles
    ADD CONSTRAINT sign_in_throttles_pkey PRIMARY KEY (key);


--
-- Name: user_organizations user_organizations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_organizations
    ADD CONSTRAINT user_organizations_pkey PRIMARY KEY (organization_id, user_id);


--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);


--
-- Name: webhook_events_log webhook_events_log_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhook_events_log
    ADD CONSTRAINT webhook_events_log_pkey PRIMARY KEY (id);


--
-- Name: api_audit_log_recent; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX api_audit_log_recent ON public.api_audit_log USING btree (organization_id, created_at DESC, id);


--
-- Name: automation_rodizio_atribuicoes_event; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX automation_rodizio_atribuicoes_event ON public.automation_rodizio_atribuicoes USING btree (organization_id, event_id);


--
-- Name: automation_rodizio_atribuicoes_lead; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX automation_rodizio_atribuicoes_lead ON public.automation_rodizio_atribuicoes USING btree (organization_id, lead_id);


--
-- Name: automation_rodizio_atribuicoes_member; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX automation_rodizio_atribuicoes_member ON public.automation_rodizio_atribuicoes USING btree (organization_id, rule_id, user_id, created_at);


--
-- Name: automation_rule_runs_event; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX automation_rule_runs_event ON public.automation_rule_runs USING btree (organization_id, event_id);


--
-- Name: automation_rule_runs_lead; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX automation_rule_runs_lead ON public.automation_rule_runs USING btree (organization_id, lead_id, created_at DESC);


--
-- Name: automation_rule_runs_recent; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX automation_rule_runs_recent ON public.automation_rule_runs USING btree (organization_id, rule_id, created_at DESC, id);


--
-- Name: automation_rules_live; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX automation_rules_live ON public.automation_rules USING btree (organization_id, trigger_event) WHERE (is_active AND (deleted_at IS NULL));


--
-- Name: browser_sessions_expired; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX browser_sessions_expired ON public.browser_sessions USING btree (expires_at);


--
-- Name: channel_sessions_account; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX channel_sessions_account ON public.channel_sessions USING btree (provider, account_id) WHERE (archived_at IS NULL);


--
-- Name: channel_sessions_phone; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX channel_sessions_phone ON public.channel_sessions USING btree (provider, phone_number) WHERE ((archived_at IS NULL) AND (phone_number IS NOT NULL));


--
-- Name: channel_sessions_profile; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX channel_sessions_profile ON public.channel_sessions USING btree (provider, provider_profile_id) WHERE ((archived_at IS NULL) AND (provider_profile_id IS NOT NULL));


--
-- Name: channel_sessions_token; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX channel_sessions_token ON public.channel_sessions USING btree (webhook_path_token);


--
-- Name: contact_identities_contact; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX contact_identities_contact ON public.contact_identities USING btree (organization_id, contact_id);


--
-- Name: contact_opt_outs_contact; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX contact_opt_outs_contact ON public.contact_opt_outs USING btree (organization_id, contact_id);


--
-- Name: contacts_grams; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX contacts_grams ON public.contacts USING gin (public.fn_grams(organization_id, VARIADIC ARRAY[name, username, email, phone_number])) WITH (gin_pending_list_limit='1024');
ALTER INDEX public.contacts_grams ALTER COLUMN 1 SET STATISTICS 0;


--
-- Name: contacts_phone; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX contacts_phone ON public.contacts USING btree (organization_id, phone_number) WHERE (phone_number IS NOT NULL);


--
-- Name: conversations_contact; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX conversations_contact ON public.conversations USING btree (organization_id, contact_id);


--
-- Name: conversations_recent; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX conversations_recent ON public.conversations USING btree (organization_id, last_message_at DESC NULLS LAST, id);


--
-- Name: conversations_unread; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX conversations_unread ON public.conversations USING btree (organization_id, last_message_at DESC NULLS LAST, id) WHERE (unread_count > 0);


--
-- Name: crm_leads_contact; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX crm_leads_contact ON public.crm_leads USING btree (organization_id, contact_id, created_at DESC, id);


--
-- Name: crm_leads_grams; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX crm_leads_grams ON public.crm_leads USING gin (public.fn_grams(organization_id, VARIADIC ARRAY[title])) WITH (gin_pending_list_limit='1024') WHERE (is_titled OR (source <> 'whatsapp'::text));
ALTER INDEX public.crm_leads_grams ALTER COLUMN 1 SET STATISTICS 0;


--
-- Name: crm_leads_owner; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX crm_leads_owner ON public.crm_leads USING btree (organization_id, owner_user_id, created_at);


--
-- Name: crm_leads_recent; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX crm_leads_recent ON public.crm_leads USING btree (organization_id, created_at DESC, id);


--
-- Name: crm_leads_stage; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX crm_leads_stage ON public.crm_leads USING btree (organization_id, stage, created_at DESC, id) WHERE (status = 'open'::text);


--
-- Name: crm_leads_unowned; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX crm_leads_unowned ON public.crm_leads USING btree (organization_id, created_at, id) WHERE ((owner_user_id IS NULL) AND (status = 'open'::text));


--
-- Name: event_log_entity; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX event_log_entity ON public.event_log USING btree (organization_id, entity_kind, entity_id, seq);


--
-- Name: event_log_once_per_message; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX event_log_once_per_message ON public.event_log USING btree (organization_id, entity_id, event_type) WHERE ((entity_kind = 'message'::text) AND (event_type = ANY (ARRAY['message.received'::text, 'ai_agent.dispatch_requested'::text])));


--
-- Name: event_log_seq; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX event_log_seq ON public.event_log USING btree (organization_id, seq);


--
-- Name: idx_procrastinate_jobs_worker_not_null; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idx_procrastinate_jobs_worker_not_null ON public.procrastinate_jobs USING btree (worker_id) WHERE ((worker_id IS NOT NULL) AND (status = 'doing'::public.procrastinate_job_status));


--
-- Name: idx_procrastinate_workers_last_heartbeat; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idx_procrastinate_workers_last_heartbeat ON public.procrastinate_workers USING btree (last_heartbeat);


--
-- Name: incoming_events_failed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX incoming_events_failed ON public.incoming_events USING btree (id) WHERE (status = 'failed'::text);


--
-- Name: incoming_events_kept; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX incoming_events_kept ON public.incoming_events USING btree (processed_at) WHERE ((processed_at IS NOT NULL) AND (body_emptied_at IS NULL));


--
-- Name: incoming_events_pending; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX incoming_events_pending ON public.incoming_events USING btree (received_at) WHERE (status = 'pending'::text);


--
-- Name: incoming_events_recent; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX incoming_events_recent ON public.incoming_events USING btree (received_at DESC, id DESC);


--
-- Name: intake_minutes_old; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX intake_minutes_old ON public.intake_minutes USING btree (span, minute);


--
-- Name: lead_form_rates_ended; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX lead_form_rates_ended ON public.lead_form_rates USING btree (ends_at);


--
-- Name: lead_form_submissions_lead; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX lead_form_submissions_lead ON public.lead_form_submissions USING btree (organization_id, lead_id);


--
-- Name: lead_form_submissions_once; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX lead_form_submissions_once ON public.lead_form_submissions USING btree (organization_id, form_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);


--
-- Name: lead_forms_token; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX lead_forms_token ON public.lead_forms USING btree (path_token);


--
-- Name: messages_arrival; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX messages_arrival ON public.messages USING btree (organization_id, conversation_id, arrival) WHERE (direction = 'inbound'::text);


--
-- Name: messages_thread; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX messages_thread ON public.messages USING btree (organization_id, conversation_id, sent_at, arrival);


--
-- Name: notices_one_live; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX notices_one_live ON public.notices USING btree (organization_id, title) NULLS NOT DISTINCT WHERE (status = ANY (ARRAY['open'::text, 'ack'::text]));


--
-- Name: notices_recent; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX notices_recent ON public.notices USING btree (organization_id, last_at DESC, id);


--
-- Name: procrastinate_events_job_id_fkey_v1; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX procrastinate_events_job_id_fkey_v1 ON public.procrastinate_events USING btree (job_id);


--
-- Name: procrastinate_jobs_id_lock_idx_v1; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX procrastinate_jobs_id_lock_idx_v1 ON public.procrastinate_jobs USING btree (id, lock) WHERE (status = ANY (ARRAY['todo'::public.procrastinate_job_status, 'doing'::public.procrastinate_job_status]));


--
-- Name: procrastinate_jobs_lock_idx_v1; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX procrastinate_jobs_lock_idx_v1 ON public.procrastinate_jobs USING btree (lock) WHERE (status = 'doing'::public.procrastinate_job_status);


--
-- Name: procrastinate_jobs_priority_idx_v1; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX procrastinate_jobs_priority_idx_v1 ON public.procrastinate_jobs USING btree (priority DESC, id) WHERE (status = 'todo'::public.procrastinate_job_status);


--
-- Name: procrastinate_jobs_queue_name_idx_v1; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX procrastinate_jobs_queue_name_idx_v1 ON public.procrastinate_jobs USING btree (queue_name);


--
-- Name: procrastinate_jobs_queueing_lock_idx_v1; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX procrastinate_jobs_queueing_lock_idx_v1 ON public.procrastinate_jobs USING btree (queueing_lock) WHERE (status = 'todo'::public.procrastinate_job_status);


--
-- Name: procrastinate_periodic_defers_job_id_fkey_v1; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX procrastinate_periodic_defers_job_id_fkey_v1 ON public.procrastinate_periodic_defers USING btree (job_id);


--
-- Name: push_deliveries_old; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX push_deliveries_old ON public.push_deliveries USING btree (sent_at);


--
-- Name: push_deliveries_subscription; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX push_deliveries_subscription ON public.push_deliveries USING btree (organization_id, subscription_id);


--
-- Name: push_subscriptions_endpoint; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX push_subscriptions_endpoint ON public.push_subscriptions USING btree (endpoint);


--
-- Name: push_subscriptions_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX push_subscriptions_user ON public.push_subscriptions USING btree (organization_id, user_id);


--
-- Name: sign_in_throttles_ended; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sign_in_throttles_ended ON public.sign_in_throttles USING btree (ends_at);


--
-- Name: user_organizations_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX user_organizations_user ON public.user_organizations USING btree (user_id);


--
-- Name: users_email; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX users_email ON public.users USING btree (lower(email));


--
-- Name: webhook_events_log_browse; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhook_events_log_browse ON public.webhook_events_log USING btree (organization_id, status, id) WHERE (status <> 'received'::text);


--
-- Name: webhook_events_log_kept; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhook_events_log_kept ON public.webhook_events_log USING btree (processed_at) WHERE ((processed_at IS NOT NULL) AND (body_emptied_at IS NULL));


--
-- Name: webhook_events_log_named; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhook_events_log_named ON public.webhook_events_log USING hash (external_id) WHERE (external_id IS NOT NULL);


--
-- Name: webhook_events_log_pending; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhook_events_log_pending ON public.webhook_events_log USING btree (received_at) WHERE (processed_at IS NULL);


--
-- Name: procrastinate_jobs procrastinate_jobs_notify_queue_job_aborted_v1; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER procrastinate_jobs_notify_queue_job_aborted_v1 AFTER UPDATE OF abort_requested ON public.procrastinate_jobs FOR EACH ROW WHEN (((old.abort_requested = false) AND (new.abort_requested = true) AND (new.status = 'doing'::public.procrastinate_job_status))) EXECUTE FUNCTION public.procrastinate_notify_queue_abort_job_v1();


--
-- Name: procrastinate_jobs procrastinate_jobs_notify_queue_job_inserted_v1; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 AFTER INSERT ON public.procrastinate_jobs FOR EACH ROW WHEN (((new.status = 'todo'::public.procrastinate_job_status) AND ((new.queue_name)::text <> ALL ((ARRAY['events'::character varying, 'push'::character varying])::text[])))) EXECUTE FUNCTION public.procrastinate_notify_queue_job_inserted_v1();


--
-- Name: procrastinate_jobs procrastinate_trigger_abort_requested_events_v1; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER procrastinate_trigger_abort_requested_events_v1 AFTER UPDATE OF abort_requested ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.abort_requested = true)) EXECUTE FUNCTION public.procrastinate_trigger_abort_requested_events_procedure_v1();

ALTER TABLE public.procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_abort_requested_events_v1;


--
-- Name: procrastinate_jobs procrastinate_trigger_delete_jobs_v1; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER procrastinate_trigger_delete_jobs_v1 BEFORE DELETE ON public.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION public.procrastinate_unlink_periodic_defers_v1();


--
-- Name: procrastinate_jobs procrastinate_trigger_scheduled_events_v1; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER procrastinate_trigger_scheduled_events_v1 AFTER INSERT OR UPDATE ON public.procrastinate_jobs FOR EACH ROW WHEN (((new.scheduled_at IS NOT NULL) AND (new.status = 'todo'::public.procrastinate_job_status))) EXECUTE FUNCTION public.procrastinate_trigger_function_scheduled_events_v1();

ALTER TABLE public.procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_scheduled_events_v1;


--
-- Name: procrastinate_jobs procrastinate_trigger_status_events_insert_v1; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER procrastinate_trigger_status_events_insert_v1 AFTER INSERT ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.status = 'todo'::public.procrastinate_job_status)) EXECUTE FUNCTION public.procrastinate_trigger_function_status_events_insert_v1();

ALTER TABLE public.procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_status_events_insert_v1;


--
-- Name: procrastinate_jobs procrastinate_trigger_status_events_update_v1; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER procrastinate_trigger_status_events_update_v1 AFTER UPDATE OF status ON public.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION public.procrastinate_trigger_function_status_events_update_v1();

ALTER TABLE public.procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_status_events_update_v1;


--
-- Name: automation_rules trg_bump_rule_version; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trg_bump_rule_version BEFORE UPDATE ON public.automation_rules FOR EACH ROW EXECUTE FUNCTION public.fn_bump_rule_version();


--
-- Name: crm_leads trg_emit_event_on_lead_change; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trg_emit_event_on_lead_change AFTER INSERT OR UPDATE OF owner_user_id, stage ON public.crm_leads FOR EACH ROW EXECUTE FUNCTION public.fn_emit_event_on_lead_change();


--
-- Name: event_log trg_enqueue_event; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER trg_enqueue_event AFTER INSERT ON public.event_log DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.event_type <> 'ai_agent.dispatch_requested'::text)) EXECUTE FUNCTION public.fn_enqueue_event();


--
-- Name: contact_identities trg_honour_suppression; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trg_honour_suppression AFTER INSERT ON public.contact_identities FOR EACH ROW EXECUTE FUNCTION public.fn_honour_suppression();


--
-- Name: contacts trg_honour_suppression; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trg_honour_suppression AFTER INSERT OR UPDATE OF phone_number ON public.contacts FOR EACH ROW WHEN (((new.phone_number IS NOT NULL) AND (NOT new.is_blocked))) EXECUTE FUNCTION public.fn_honour_suppression();


--
-- Name: crm_leads trg_mark_titled; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trg_mark_titled BEFORE UPDATE OF title ON public.crm_leads FOR EACH ROW WHEN (((new.title IS DISTINCT FROM old.title) AND (NOT new.is_titled))) EXECUTE FUNCTION public.fn_mark_titled();


--
-- Name: channel_sessions trg_notify_channel_session; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trg_notify_channel_session AFTER INSERT OR UPDATE ON public.channel_sessions FOR EACH ROW EXECUTE FUNCTION public.fn_notify_channel_session();


--
-- Name: notices trg_notify_notice; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trg_notify_notice AFTER INSERT OR UPDATE OF status ON public.notices FOR EACH ROW EXECUTE FUNCTION public.fn_notify_notice();


--
-- Name: automation_rodizio_atribuicoes trg_refuse_change; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trg_refuse_change BEFORE DELETE OR UPDATE ON public.automation_rodizio_atribuicoes FOR EACH ROW EXECUTE FUNCTION public.fn_refuse_change();


--
-- Name: automation_rodizio_atribuicoes trg_refuse_truncate; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trg_refuse_truncate BEFORE TRUNCATE ON public.automation_rodizio_atribuicoes FOR EACH STATEMENT EXECUTE FUNCTION public.fn_refuse_change();


--
-- Name: crm_leads trg_stamp_lead_owner; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER trg_stamp_lead_owner BEFORE INSERT OR UPDATE OF owner_user_id ON public.crm_leads FOR EACH ROW WHEN (((new.owner_user_id IS NOT NULL) OR (new.assigned_at IS NOT NULL))) EXECUTE FUNCTION public.fn_stamp_lead_owner();


--
-- Name: automation_rodizio_atribuicoes automation_rodizio_atribuicoes_organization_id_event_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rodizio_atribuicoes
    ADD CONSTRAINT automation_rodizio_atribuicoes_organization_id_event_id_fkey FOREIGN KEY (organization_id, event_id) REFERENCES public.event_log(organization_id, id);


--
-- Name: automation_rodizio_atribuicoes automation_rodizio_atribuicoes_organization_id_lead_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rodizio_atribuicoes
    ADD CONSTRAINT automation_rodizio_atribuicoes_organization_id_lead_id_fkey FOREIGN KEY (organization_id, lead_id) REFERENCES public.crm_leads(organization_id, id);


--
-- Name: automation_rodizio_atribuicoes automation_rodizio_atribuicoes_organization_id_rule_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rodizio_atribuicoes
    ADD CONSTRAINT automation_rodizio_atribuicoes_organization_id_rule_id_fkey FOREIGN KEY (organization_id, rule_id) REFERENCES public.automation_rules(organization_id, id);


--
-- Name: automation_rodizio_atribuicoes automation_rodizio_atribuicoes_organization_id_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rodizio_atribuicoes
    ADD CONSTRAINT automation_rodizio_atribuicoes_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES public.user_organizations(organization_id, user_id);


--
-- Name: automation_rule_runs automation_rule_runs_organization_id_event_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rule_runs
    ADD CONSTRAINT automation_rule_runs_organization_id_event_id_fkey FOREIGN KEY (organization_id, event_id) REFERENCES public.event_log(organization_id, id);


--
-- Name: automation_rule_runs automation_rule_runs_organization_id_rule_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rule_runs
    ADD CONSTRAINT automation_rule_runs_organization_id_rule_id_fkey FOREIGN KEY (organization_id, rule_id) REFERENCES public.automation_rules(organization_id, id);


--
-- Name: automation_rules automation_rules_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automation_rules
    ADD CONSTRAINT automation_rules_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: channel_sessions channel_sessions_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.channel_sessions
    ADD CONSTRAINT channel_sessions_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: channel_templates channel_templates_organization_id_channel_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.channel_templates
    ADD CONSTRAINT channel_templates_organization_id_channel_session_id_fkey FOREIGN KEY (organization_id, channel_session_id) REFERENCES public.channel_sessions(organization_id, id);


--
-- Name: contact_identities contact_identities_organization_id_contact_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.contact_identities
    ADD CONSTRAINT contact_identities_organization_id_contact_id_fkey FOREIGN KEY (organization_id, contact_id) REFERENCES public.contacts(organization_id, id);


--
-- Name: contact_opt_outs contact_opt_outs_organization_id_contact_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.contact_opt_outs
    ADD CONSTRAINT contact_opt_outs_organization_id_contact_id_fkey FOREIGN KEY (organization_id, contact_id) REFERENCES public.contacts(organization_id, id);


--
-- Name: contact_suppressions contact_suppressions_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.contact_suppressions
    ADD CONSTRAINT contact_suppressions_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: contacts contacts_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.contacts
    ADD CONSTRAINT contacts_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: conversations conversations_organization_id_channel_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_organization_id_channel_session_id_fkey FOREIGN KEY (organization_id, channel_session_id) REFERENCES public.channel_sessions(organization_id, id);


--
-- Name: conversations conversations_organization_id_contact_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.conversations
    ADD CONSTRAINT conversations_organization_id_contact_id_fkey FOREIGN KEY (organization_id, contact_id) REFERENCES public.contacts(organization_id, id);


--
-- Name: crm_leads crm_leads_organization_id_contact_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.crm_leads
    ADD CONSTRAINT crm_leads_organization_id_contact_id_fkey FOREIGN KEY (organization_id, contact_id) REFERENCES public.contacts(organization_id, id);


--
-- Name: crm_leads crm_leads_organization_id_conversation_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.crm_leads
    ADD CONSTRAINT crm_leads_organization_id_conversation_id_fkey FOREIGN KEY (organization_id, conversation_id) REFERENCES public.conversations(organization_id, id);


--
-- Name: crm_leads crm_leads_organization_id_owner_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.crm_leads
    ADD CONSTRAINT crm_leads_organization_id_owner_user_id_fkey FOREIGN KEY (organization_id, owner_user_id) REFERENCES public.user_organizations(organization_id, user_id);


--
-- Name: event_log event_log_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event_log
    ADD CONSTRAINT event_log_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: lead_form_submissions lead_form_submissions_organization_id_form_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.lead_form_submissions
    ADD CONSTRAINT lead_form_submissions_organization_id_form_id_fkey FOREIGN KEY (organization_id, form_id) REFERENCES public.lead_forms(organization_id, id);


--
-- Name: lead_form_submissions lead_form_submissions_organization_id_lead_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.lead_form_submissions
    ADD CONSTRAINT lead_form_submissions_organization_id_lead_id_fkey FOREIGN KEY (organization_id, lead_id) REFERENCES public.crm_leads(organization_id, id);


--
-- Name: lead_forms lead_forms_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.lead_forms
    ADD CONSTRAINT lead_forms_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: messages messages_organization_id_channel_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_organization_id_channel_session_id_fkey FOREIGN KEY (organization_id, channel_session_id) REFERENCES public.channel_sessions(organization_id, id);


--
-- Name: messages messages_organization_id_contact_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_organization_id_contact_id_fkey FOREIGN KEY (organization_id, contact_id) REFERENCES public.contacts(organization_id, id);


--
-- Name: messages messages_organization_id_conversation_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_organization_id_conversation_id_fkey FOREIGN KEY (organization_id, conversation_id) REFERENCES public.conversations(organization_id, id);


--
-- Name: procrastinate_events procrastinate_events_job_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.procrastinate_events
    ADD CONSTRAINT procrastinate_events_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id) ON DELETE CASCADE;


--
-- Name: procrastinate_jobs procrastinate_jobs_worker_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES public.procrastinate_workers(id) ON DELETE SET NULL;


--
-- Name: procrastinate_periodic_defers procrastinate_periodic_defers_job_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id);


--
-- Name: push_deliveries push_deliveries_organization_id_subscription_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.push_deliveries
    ADD CONSTRAINT push_deliveries_organization_id_subscription_id_fkey FOREIGN KEY (organization_id, subscription_id) REFERENCES public.push_subscriptions(organization_id, id) ON DELETE CASCADE;


--
-- Name: push_subscriptions push_subscriptions_organization_id_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.push_subscriptions
    ADD CONSTRAINT push_subscriptions_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES public.user_organizations(organization_id, user_id);


--
-- Name: user_organizations user_organizations_organization_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_organizations
    ADD CONSTRAINT user_organizations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: user_organizations user_organizations_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_organizations
    ADD CONSTRAINT user_organizations_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: api_audit_log; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.api_audit_log ENABLE ROW LEVEL SECURITY;

--
-- Name: automation_rodizio_atribuicoes; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.automation_rodizio_atribuicoes ENABLE ROW LEVEL SECURITY;

--
-- Name: automation_rule_runs; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.automation_rule_runs ENABLE ROW LEVEL SECURITY;

--
-- Name: automation_rules; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.automation_rules ENABLE ROW LEVEL SECURITY;

--
-- Name: browser_sessions; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.browser_sessions ENABLE ROW LEVEL SECURITY;

--
-- Name: channel_sessions; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.channel_sessions ENABLE ROW LEVEL SECURITY;

--
-- Name: channel_templates; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.channel_templates ENABLE ROW LEVEL SECURITY;

--
-- Name: contact_identities; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.contact_identities ENABLE ROW LEVEL SECURITY;

--
-- Name: contact_opt_outs; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.contact_opt_outs ENABLE ROW LEVEL SECURITY;

--
-- Name: contact_suppressions; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.contact_suppressions ENABLE ROW LEVEL SECURITY;

--
-- Name: contacts; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.contacts ENABLE ROW LEVEL SECURITY;

--
-- Name: conversations; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.conversations ENABLE ROW LEVEL SECURITY;

--
-- Name: crm_leads; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.crm_leads ENABLE ROW LEVEL SECURITY;

--
-- Name: cron_rounds; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.cron_rounds ENABLE ROW LEVEL SECURITY;

--
-- Name: event_log; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.event_log ENABLE ROW LEVEL SECURITY;

--
-- Name: incoming_events; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.incoming_events ENABLE ROW LEVEL SECURITY;

--
-- Name: intake_minutes; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.intake_minutes ENABLE ROW LEVEL SECURITY;

--
-- Name: lead_form_rates; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.lead_form_rates ENABLE ROW LEVEL SECURITY;

--
-- Name: lead_form_submissions; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.lead_form_submissions ENABLE ROW LEVEL SECURITY;

--
-- Name: lead_forms; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.lead_forms ENABLE ROW LEVEL SECURITY;

--
-- Name: messages; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.messages ENABLE ROW LEVEL SECURITY;

--
-- Name: notices; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.notices ENABLE ROW LEVEL SECURITY;

--
-- Name: incoming_events operator; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY operator ON public.incoming_events FOR SELECT TO authenticated USING (( SELECT public.fn_is_operator() AS fn_is_operator));


--
-- Name: organizations; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.organizations ENABLE ROW LEVEL SECURITY;

--
-- Name: push_deliveries; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.push_deliveries ENABLE ROW LEVEL SECURITY;

--
-- Name: push_subscriptions; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.push_subscriptions ENABLE ROW LEVEL SECURITY;

--
-- Name: api_audit_log service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.api_audit_log TO service_role USING (true) WITH CHECK (true);


--
-- Name: automation_rodizio_atribuicoes service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.automation_rodizio_atribuicoes TO service_role USING (true) WITH CHECK (true);


--
-- Name: automation_rule_runs service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.automation_rule_runs TO service_role USING (true) WITH CHECK (true);


--
-- Name: automation_rules service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.automation_rules TO service_role USING (true) WITH CHECK (true);


--
-- Name: browser_sessions service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.browser_sessions TO service_role USING (true) WITH CHECK (true);


--
-- Name: channel_sessions service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.channel_sessions TO service_role USING (true) WITH CHECK (true);


--
-- Name: channel_templates service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.channel_templates TO service_role USING (true) WITH CHECK (true);


--
-- Name: contact_identities service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.contact_identities TO service_role USING (true) WITH CHECK (true);


--
-- Name: contact_opt_outs service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.contact_opt_outs TO service_role USING (true) WITH CHECK (true);


--
-- Name: contact_suppressions service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.contact_suppressions TO service_role USING (true) WITH CHECK (true);


--
-- Name: contacts service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.contacts TO service_role USING (true) WITH CHECK (true);


--
-- Name: conversations service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.conversations TO service_role USING (true) WITH CHECK (true);


--
-- Name: crm_leads service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.crm_leads TO service_role USING (true) WITH CHECK (true);


--
-- Name: cron_rounds service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.cron_rounds TO service_role USING (true) WITH CHECK (true);


--
-- Name: event_log service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.event_log TO service_role USING (true) WITH CHECK (true);


--
-- Name: incoming_events service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.incoming_events TO service_role USING (true) WITH CHECK (true);


--
-- Name: intake_minutes service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.intake_minutes TO service_role USING (true) WITH CHECK (true);


--
-- Name: lead_form_rates service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.lead_form_rates TO service_role USING (true) WITH CHECK (true);


--
-- Name: lead_form_submissions service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.lead_form_submissions TO service_role USING (true) WITH CHECK (true);


--
-- Name: lead_forms service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.lead_forms TO service_role USING (true) WITH CHECK (true);


--
-- Name: messages service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.messages TO service_role USING (true) WITH CHECK (true);


--
-- Name: notices service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.notices TO service_role USING (true) WITH CHECK (true);


--
-- Name: organizations service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.organizations TO service_role USING (true) WITH CHECK (true);


--
-- Name: push_deliveries service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.push_deliveries TO service_role USING (true) WITH CHECK (true);


--
-- Name: push_subscriptions service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.push_subscriptions TO service_role USING (true) WITH CHECK (true);


--
-- Name: sign_in_throttles service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.sign_in_throttles TO service_role USING (true) WITH CHECK (true);


--
-- Name: user_organizations service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.user_organizations TO service_role USING (true) WITH CHECK (true);


--
-- Name: users service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.users TO service_role USING (true) WITH CHECK (true);


--
-- Name: webhook_events_log service; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY service ON public.webhook_events_log TO service_role USING (true) WITH CHECK (true);


--
-- Name: sign_in_throttles; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.sign_in_throttles ENABLE ROW LEVEL SECURITY;

--
-- Name: api_audit_log tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.api_audit_log TO authenticated USING (((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)) OR ((organization_id IS NULL) AND ( SELECT public.fn_is_operator() AS fn_is_operator)))) WITH CHECK (((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)) OR ((organization_id IS NULL) AND ( SELECT public.fn_is_operator() AS fn_is_operator))));


--
-- Name: automation_rodizio_atribuicoes tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.automation_rodizio_atribuicoes TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: automation_rule_runs tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.automation_rule_runs TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: automation_rules tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.automation_rules TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: channel_sessions tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.channel_sessions TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: channel_templates tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.channel_templates TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: contact_identities tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.contact_identities TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: contact_opt_outs tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.contact_opt_outs TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: contacts tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.contacts TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: conversations tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.conversations TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: crm_leads tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.crm_leads TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: event_log tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.event_log TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: intake_minutes tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.intake_minutes FOR SELECT TO authenticated USING (((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)) OR ((organization_id IS NULL) AND ( SELECT public.fn_is_operator() AS fn_is_operator))));


--
-- Name: lead_form_submissions tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.lead_form_submissions TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: lead_forms tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.lead_forms TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: messages tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.messages TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: notices tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.notices TO authenticated USING (((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)) OR ((organization_id IS NULL) AND ( SELECT public.fn_is_operator() AS fn_is_operator)))) WITH CHECK (((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)) OR ((organization_id IS NULL) AND ( SELECT public.fn_is_operator() AS fn_is_operator))));


--
-- Name: organizations tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.organizations TO authenticated USING ((id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: push_deliveries tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.push_deliveries TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: push_subscriptions tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.push_subscriptions TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: user_organizations tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.user_organizations TO authenticated USING ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))) WITH CHECK ((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)));


--
-- Name: users tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.users TO authenticated USING ((EXISTS ( SELECT 1
   FROM public.user_organizations m
  WHERE ((m.user_id = users.id) AND (m.organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization))))));


--
-- Name: webhook_events_log tenant; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY tenant ON public.webhook_events_log TO authenticated USING (((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)) OR ((organization_id IS NULL) AND ( SELECT public.fn_is_operator() AS fn_is_operator)))) WITH CHECK (((organization_id = ( SELECT public.fn_current_organization() AS fn_current_organization)) OR ((organization_id IS NULL) AND ( SELECT public.fn_is_operator() AS fn_is_operator))));


--
-- Name: user_organizations; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.user_organizations ENABLE ROW LEVEL SECURITY;

--
-- Name: users; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.users ENABLE ROW LEVEL SECURITY;

--
-- Name: webhook_events_log; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.webhook_events_log ENABLE ROW LEVEL SECURITY;

--
-- PostgreSQL database dump complete
--



--
-- Dbmate schema migrations
--

INSERT INTO public.schema_migrations (version) VALUES
    ('20261201000001'),
    ('20261201000002'),
    ('20261201000003'),
    ('20261201000004'),
    ('20261201000005'),
    ('20261201000006'),
    ('20261201000007'),
    ('20261201000008'),
    ('20261201000009'),
    ('20261201000010'),
    ('20261201000011'),
    ('20261201000012');
