-- What a rule's conditions may speak of, by field: the lead and its contact as they are now, and the
-- event's own values. The list of fields stands in automations/conditions.py too, and a test compares.
CREATE OR REPLACE FUNCTION fn_lead_facts(p_org uuid, p_lead uuid, p_payload jsonb) RETURNS jsonb
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
