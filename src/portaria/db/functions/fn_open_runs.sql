-- One run per rule and event (its unique key): those begun here, and those that an earlier try left
-- unfinished, in the order of their rules; `next` is the number of the first action without a result. A
-- hand-over asks for the rotation alone. In PL/pgSQL, which keeps the plan of every event's statement.
CREATE OR REPLACE FUNCTION fn_open_runs(p_org uuid, p_event uuid, p_lead uuid, p_rotation_only boolean)
RETURNS TABLE (id uuid, rule_id uuid, lead_id uuid, actions jsonb, next integer)
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
