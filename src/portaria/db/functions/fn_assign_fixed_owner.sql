-- assign_owner to one fixed member: the owner only if they may have it now, and only if nobody else
-- took the lead since the event (spec 4). Returns what the rotation returns, without a position.
-- Lock order: membership, lead.
CREATE OR REPLACE FUNCTION fn_assign_fixed_owner(p_org uuid, p_rule uuid, p_lead uuid, p_event uuid, p_user uuid)
RETURNS jsonb
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
