-- A member leaves: their open leads lose their owner, each with its lead.unassigned (spec 4). Called in
-- the transaction that revokes the membership, after it: whoever assigns holds that membership FOR SHARE
-- until commit, so this statement sees every lead they got. Returns how many were released.
CREATE OR REPLACE FUNCTION fn_release_leads(p_org uuid, p_user uuid, p_actor text) RETURNS integer
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
