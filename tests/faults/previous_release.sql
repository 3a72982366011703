-- name: accounts.receive
SELECT fn_receive_incoming_event(
    $1, $2, $3, $4, $5
);

-- name: accounts.begin
SELECT o_verdict, o_attempt_job, o_event_type, o_payload
FROM fn_begin_incoming_event($1, $2, $3);

-- name: accounts.close
SELECT fn_close_incoming_event($1, $2, $3);

-- name: accounts.fail
SELECT fn_fail_incoming_event($1, $2, $3, $4, $5);

-- name: accounts.reprocess
SELECT fn_reprocess_incoming_event($1, $2, $3);

-- name: accounts.count_failed
SELECT count(*) FROM incoming_events
WHERE status = 'failed' AND payload <> ''
    AND ($1::text IS NULL OR event_type = $1)
    AND ($2::timestamptz IS NULL OR received_at >= $2)
    AND ($3::timestamptz IS NULL OR received_at < $3);

-- Each id once, in their order: what fails again meanwhile is behind.

-- name: accounts.reprocess_some
WITH chosen AS (
    SELECT id FROM incoming_events
    WHERE status = 'failed' AND payload <> '' AND id > $1
        AND ($2::text IS NULL OR event_type = $2)
        AND ($3::timestamptz IS NULL OR received_at >= $3)
        AND ($4::timestamptz IS NULL OR received_at < $4)
    ORDER BY id LIMIT $5
)
SELECT id, fn_reprocess_incoming_event(id, false, $6) FROM chosen ORDER BY id;

-- The sender's time is read without a zone: in the session's own it may lie beyond the year 9999.

-- name: accounts.find
SELECT id, event_id, event_type, occurred_at AT TIME ZONE 'UTC' AS occurred_at, payload, status, attempts,
    error_message, received_at, processed_at
FROM incoming_events WHERE id = $1;

-- name: accounts.find_by_event_id
SELECT id FROM incoming_events WHERE event_id = $1;

-- name: accounts.list
SELECT id, event_id, event_type, occurred_at AT TIME ZONE 'UTC' AS occurred_at, NULL AS payload, status,
    attempts, error_message, received_at, processed_at
FROM incoming_events
WHERE ($1::text IS NULL OR status = $1)
    AND ($2::text IS NULL OR event_type = $2)
    AND ($3::text IS NULL OR event_id = $3)
    AND ($4::timestamptz IS NULL OR received_at >= $4)
    AND ($5::timestamptz IS NULL OR received_at < $5)
    AND ($6::timestamptz IS NULL OR (received_at, id) < ($6, $7::uuid))
ORDER BY received_at DESC, id DESC
LIMIT $8;

-- name: audit.record
INSERT INTO api_audit_log (id, organization_id, action, actor, resource_kind, resource_id, metadata)
VALUES (
    $1, $2, $3, $4, $5, $6, $7
);

-- Two ordered walks of one index, one of them empty for whoever is no operator.

-- name: audit.list_entries
SELECT id, organization_id, action, actor, resource_kind, resource_id, metadata, created_at
FROM (
    (SELECT * FROM api_audit_log
    WHERE organization_id = $1
        AND ($2::text IS NULL OR action = $2)
        AND ($3::text IS NULL OR actor = $3)
        AND ($4::text IS NULL OR resource_kind = $4)
        AND ($5::text IS NULL OR resource_id = $5)
        AND ($6::timestamptz IS NULL OR created_at >= $6)
        AND ($7::timestamptz IS NULL OR created_at < $7)
        AND ($8::timestamptz IS NULL
            OR (created_at <= $8 AND (created_at < $8 OR id > $9)))
    ORDER BY created_at DESC, id LIMIT $10)
    UNION ALL
    (SELECT * FROM api_audit_log
    WHERE $11 AND organization_id IS NULL
        AND ($2::text IS NULL OR action = $2)
        AND ($3::text IS NULL OR actor = $3)
        AND ($4::text IS NULL OR resource_kind = $4)
        AND ($5::text IS NULL OR resource_id = $5)
        AND ($6::timestamptz IS NULL OR created_at >= $6)
        AND ($7::timestamptz IS NULL OR created_at < $7)
        AND ($8::timestamptz IS NULL
            OR (created_at <= $8 AND (created_at < $8 OR id > $9)))
    ORDER BY created_at DESC, id LIMIT $10)
) AS both_kinds
ORDER BY created_at DESC, id LIMIT $10;

