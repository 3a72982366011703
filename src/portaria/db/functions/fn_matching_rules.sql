-- The rules that an event sets off, in the order in which they run: active ones of its organization, by
-- trigger_event and conditions (spec 4). A fact caused by a rule sets off none. A hand-over names its
-- rule, and no condition holds it back: a person asked for it.
CREATE OR REPLACE FUNCTION fn_matching_rules(p_org uuid, p_event uuid) RETURNS SETOF automation_rules
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
