-- Hands open leads without an owner to a rule's rotation, oldest first, each with its own new event
-- (spec 4): those released by a member who left, and those that came while nobody was available.
-- p_leads null: all of them, up to p_limit. Handing the same lead over twice is harmless: the second
-- event finds an owner. Returns how many were handed over.
CREATE OR REPLACE FUNCTION fn_hand_over_leads(
    p_org uuid, p_rule uuid, p_actor text, p_leads uuid[], p_limit integer
) RETURNS integer
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