-- name: automations.list_rules
SELECT organization_id, id, name, trigger_event, conditions, actions, is_active, version, deleted_at,
    created_at, updated_at
FROM automation_rules
WHERE organization_id = $1 AND ($2 OR deleted_at IS NULL)
ORDER BY created_at, id;

-- name: automations.find_rule
SELECT organization_id, id, name, trigger_event, conditions, actions, is_active, version, deleted_at,
    created_at, updated_at
FROM automation_rules
WHERE organization_id = $1 AND id = $2;

-- name: automations.lock_rule
SELECT organization_id, id, name, trigger_event, conditions, actions, is_active, version, deleted_at,
    created_at, updated_at
FROM automation_rules
WHERE organization_id = $1 AND id = $2
FOR NO KEY UPDATE;

-- name: automations.insert_rule
INSERT INTO automation_rules (organization_id, id, name, trigger_event, conditions, actions, is_active)
VALUES (
    $1, $2, $3, $4, $5, $6, $7
)
RETURNING organization_id, id, name, trigger_event, conditions, actions, is_active, version, deleted_at,
    created_at, updated_at;

-- name: automations.update_rule
UPDATE automation_rules SET
    name = coalesce($1, name),
    trigger_event = coalesce($2, trigger_event),
    conditions = coalesce($3, conditions),
    actions = coalesce($4, actions),
    is_active = coalesce($5, is_active)
WHERE organization_id = $6 AND id = $7
RETURNING organization_id, id, name, trigger_event, conditions, actions, is_active, version, deleted_at,
    created_at, updated_at;

-- name: automations.delete_rule
UPDATE automation_rules SET deleted_at = now()
WHERE organization_id = $1 AND id = $2;

-- name: automations.live_members
SELECT user_id FROM user_organizations
WHERE organization_id = $1 AND user_id = ANY($2::uuid[]) AND revoked_at IS NULL;

-- One run per rule and event (its unique key): those begun here, and those that an earlier try left
-- unfinished. A hand-over asks for the rotation alone.

-- name: automations.open_runs
WITH begun AS (
    INSERT INTO automation_rule_runs (
        organization_id, id, rule_id, event_id, lead_id, actions, status, finished_at
    )
    SELECT r.organization_id, gen_random_uuid(), r.id, $1, $2, wanted.actions,
        CASE WHEN wanted.actions = '[]' THEN 'done' ELSE 'running' END,
        CASE WHEN wanted.actions = '[]' THEN now() END
    FROM fn_matching_rules($3, $1) AS r,
        LATERAL (
            SELECT CASE WHEN $4
                THEN '[{"type": "assign_owner", "config": {"modo": "rodizio"}}]'::jsonb ELSE r.actions
            END AS actions
        ) AS wanted
    ON CONFLICT (organization_id, rule_id, event_id) DO NOTHING
    RETURNING id, rule_id, lead_id, actions, actions_result
), unfinished AS (
    SELECT id, rule_id, lead_id, actions, actions_result FROM begun
    UNION ALL
    SELECT id, rule_id, lead_id, actions, actions_result FROM automation_rule_runs
    WHERE organization_id = $3 AND event_id = $1 AND status = 'running'
)
SELECT u.id, u.rule_id, u.lead_id, u.actions, jsonb_array_length(u.actions_result) AS next
FROM unfinished u
JOIN automation_rules r ON r.organization_id = $3 AND r.id = u.rule_id
ORDER BY r.created_at, r.id;

