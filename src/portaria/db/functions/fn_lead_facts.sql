-- What a rule's conditions may speak of, by field: the lead and its contact as they are now, and the
-- event's own values. The list of fields stands in automations/conditions.py too, and a test compares.
CREATE OR REPLACE FUNCTION fn_lead_facts(p_org uuid, p_lead uuid, p_payload jsonb) RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    SELECT jsonb_build_object(
        'lead.title', l.title, 'lead.source', l.source, 'lead.stage', l.stage, 'lead.status', l.status,
        'lead.tags', to_jsonb(l.tags), 'lead.owner_user_id', l.owner_user_id,
        'contact.name', c.name, 'contact.phone_number', c.phone_number, 'contact.email', c.email,
        'message.text', p_payload -> 'text', 'message.type', p_payload -> 'type',
        'event.from', p_payload -> 'from', 'event.to', p_payload -> 'to'
    )
    FROM (VALUES (p_org)) AS o (id)
    LEFT JOIN crm_leads l ON l.organization_id = o.id AND l.id = p_lead
    LEFT JOIN contacts c ON c.organization_id = o.id
        AND c.id = coalesce(l.contact_id, (p_payload ->> 'contact_id')::uuid)
$$;
