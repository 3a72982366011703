-- name: open
UPDATE crash.gates SET shut = false WHERE shut;

-- name: parked
SELECT l.pid FROM pg_locks AS l
JOIN crash.gates AS g ON g.number = l.objid::integer
WHERE l.locktype = 'advisory' AND l.classid = 20027 AND NOT l.granted AND g.step = %(step)s
ORDER BY l.waitstart
LIMIT 1;

-- name: a_server_process
SELECT pid FROM pg_stat_activity WHERE usename = 'portaria_app' ORDER BY random() LIMIT 1;

-- Time moves for what is accepted and pending: the replay may take it up.
-- name: age_pending
UPDATE webhook_events_log SET received_at = received_at - interval '6 minutes'
WHERE status = 'received' AND valid_signature AND received_at > clock_timestamp() - interval '5 minutes';

-- name: age_unaccepted
UPDATE webhook_events_log SET received_at = received_at - interval '7 hours'
WHERE status = 'received' AND valid_signature IS NOT TRUE;

-- Time moves for jobs that wait, and for workers that fell silent.
-- name: hurry_jobs
UPDATE procrastinate_jobs SET scheduled_at = NULL WHERE status = 'todo' AND scheduled_at IS NOT NULL;

-- name: bury_silent_workers
UPDATE procrastinate_workers SET last_heartbeat = last_heartbeat - interval '1 minute'
WHERE last_heartbeat < clock_timestamp() - interval '4 seconds';

-- name: unfinished
SELECT
    (SELECT count(*) FROM webhook_events_log WHERE status = 'received' AND valid_signature) AS messages,
    (SELECT count(*) FROM incoming_events WHERE status = 'pending') AS events,
    (SELECT count(*) FROM procrastinate_jobs) AS jobs;

-- What an operator does about events whose three attempts were all cut off. Returns how many.
-- name: reprocess_failed
SELECT count(fn_reprocess_incoming_event(id, false, 'crash')) FROM incoming_events WHERE status = 'failed';

-- name: failed_attempts
SELECT count(*) FROM incoming_events WHERE attempts > 0;

-- The checks. Each returns the ids that break its sentence. `lost_…` and `doubled_…` are counted by id.

-- An answered message is in the CRM.
-- name: lost_message
SELECT s.id FROM crash.sent AS s
WHERE s.kind IN ('message', 'echo') AND s.answered AND NOT EXISTS (
    SELECT FROM messages AS m WHERE m.organization_id = s.organization_id AND m.external_id = s.id
);

-- An inbound message that is in has both of its facts.
-- name: lost_fact
SELECT m.external_id FROM messages AS m
WHERE m.direction = 'inbound' AND 2 <> (
    SELECT count(*) FROM event_log AS e
    WHERE e.organization_id = m.organization_id AND e.entity_kind = 'message' AND e.entity_id = m.id
        AND e.event_type IN ('message.received', 'ai_agent.dispatch_requested')
);

-- Whoever wrote and did not ask to leave is an opportunity.
-- name: lost_lead_of_a_message
SELECT DISTINCT m.external_id FROM messages AS m
JOIN contacts AS c ON c.organization_id = m.organization_id AND c.id = m.contact_id
WHERE m.direction = 'inbound' AND NOT c.is_blocked AND NOT EXISTS (
    SELECT FROM crm_leads AS l WHERE l.organization_id = c.organization_id AND l.contact_id = c.id
);

-- Whoever asked to leave is blocked.
-- name: lost_opt_out
SELECT s.id FROM crash.sent AS s
JOIN messages AS m ON m.organization_id = s.organization_id AND m.external_id = s.id
JOIN contacts AS c ON c.organization_id = m.organization_id AND c.id = m.contact_id
WHERE s.opts_out AND NOT (c.is_blocked AND EXISTS (
    SELECT FROM contact_opt_outs AS o WHERE o.organization_id = c.organization_id AND o.external_id = s.id
));

-- The archived row that a 2xx named is there, proven, and processed.
-- name: lost_arrival
SELECT n.arrival::text FROM crash.named AS n
LEFT JOIN webhook_events_log AS w ON w.id = n.arrival
WHERE w.id IS NULL OR w.status <> 'processed' OR w.valid_signature IS NOT TRUE;

-- Nothing was given up.
-- name: lost_dead
SELECT id::text FROM webhook_events_log WHERE status = 'dead';