-- Whether this action is still to be done, with the run locked until the end of the transaction.

-- name: automations.lock_run
SELECT jsonb_array_length(actions_result) = $1 AND status = 'running'
FROM automation_rule_runs
WHERE organization_id = $2 AND id = $3
FOR NO KEY UPDATE;

-- name: automations.record_result
SELECT fn_record_action_result($1, $2, $3, $4);

-- name: automations.bounded_wait
SELECT set_config('lock_timeout', $1, true);

-- The turn, as one autocommit statement: a process that freezes afterwards holds no lock. The wait for
-- the rule's lock is bounded, so that a frozen holder delays no other rule's leads.

-- name: automations.take_turn
WITH bounded AS MATERIALIZED (SELECT set_config('lock_timeout', $1, true))
SELECT fn_automation_rodizio_atribuir($2, $3, $4, $5)
FROM bounded;

-- name: automations.assign_fixed_owner
SELECT fn_assign_fixed_owner(
    $1, $2, $3, $4, fn_to_uuid($5)
);

-- name: automations.add_tag
UPDATE crm_leads SET
    tags = CASE WHEN $1 = ANY(tags) THEN tags ELSE array_append(tags, $1) END,
    updated_at = now()
WHERE organization_id = $2 AND id = $3;

-- name: automations.list_runs
SELECT id, rule_id, event_id, lead_id, status, actions_result, created_at, finished_at
FROM automation_rule_runs
WHERE organization_id = $1 AND rule_id = $2
    AND ($3::timestamptz IS NULL
        OR (created_at <= $3 AND (created_at < $3 OR id > $4)))
ORDER BY created_at DESC, id LIMIT $5;

-- name: automations.list_lead_runs
SELECT id, rule_id, event_id, lead_id, status, actions_result, created_at, finished_at
FROM automation_rule_runs
WHERE organization_id = $1 AND lead_id = $2
ORDER BY created_at DESC, id LIMIT $3;

-- name: automations.rotation_order
SELECT c.place, c.posicao, c.user_id, c.nome, c.reason
FROM automation_rules r
CROSS JOIN LATERAL fn_rotation_candidates(r.organization_id, r.id, fn_rotation_queue(r.actions)) AS c
WHERE r.organization_id = $1 AND r.id = $2
ORDER BY c.place;

-- name: automations.list_turns
SELECT t.seq, t.event_id, t.lead_id, t.user_id, u.name AS nome, t.posicao, t.candidates, t.created_at,
    m.revoked_at IS NOT NULL AS former
FROM automation_rodizio_atribuicoes t
JOIN users u ON u.id = t.user_id
JOIN user_organizations m ON m.organization_id = t.organization_id AND m.user_id = t.user_id
WHERE t.organization_id = $1 AND t.rule_id = $2
    AND ($3::bigint IS NULL OR t.seq < $3)
    AND ($4::uuid IS NULL OR t.lead_id = $4)
ORDER BY t.seq DESC LIMIT $5;

-- name: automations.turns_per_member
SELECT t.user_id, u.name AS nome, count(*) AS turns, max(t.created_at) AS last_at
FROM automation_rodizio_atribuicoes t JOIN users u ON u.id = t.user_id
WHERE t.organization_id = $1 AND t.rule_id = $2
    AND ($3::timestamptz IS NULL OR t.created_at >= $3)
GROUP BY t.user_id, u.name
ORDER BY turns DESC, nome;

-- name: automations.dry_run
SELECT l.id IS NOT NULL,
    fn_conditions_hold(r.conditions, fn_lead_facts(r.organization_id, l.id, '{}'))
FROM automation_rules r
LEFT JOIN crm_leads l ON l.organization_id = r.organization_id AND l.id = $1
WHERE r.organization_id = $2 AND r.id = $3;

-- name: automations.hand_over
SELECT fn_hand_over_leads($1, $2, $3, $4::uuid[], $5);

