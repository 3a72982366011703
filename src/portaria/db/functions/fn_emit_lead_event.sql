-- One fact about a lead into event_log. The payload names rows and holds no personal data, so that
-- nothing a person typed can keep a lead from being assigned. `portaria.cause`, set for the transaction
-- by whoever writes, says why: {"caused_by_rule": …} or {"actor": …}.
-- plpgsql, as everything on the way of a message: it keeps its plans, which language sql does not.
CREATE OR REPLACE FUNCTION fn_emit_lead_event(p_lead crm_leads, p_type text, p_more jsonb) RETURNS void
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
