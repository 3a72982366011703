-- One turn of a rule's rotation: lock, pick, history and owner in one transaction (spec 4, seed 003).
-- Called as one autocommit statement, by the service alone. Returns {status, user_id, nome, posicao}
-- with `assigned`, or {status, reason} with `skipped`: owner unchanged, no turn written.
-- Every lock is a statement of its own, before the one that reads what it protects: under READ COMMITTED
-- a statement's snapshot is older than the lock it waited for. Above it the snapshot is older still, so
-- the call is refused. Lock order: rule, memberships by user_id, lead.
CREATE OR REPLACE FUNCTION fn_automation_rodizio_atribuir(p_org uuid, p_rule uuid, p_lead uuid, p_event uuid)
RETURNS jsonb
LANGUAGE plpgsql
-- Plans are kept from the first turns on, when history is empty and reading all of it looks cheap.
SET enable_seqscan = off
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