-- name: automations.count_unowned
SELECT count(*) FROM crm_leads
WHERE organization_id = $1 AND owner_user_id IS NULL AND status = 'open';

-- name: crm.forms.list_forms
SELECT organization_id, id, path_token, name, intro, success_url, archived_at, created_at
FROM lead_forms WHERE organization_id = $1
ORDER BY archived_at IS NOT NULL, created_at, id;

-- name: crm.forms.find_form
SELECT organization_id, id, path_token, name, intro, success_url, archived_at, created_at
FROM lead_forms WHERE organization_id = $1 AND id = $2;

-- name: crm.forms.form_by_token
SELECT organization_id, id, path_token, name, intro, success_url, archived_at, created_at
FROM lead_forms WHERE path_token = $1 AND archived_at IS NULL;

-- name: crm.forms.insert_form
INSERT INTO lead_forms (organization_id, id, path_token, name, intro, success_url)
VALUES ($1, $2, $3, $4, $5, $6);

-- name: crm.forms.update_form
UPDATE lead_forms SET name = $1, intro = $2, success_url = $3
WHERE organization_id = $4 AND id = $5;

-- name: crm.forms.archive_form
UPDATE lead_forms SET archived_at = coalesce(archived_at, now())
WHERE organization_id = $1 AND id = $2;

-- name: crm.forms.admit
SELECT fn_admit_lead_form($1, $2);

-- name: crm.forms.submit
SELECT outcome, lead_id, contact_id
FROM fn_submit_lead_form($1, $2, $3, $4, $5);

-- An arrival that becomes no lead: `error` with the reason, or `processed` when a trap caught it.

-- name: crm.forms.close_without_lead
UPDATE webhook_events_log SET
    status = $1, error_message = $2, event_type = 'lead_form.submitted',
    processed_at = clock_timestamp()
WHERE id = $3 AND status = 'received';

-- name: events.emit
INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id, payload, metadata)
VALUES (
    $1, $2, $3, $4, $5, $6, $7
);

-- name: events.find_event
SELECT organization_id, id, seq, event_type, entity_kind, entity_id, payload, metadata, created_at
FROM event_log
WHERE organization_id = $1 AND id = $2;

-- name: events.list_events
SELECT organization_id, id, seq, event_type, entity_kind, entity_id, payload, metadata, created_at
FROM event_log
WHERE organization_id = $1 AND entity_kind = $2 AND entity_id = $3
    AND ($4::bigint IS NULL OR seq < $4)
ORDER BY seq DESC LIMIT $5;

-- name: intake.archive
INSERT INTO webhook_events_log (id, provider, organization_id, channel_session_id, headers, raw_body)
SELECT id, provider, organization_id, channel_session_id, headers::jsonb, raw_body
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::bytea[])
    AS arrived (id, organization_id, channel_session_id, provider, headers, raw_body)
ON CONFLICT (id) DO NOTHING;

-- name: intake.accept
UPDATE webhook_events_log AS w SET
    valid_signature = true,
    organization_id = coalesce(w.organization_id, known.organization_id),
    channel_session_id = coalesce(w.channel_session_id, known.channel_session_id)
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS known (id, organization_id, channel_session_id)
WHERE w.id = known.id AND w.status = 'received'
RETURNING w.id;

-- name: intake.close_unaccepted
UPDATE webhook_events_log SET
    status = $1, valid_signature = $2, error_message = $3,
    event_type = $4, external_id = $5, processed_at = clock_timestamp(),
    organization_id = coalesce(organization_id, $6),
    channel_session_id = coalesce(channel_session_id, $7),
    provider = coalesce($8, provider)
WHERE id = $9 AND status = 'received' AND valid_signature IS NULL
RETURNING id;

-- name: intake.claim_synchronous
UPDATE webhook_events_log SET
    organization_id = coalesce(organization_id, $1),
    channel_session_id = coalesce(channel_session_id, $2),
    provider = $3
WHERE id = $4 AND status = 'received' AND valid_signature IS NULL;