-- An answered event is stored and processed, and its use case has written.
-- name: lost_event
SELECT s.id FROM crash.sent AS s
WHERE s.kind = 'event' AND s.answered AND NOT EXISTS (
    SELECT FROM incoming_events AS e JOIN crash.effects AS f ON f.event_id = e.event_id
    WHERE e.event_id = s.id AND e.status = 'processed'
);

-- An answered submission made its lead.
-- name: lost_form
SELECT s.id FROM crash.sent AS s
WHERE s.kind = 'form' AND s.answered AND NOT EXISTS (
    SELECT FROM lead_form_submissions AS f
    JOIN crm_leads AS l ON l.organization_id = f.organization_id AND l.id = f.lead_id
    WHERE f.organization_id = s.organization_id AND f.idempotency_key = s.id AND l.title = s.id
);

-- Every lead had its turn, and is its member's.
-- name: lost_turn
SELECT l.id::text FROM crm_leads AS l
WHERE NOT EXISTS (
    SELECT FROM automation_rodizio_atribuicoes AS t
    WHERE t.organization_id = l.organization_id AND t.lead_id = l.id AND t.user_id = l.owner_user_id
);

-- Every turn is told on the rule's run.
-- name: lost_result
SELECT t.lead_id::text FROM automation_rodizio_atribuicoes AS t
WHERE NOT EXISTS (
    SELECT FROM automation_rule_runs AS r
    WHERE r.organization_id = t.organization_id AND r.rule_id = t.rule_id AND r.event_id = t.event_id
        AND r.status = 'done' AND r.actions_result -> 0 -> 'detail' ->> 'user_id' = t.user_id::text
);

-- Nobody's unread messages are fewer than came in (threads without an answer of ours).
-- name: lost_unread
SELECT v.provider_conversation_id FROM conversations AS v
JOIN messages AS m ON m.organization_id = v.organization_id AND m.conversation_id = v.id
GROUP BY v.organization_id, v.id
HAVING bool_and(m.direction = 'inbound') AND v.unread_count < count(*);

-- An outcome that was applied shows, unless a higher one came.
-- name: lost_outcome
SELECT w.id::text FROM webhook_events_log AS w
JOIN messages AS m ON m.organization_id = w.organization_id AND m.external_id = w.external_id
WHERE w.event_type IN ('message.delivered', 'message.read') AND w.status = 'processed'
    AND w.error_message IS NULL
    AND array_position(ARRAY['sent', 'delivered', 'read'], m.status)
        < array_position(ARRAY['sent', 'delivered', 'read'], substr(w.event_type, 9));

-- The use case of an event wrote once.
-- name: doubled_event
SELECT event_id FROM crash.effects GROUP BY event_id HAVING count(*) > 1;

-- A person who writes is one open opportunity.
-- name: doubled_lead
SELECT contact_id::text FROM crm_leads WHERE source = 'whatsapp'
GROUP BY organization_id, contact_id HAVING count(*) > 1;

-- Whoever only asked to leave is none.
-- name: doubled_lead_of_a_leaver
SELECT c.phone_number FROM crm_leads AS l
JOIN contacts AS c ON c.organization_id = l.organization_id AND c.id = l.contact_id
JOIN crash.sent AS s ON s.organization_id = c.organization_id AND s.phone = c.phone_number
GROUP BY c.organization_id, c.phone_number HAVING bool_and(s.opts_out);

-- A submission, however often it was sent, is one lead.
-- name: doubled_form
SELECT title FROM crm_leads WHERE source = 'form' GROUP BY organization_id, title HAVING count(*) > 1;

-- A lead has one turn.
-- name: doubled_turn
SELECT lead_id::text FROM automation_rodizio_atribuicoes GROUP BY organization_id, lead_id HAVING count(*) > 1;

-- And one `lead.created`, and one `lead.assigned`.
-- name: doubled_fact
SELECT entity_id::text FROM event_log WHERE entity_kind = 'lead'
GROUP BY organization_id, entity_id, event_type HAVING count(*) > 1;

-- name: doubled_unread
SELECT v.provider_conversation_id FROM conversations AS v
JOIN messages AS m ON m.organization_id = v.organization_id AND m.conversation_id = v.id
GROUP BY v.organization_id, v.id
HAVING v.unread_count > count(*) FILTER (WHERE m.direction = 'inbound');

