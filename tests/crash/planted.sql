-- Faults that the checks must see, each under the name of its check. Planted in a database at rest, in a
-- transaction that is rolled back, with triggers and foreign keys out of force.

-- name: lost_message
DELETE FROM messages WHERE external_id = (SELECT min(id) FROM crash.sent WHERE kind = 'message' AND answered);

-- name: lost_fact
DELETE FROM event_log WHERE id = (
    SELECT id FROM event_log WHERE event_type = 'ai_agent.dispatch_requested' LIMIT 1
);

-- name: lost_lead_of_a_message
DELETE FROM crm_leads WHERE contact_id = (
    SELECT c.id FROM contacts AS c JOIN messages AS m ON m.contact_id = c.id
    WHERE NOT c.is_blocked AND m.direction = 'inbound' LIMIT 1
);

-- name: lost_opt_out
UPDATE contacts SET is_blocked = false WHERE id = (SELECT id FROM contacts WHERE is_blocked LIMIT 1);

-- name: lost_arrival
DELETE FROM webhook_events_log WHERE id = (SELECT arrival FROM crash.named LIMIT 1);

-- name: lost_dead
UPDATE webhook_events_log SET status = 'dead' WHERE id = (SELECT arrival FROM crash.named LIMIT 1);

-- name: lost_event
DELETE FROM crash.effects
WHERE event_id = (SELECT min(id) FROM crash.sent WHERE kind = 'event' AND answered);

-- name: lost_form
DELETE FROM lead_form_submissions
WHERE idempotency_key = (SELECT min(id) FROM crash.sent WHERE kind = 'form' AND answered);

-- name: lost_turn
UPDATE crm_leads SET owner_user_id = NULL WHERE id = (SELECT id FROM crm_leads LIMIT 1);

-- name: lost_result
UPDATE automation_rule_runs SET actions_result = '[]' WHERE id = (SELECT id FROM automation_rule_runs LIMIT 1);

-- name: lost_unread
UPDATE conversations SET unread_count = 0;

-- name: lost_outcome
INSERT INTO webhook_events_log (
    id, organization_id, provider, raw_body, status, valid_signature, event_type, external_id, processed_at
)
SELECT gen_random_uuid(), organization_id, 'zernio', '', 'processed', true, 'message.read', external_id, now()
FROM messages WHERE direction = 'outbound' AND status = 'sent' LIMIT 1;

-- name: doubled_event
INSERT INTO crash.effects (event_id) SELECT event_id FROM crash.effects LIMIT 1;

-- name: doubled_lead
INSERT INTO crm_leads (organization_id, id, contact_id, title, source)
SELECT organization_id, gen_random_uuid(), contact_id, title, source
FROM crm_leads WHERE source = 'whatsapp' LIMIT 1;

-- name: doubled_lead_of_a_leaver
INSERT INTO crm_leads (organization_id, id, contact_id, title, source)
SELECT c.organization_id, gen_random_uuid(), c.id, 'saiu', 'whatsapp'
FROM contacts AS c JOIN crash.sent AS s ON s.phone = c.phone_number
GROUP BY c.organization_id, c.id HAVING bool_and(s.opts_out) LIMIT 1;

-- name: doubled_form
INSERT INTO crm_leads (organization_id, id, contact_id, title, source)
SELECT organization_id, gen_random_uuid(), contact_id, title, source
FROM crm_leads WHERE source = 'form' LIMIT 1;

-- name: doubled_turn
INSERT INTO automation_rodizio_atribuicoes (organization_id, rule_id, event_id, lead_id, user_id, posicao)
SELECT organization_id, rule_id, gen_random_uuid(), lead_id, user_id, posicao
FROM automation_rodizio_atribuicoes LIMIT 1;

-- name: doubled_fact
INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id)
SELECT organization_id, gen_random_uuid(), event_type, entity_kind, entity_id
FROM event_log WHERE event_type = 'lead.assigned' LIMIT 1;

-- name: doubled_unread
UPDATE conversations SET unread_count = unread_count + 20;

-- name: doubled_block
INSERT INTO api_audit_log (id, organization_id, action, actor, resource_kind, resource_id)
SELECT gen_random_uuid(), organization_id, action, actor, resource_kind, resource_id
FROM api_audit_log WHERE action = 'contact.blocked' LIMIT 1;

-- name: broken_cycle
UPDATE automation_rodizio_atribuicoes SET posicao = posicao % 3 + 1
WHERE seq = (SELECT max(seq) FROM automation_rodizio_atribuicoes);

-- name: broken_fairness
UPDATE automation_rodizio_atribuicoes AS t SET user_id = (
    SELECT u.user_id FROM automation_rodizio_atribuicoes AS u WHERE u.rule_id = t.rule_id LIMIT 1
);

-- name: broken_effect
INSERT INTO crash.effects (event_id) VALUES ('evt-of-nobody');

-- name: broken_open
UPDATE incoming_events SET status = 'pending', processed_at = NULL
WHERE id = (SELECT id FROM incoming_events LIMIT 1);

-- name: broken_lock
SELECT pg_advisory_xact_lock(7);

-- name: broken_orphan
INSERT INTO contacts (organization_id, id, name) SELECT id, gen_random_uuid(), 'Ninguém' FROM organizations;

-- name: broken_unknown
UPDATE messages SET external_id = 'wamid.of-nobody' WHERE id = (SELECT id FROM messages LIMIT 1);

-- name: broken_notice
INSERT INTO notices (id, kind, title) VALUES (gen_random_uuid(), 'event_dead', 'Uma mensagem não entrou');