-- name: intake.session_by_token
SELECT organization_id, id, provider, account_id, phone_number, provider_profile_id, archived_at IS NOT NULL,
    secret_ciphertext,
    CASE WHEN previous_secret_until > now() THEN previous_secret_ciphertext END
FROM channel_sessions
WHERE webhook_path_token = $1;

-- name: intake.live_sessions_by_account
SELECT organization_id, id, provider, account_id, phone_number, provider_profile_id, false, NULL, NULL
FROM channel_sessions
WHERE provider = ANY ($1) AND account_id = $2 AND archived_at IS NULL
ORDER BY provider;

-- name: intake.live_sessions_by_phone
SELECT organization_id, id, provider, account_id, phone_number, provider_profile_id, false, NULL, NULL
FROM channel_sessions
WHERE provider = ANY ($1) AND phone_number = ANY ($2) AND archived_at IS NULL
ORDER BY provider;

-- name: intake.live_sessions_by_profile
SELECT organization_id, id, provider, account_id, phone_number, provider_profile_id, false, NULL, NULL
FROM channel_sessions
WHERE provider = ANY ($1) AND provider_profile_id = $2 AND archived_at IS NULL
ORDER BY provider
LIMIT 2;

-- A row with a time of try waits for nothing: it was tried, or is being replayed by hand.

-- name: intake.backlog
SELECT count(*), extract(epoch FROM now() - min(received_at))
FROM (
    SELECT received_at FROM webhook_events_log
    WHERE processed_at IS NULL AND valid_signature AND attempts = 0 AND error_message IS NULL
        AND last_attempt_at IS NULL
    ORDER BY received_at
    LIMIT $1
) AS waiting;

-- name: intake.ingest_message
SELECT outcome, message_id, contact_id, dispatched
FROM fn_ingest_message(
    $1, $2, $3, $4, $5, $6::jsonb
);

-- name: intake.restamp_message
SELECT fn_restamp_message($1, $2, $3);

-- name: intake.record_opt_out
SELECT fn_record_opt_out($1, $2, $3, $4::jsonb);

-- name: intake.message_effects
SELECT fn_message_effects(
    $1, $2, $3, $4, $5, $6, $7,
    $8, $9
);

-- name: intake.close_row
SELECT fn_close_row(
    $1, $2, $3, $4, $5, $6, $7
);

-- name: intake.record_failure
UPDATE webhook_events_log SET
    attempts = $1, error_message = $2, last_attempt_at = clock_timestamp()
WHERE id = $3 AND status = 'received' AND attempts = $4
    AND last_attempt_at IS NOT DISTINCT FROM $5;

-- name: intake.load_row
SELECT w.id, w.organization_id, w.channel_session_id, w.provider, w.raw_body, w.attempts, w.last_attempt_at,
    s.archived_at IS NOT NULL, w.received_at <= now() - interval '6 hours'
FROM webhook_events_log AS w
LEFT JOIN channel_sessions AS s
    ON s.organization_id = w.organization_id AND s.id = w.channel_session_id
WHERE w.id = $1 AND w.status = 'received' AND w.valid_signature;

-- name: intake.find_message
SELECT id, contact_id, direction, fn_is_dispatched(organization_id, id)
FROM messages
WHERE organization_id = $1
    AND external_id IN ($2, fn_erased_id($1, $2));

-- Rows that end (past the window, at the ceiling) are selected too. A row claimed by hand, which alone has
-- a time of try without attempts and without an error, is left to its claim for a minute.

-- name: intake.replay_candidates
SELECT id, attempts, last_attempt_at, past_window
FROM (
    SELECT id, attempts, last_attempt_at, received_at,
        received_at <= now() - interval '6 hours' AS past_window,
        row_number() OVER (
            PARTITION BY organization_id ORDER BY last_attempt_at NULLS FIRST, received_at, id
        ) AS turn
    FROM webhook_events_log
    WHERE processed_at IS NULL AND received_at < now() - interval '5 minutes' AND valid_signature
        AND (last_attempt_at IS NULL OR last_attempt_at < $1)
        AND (attempts > 0 OR error_message IS NOT NULL OR last_attempt_at IS NULL
            OR last_attempt_at < now() - interval '1 minute')
) AS pending
ORDER BY turn, last_attempt_at NULLS FIRST, received_at
LIMIT $2;

