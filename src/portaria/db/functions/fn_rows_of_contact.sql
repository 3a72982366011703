-- Everything of a contact's that facts, notices and the audit speak of, by the kind they call it.
CREATE OR REPLACE FUNCTION fn_rows_of_contact(p_org uuid, p_contact uuid)
RETURNS TABLE (kind text, id uuid)
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