-- Who asked twice to leave was blocked once.
-- name: doubled_block
SELECT resource_id FROM api_audit_log WHERE action = 'contact.blocked' GROUP BY resource_id HAVING count(*) > 1;

-- The rotation is a strict cycle: the n-th turn is the n-th place, wrapping.
-- name: broken_cycle
SELECT t.seq::text FROM (
    SELECT seq, posicao, rule_id, organization_id,
        row_number() OVER (PARTITION BY organization_id, rule_id ORDER BY seq) AS n
    FROM automation_rodizio_atribuicoes
) AS t
JOIN automation_rules AS r ON r.organization_id = t.organization_id AND r.id = t.rule_id
WHERE t.posicao <> (t.n - 1) % jsonb_array_length(r.actions -> 0 -> 'config' -> 'fila') + 1;

-- Nobody has two turns more than anybody else.
-- name: broken_fairness
SELECT rule_id::text FROM (
    SELECT r.id AS rule_id, count(t.seq) AS turns
    FROM automation_rules AS r
    CROSS JOIN LATERAL jsonb_array_elements(r.actions -> 0 -> 'config' -> 'fila') AS queued
    LEFT JOIN automation_rodizio_atribuicoes AS t ON t.rule_id = r.id AND t.user_id::text = queued ->> 'user_id'
    GROUP BY r.id, queued ->> 'user_id'
) AS each_member
GROUP BY rule_id HAVING max(turns) - min(turns) > 1;

-- No use case's writes without `processed`.
-- name: broken_effect
SELECT f.event_id FROM crash.effects AS f
WHERE NOT EXISTS (
    SELECT FROM incoming_events AS e WHERE e.event_id = f.event_id AND e.status = 'processed'
);

-- Nothing is left open: no row, no event, no job, no run.
-- name: broken_open
SELECT 'webhook_events_log ' || id FROM webhook_events_log WHERE status = 'received'
UNION ALL
SELECT 'incoming_events ' || event_id FROM incoming_events WHERE status = 'pending' OR attempt_job IS NOT NULL
UNION ALL
SELECT 'procrastinate_jobs ' || id FROM procrastinate_jobs
UNION ALL
SELECT 'automation_rule_runs ' || id FROM automation_rule_runs WHERE status = 'running';

-- No lock is left, and no transaction.
-- name: broken_lock
SELECT 'advisory lock of ' || pid FROM pg_locks WHERE locktype = 'advisory'
UNION ALL
SELECT 'transaction of ' || pid FROM pg_stat_activity
WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
UNION ALL
SELECT 'prepared ' || gid FROM pg_prepared_xacts;

-- No orphan: a contact nobody wrote as, a conversation without a message, an identity without its sender.
-- name: broken_orphan
SELECT 'contact ' || c.id FROM contacts AS c
WHERE NOT EXISTS (SELECT FROM messages AS m WHERE m.organization_id = c.organization_id AND m.contact_id = c.id)
    AND NOT EXISTS (SELECT FROM crm_leads AS l WHERE l.organization_id = c.organization_id AND l.contact_id = c.id)
UNION ALL
SELECT 'conversation ' || v.id FROM conversations AS v
WHERE NOT EXISTS (
    SELECT FROM messages AS m WHERE m.organization_id = v.organization_id AND m.conversation_id = v.id
)
UNION ALL
SELECT 'identity ' || i.value FROM contact_identities AS i
JOIN contacts AS c ON c.organization_id = i.organization_id AND c.id = i.contact_id
WHERE NOT EXISTS (
    SELECT FROM messages AS m WHERE m.organization_id = i.organization_id AND m.contact_id = i.contact_id
) OR i.value <> 'BR.' || substr(c.phone_number, 2);

-- Nothing came in under an id that nobody sent.
-- name: broken_unknown
SELECT external_id FROM messages AS m
WHERE NOT EXISTS (SELECT FROM crash.sent AS s WHERE s.id = m.external_id AND s.organization_id = m.organization_id)
UNION ALL
SELECT event_id FROM incoming_events AS e WHERE NOT EXISTS (SELECT FROM crash.sent AS s WHERE s.id = e.event_id);

-- People are told of nothing but events whose three attempts were cut off.
-- name: broken_notice
SELECT title FROM notices WHERE kind <> 'incoming_event_failed';