-- name: intake.claim_for_replay
UPDATE webhook_events_log AS w SET attempts = w.attempts + 1, last_attempt_at = clock_timestamp()
WHERE w.id = (
    SELECT id FROM webhook_events_log
    WHERE id = $1 AND status = 'received' AND valid_signature AND attempts = $2
        AND last_attempt_at IS NOT DISTINCT FROM $3
        AND received_at > now() - interval '6 hours'
    FOR UPDATE SKIP LOCKED
)
RETURNING w.id, w.organization_id, w.channel_session_id, w.provider, w.raw_body, w.attempts, w.last_attempt_at,
    EXISTS (
        SELECT 1 FROM channel_sessions AS s
        WHERE s.organization_id = w.organization_id AND s.id = w.channel_session_id
            AND s.archived_at IS NOT NULL
    ), false;

-- name: intake.claim_by_hand
UPDATE webhook_events_log SET
    status = 'received', processed_at = NULL, error_message = NULL, attempts = 0,
    last_attempt_at = clock_timestamp()
WHERE id = (
    SELECT id FROM webhook_events_log WHERE id = $1 AND valid_signature FOR UPDATE SKIP LOCKED
)
RETURNING id;

-- name: intake.close_never_accepted
UPDATE webhook_events_log SET
    status = 'error', error_message = 'not_accepted', processed_at = clock_timestamp()
WHERE id IN (
    SELECT id FROM webhook_events_log
    WHERE processed_at IS NULL AND valid_signature IS NOT TRUE
        AND received_at <= now() - interval '6 hours'
    ORDER BY received_at
    LIMIT 1000
    FOR UPDATE SKIP LOCKED
);

-- name: intake.lock_round
SELECT pg_try_advisory_xact_lock(fn_lock_key('replay', ''));

-- Waiting is all that this transaction does: no other limit cuts it short.

-- name: intake.wait_at_most
SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', '0', true);

-- name: intake.wait_for_round
SELECT pg_advisory_xact_lock(fn_lock_key('replay', ''));

-- name: intake.is_round_due
SELECT NOT EXISTS (
    SELECT 1 FROM cron_rounds
    WHERE name = 'webhook-replay' AND last_round_at <= clock_timestamp()
        AND last_round_at > clock_timestamp() - make_interval(secs => $1)
);

-- A time in the future is a clock that was put back: due.

-- name: intake.take_due_round
INSERT INTO cron_rounds AS c (name, last_round_at) VALUES ('webhook-replay', clock_timestamp())
ON CONFLICT (name) DO UPDATE SET last_round_at = excluded.last_round_at
WHERE c.last_round_at <= excluded.last_round_at - make_interval(secs => $1)
    OR c.last_round_at > excluded.last_round_at
RETURNING name;

-- name: intake.database_now
SELECT clock_timestamp();

-- name: intake.apply_outcome
UPDATE messages SET status = $1, status_at = greatest(status_at, $2), error = $3::jsonb
WHERE organization_id = $4 AND external_id = $5 AND direction = 'outbound'
    AND CASE $1
        WHEN 'read' THEN status <> 'read'
        WHEN 'delivered' THEN status = 'sent' OR (status = 'failed' AND $2 >= status_at)
        WHEN 'failed' THEN status = 'sent' OR (status = 'delivered' AND $2 >= status_at)
        ELSE false
    END
RETURNING id;

-- name: intake.apply_edit
UPDATE messages SET body = $1, edited_at = $2
WHERE organization_id = $3 AND external_id = $4
    AND (edited_at IS NULL OR edited_at < $2)
