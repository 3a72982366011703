-- name: list_rules
SELECT organization_id, id, name, trigger_event, conditions, actions, is_active, version, deleted_at,
    created_at, updated_at
FROM automation_rules
WHERE organization_id = %(organization_id)s AND (%(deleted)s OR deleted_at IS NULL)
ORDER BY created_at, id;

-- name: find_rule
SELECT organization_id, id, name, trigger_event, conditions, actions, is_active, version, deleted_at,
    created_at, updated_at
FROM automation_rules
WHERE organization_id = %(organization_id)s AND id = %(id)s;

-- name: lock_rule
SELECT organization_id, id, name, trigger_event, conditions, actions, is_active, version, deleted_at,
    created_at, updated_at
FROM automation_rules
WHERE organization_id = %(organization_id)s AND id = %(id)s
FOR NO KEY UPDATE;

-- name: insert_rule
INSERT INTO automation_rules (organization_id, id, name, trigger_event, conditions, actions, is_active)
VALUES (
    %(organization_id)s, %(id)s, %(name)s, %(trigger_event)s, %(conditions)s, %(actions)s, %(is_active)s
)
RETURNING organization_id, id, name, trigger_event, conditions, actions, is_active, version, deleted_at,
    created_at, updated_at;

-- name: update_rule
UPDATE automation_rules SET
    name = coalesce(%(name)s, name),
    trigger_event = coalesce(%(trigger_event)s, trigger_event),
    conditions = coalesce(%(conditions)s, conditions),
    actions = coalesce(%(actions)s, actions),
    is_active = coalesce(%(is_active)s, is_active)
WHERE organization_id = %(organization_id)s AND id = %(id)s
RETURNING organization_id, id, name, trigger_event, conditions, actions, is_active, version, deleted_at,
    created_at, updated_at;

-- name: delete_rule
UPDATE automation_rules SET deleted_at = now()
WHERE organization_id = %(organization_id)s AND id = %(id)s;

-- name: live_members
SELECT user_id FROM user_organizations
WHERE organization_id = %(organization_id)s AND user_id = ANY(%(users)s::uuid[]) AND revoked_at IS NULL;

-- name: open_runs
SELECT id, rule_id, lead_id, actions, next
FROM fn_open_runs(%(organization_id)s, %(event_id)s, %(lead_id)s, %(rotation_only)s);

-- Whether this action is still to be done, with the run locked until the end of the transaction.
-- name: lock_run
SELECT jsonb_array_length(actions_result) = %(index)s AND status = 'running'
FROM automation_rule_runs
WHERE organization_id = %(organization_id)s AND id = %(run_id)s
FOR NO KEY UPDATE;

-- name: record_result
SELECT fn_record_action_result(%(organization_id)s, %(run_id)s, %(index)s, %(result)s);

-- name: bounded_wait
SELECT set_config('lock_timeout', %(milliseconds)s, true);

-- name: take_turn
SELECT fn_take_turn(
    %(organization_id)s, %(rule_id)s, %(lead_id)s, %(event_id)s, %(run_id)s, %(index)s, %(wait)s
);

-- name: assign_fixed_owner
SELECT fn_assign_fixed_owner(
    %(organization_id)s, %(rule_id)s, %(lead_id)s, %(event_id)s, fn_to_uuid(%(user_id)s)
);

-- name: add_tag
UPDATE crm_leads SET
    tags = CASE WHEN %(tag)s = ANY(tags) THEN tags ELSE array_append(tags, %(tag)s) END,
    updated_at = now()
WHERE organization_id = %(organization_id)s AND id = %(lead_id)s;

-- name: list_runs
SELECT id, rule_id, event_id, lead_id, status, actions_result, created_at, finished_at
FROM automation_rule_runs
WHERE organization_id = %(organization_id)s AND rule_id = %(rule_id)s
    AND (%(after_at)s::timestamptz IS NULL
        OR (created_at <= %(after_at)s AND (created_at < %(after_at)s OR id > %(after_id)s)))
ORDER BY created_at DESC, id LIMIT %(limit)s;

-- name: list_lead_runs
SELECT id, rule_id, event_id, lead_id, status, actions_result, created_at, finished_at
FROM automation_rule_runs
WHERE organization_id = %(organization_id)s AND lead_id = %(lead_id)s
ORDER BY created_at DESC, id LIMIT %(limit)s;

-- name: rotation_order
SELECT c.place, c.posicao, c.user_id, c.nome, c.reason
FROM automation_rules r
CROSS JOIN LATERAL fn_rotation_candidates(r.organization_id, r.id, fn_rotation_queue(r.actions)) AS c
WHERE r.organization_id = %(organization_id)s AND r.id = %(rule_id)s
ORDER BY c.place;

-- name: list_turns
SELECT t.seq, t.event_id, t.lead_id, t.user_id, u.name AS nome, t.posicao, t.candidates, t.created_at,
    m.revoked_at IS NOT NULL AS former
FROM automation_rodizio_atribuicoes t
JOIN users u ON u.id = t.user_id
JOIN user_organizations m ON m.organization_id = t.organization_id AND m.user_id = t.user_id
WHERE t.organization_id = %(organization_id)s AND t.rule_id = %(rule_id)s
    AND (%(before)s::bigint IS NULL OR t.seq < %(before)s)
    AND (%(lead_id)s::uuid IS NULL OR t.lead_id = %(lead_id)s)
ORDER BY t.seq DESC LIMIT %(limit)s;

-- name: turns_per_member
SELECT t.user_id, u.name AS nome, count(*) AS turns, max(t.created_at) AS last_at
FROM (
    SELECT user_id, created_at FROM automation_rodizio_atribuicoes
    WHERE organization_id = %(organization_id)s AND rule_id = %(rule_id)s
    ORDER BY seq DESC LIMIT 1000
) AS t
JOIN users u ON u.id = t.user_id
WHERE %(since)s::timestamptz IS NULL OR t.created_at >= %(since)s
GROUP BY t.user_id, u.name
ORDER BY turns DESC, nome;

-- name: dry_run
SELECT l.id IS NOT NULL,
    fn_conditions_hold(r.conditions, fn_lead_facts(r.organization_id, l.id, '{}'))
FROM automation_rules r
LEFT JOIN crm_leads l ON l.organization_id = r.organization_id AND l.id = %(lead_id)s
WHERE r.organization_id = %(organization_id)s AND r.id = %(rule_id)s;

-- name: hand_over
SELECT fn_hand_over_leads(%(organization_id)s, %(rule_id)s, %(actor)s, %(leads)s::uuid[], %(limit)s);

-- name: count_unowned
SELECT count(*) FROM crm_leads
WHERE organization_id = %(organization_id)s AND owner_user_id IS NULL AND status = 'open';