RETURNING id, conversation_id, sent_at, deleted_at IS NOT NULL;

-- name: intake.preview_of_change
UPDATE conversations SET last_message_preview = $1
WHERE organization_id = $2 AND id = $3 AND last_message_at = $4;

-- name: intake.apply_delete
UPDATE messages SET deleted_at = $1
WHERE organization_id = $2 AND external_id = $3 AND deleted_at IS NULL
RETURNING id, conversation_id, sent_at, true;

-- name: intake.message_exists
SELECT EXISTS (
    SELECT 1 FROM messages
    WHERE organization_id = $1 AND external_id = $2
);

-- name: intake.apply_session_state
UPDATE channel_sessions SET state = $1, state_at = $2
WHERE organization_id = $3 AND id = $4
    AND (state_at IS NULL OR state_at < $2 OR (state_at = $2 AND state <> $1))
RETURNING id;

-- name: intake.apply_template_review
INSERT INTO channel_templates AS t (
    organization_id, channel_session_id, template_id, name, language, status, reason, status_at
) VALUES (
    $1, $2, $3, $4, $5, $6, $7,
    $8
)
ON CONFLICT (organization_id, channel_session_id, template_id) DO UPDATE SET
    name = excluded.name, language = excluded.language, status = excluded.status,
    reason = excluded.reason, status_at = excluded.status_at
WHERE t.status_at < excluded.status_at
    OR (t.status_at = excluded.status_at AND t.status <> excluded.status)
RETURNING template_id;

-- name: intake.list_arrivals
SELECT id, organization_id, channel_session_id, provider, status, valid_signature, attempts, error_message,
    event_type, external_id, received_at, processed_at, last_attempt_at, octet_length(raw_body) AS body_bytes,
    body_emptied_at
FROM webhook_events_log
WHERE ($1::uuid IS NULL OR organization_id = $1
        OR ($2 AND organization_id IS NULL))
    AND ($3::text IS NULL OR status = $3)
    AND ($4::text IS NULL OR event_type = $4)
    AND ($5::text IS NULL OR external_id = $5)
    AND ($6::timestamptz IS NULL OR received_at >= $6)
    AND ($7::timestamptz IS NULL OR received_at < $7)
    AND ($8::uuid IS NULL OR id < $8)
ORDER BY id DESC
LIMIT $9;

-- name: intake.show_arrival
SELECT id, organization_id, channel_session_id, provider, status, valid_signature, attempts, error_message,
    event_type, external_id, received_at, processed_at, last_attempt_at, octet_length(raw_body) AS body_bytes,
    body_emptied_at, headers, raw_body
FROM webhook_events_log
WHERE id = $1;

-- Accepted rows alone: whatever was processed before its answer has its event's name since.

-- name: intake.replayable
SELECT id
FROM webhook_events_log
WHERE valid_signature AND provider = 'zernio'
    AND organization_id IS NOT NULL AND channel_session_id IS NOT NULL
    AND (event_type IS NULL OR event_type IN ('message.received', 'message.sent'))
    AND NOT (status = 'processed' AND error_message IS NOT DISTINCT FROM 'conta_desconhecida')
    AND status = $1 AND body_emptied_at IS NULL
    AND ($2::uuid IS NULL OR organization_id = $2)
    AND ($3::timestamptz IS NULL OR received_at >= $3)
    AND ($4::timestamptz IS NULL OR received_at < $4)
ORDER BY received_at, id;

-- name: intake.oldest_pending
SELECT extract(epoch FROM clock_timestamp() - received_at)
FROM webhook_events_log
WHERE processed_at IS NULL AND valid_signature
ORDER BY received_at
LIMIT 1;

-- name: jobs.enqueue
SELECT fn_enqueue_job($1, $2, $3, $4);

-- The three endings of a run name the run: a job that came back since has another `attempts`.

-- name: jobs.end_run
DELETE FROM procrastinate_jobs
WHERE id = $1 AND status = 'doing' AND attempts = $2;

-- name: jobs.put_back
UPDATE procrastinate_jobs SET
    status = 'todo', attempts = attempts + 1, worker_id = NULL, abort_requested = false,
    scheduled_at = clock_timestamp() + make_interval(secs => $1)
WHERE id = $2 AND status = 'doing' AND attempts = $3;

-- name: jobs.beat
UPDATE procrastinate_workers SET last_heartbeat = clock_timestamp()
WHERE id = ANY($1::bigint[])
RETURNING id;

-- A job in `doing` whose worker is silent, or was pruned (worker_id becomes null), is put back. The
-- outer conditions are looked at again under the row's lock, so that of two rescuers one wins, and a
-- job that somebody fetched meanwhile stays theirs.

-- name: jobs.rescue
UPDATE procrastinate_jobs j SET
    status = 'todo', attempts = j.attempts + 1, worker_id = NULL, abort_requested = false,
    scheduled_at = NULL
FROM (
    SELECT d.id, d.worker_id, d.attempts
    FROM procrastinate_jobs d
    LEFT JOIN procrastinate_workers w ON w.id = d.worker_id
    WHERE d.status = 'doing'
        AND (w.id IS NULL OR w.last_heartbeat < clock_timestamp() - make_interval(secs => $1))
) AS silent
WHERE j.id = silent.id AND j.status = 'doing' AND j.attempts = silent.attempts
    AND j.worker_id IS NOT DISTINCT FROM silent.worker_id
RETURNING j.id, j.task_name;

-- name: jobs.alive
SELECT count(*) FROM procrastinate_workers
WHERE last_heartbeat > clock_timestamp() - make_interval(secs => $1);

-- name: notices.open_notice
SELECT fn_open_notice(
    $1::uuid, $2, $3, $4, $5, $6, $7
);

-- name: notices.resolve_titled
UPDATE notices SET status = 'resolved', resolved_at = now()
WHERE (organization_id = $1::uuid
        OR ($1::uuid IS NULL AND organization_id IS NULL))
    AND title = ANY($2::text[]) AND status IN ('open', 'ack');

-- name: notices.acknowledge
UPDATE notices SET status = 'ack'
WHERE id = $1 AND status = 'open';

-- name: notices.resolve
UPDATE notices SET status = 'resolved', resolved_at = now()
WHERE id = $1 AND status IN ('open', 'ack');

-- name: notices.find_notice
SELECT id, organization_id, kind, severity, title, body, resource_kind, resource_id, status, occurrences,
    first_at, last_at, resolved_at
FROM notices WHERE id = $1;

-- Two ordered walks of one index, one of them empty for whoever is no operator: an OR would sort them all.

-- name: notices.list_notices
SELECT id, organization_id, kind, severity, title, body, resource_kind, resource_id, status, occurrences,
    first_at, last_at, resolved_at
FROM (
    (SELECT * FROM notices
    WHERE organization_id = $1
        AND ($2::text[] IS NULL OR status = ANY($2))
        AND ($3::text IS NULL OR kind = $3)
        AND ($4::timestamptz IS NULL
            OR (last_at <= $4 AND (last_at < $4 OR id > $5)))
    ORDER BY last_at DESC, id LIMIT $6)
    UNION ALL
    (SELECT * FROM notices
    WHERE $7 AND organization_id IS NULL
        AND ($2::text[] IS NULL OR status = ANY($2))
        AND ($3::text IS NULL OR kind = $3)
        AND ($4::timestamptz IS NULL
            OR (last_at <= $4 AND (last_at < $4 OR id > $5)))
    ORDER BY last_at DESC, id LIMIT $6)
) AS both_kinds
ORDER BY last_at DESC, id LIMIT $6;

-- name: notices.count_live
SELECT count(*) FROM notices
WHERE status IN ('open', 'ack')
    AND (organization_id = $1 OR ($2 AND organization_id IS NULL));
