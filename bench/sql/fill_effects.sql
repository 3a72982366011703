INSERT INTO contacts (organization_id, id, name, phone_number, created_at)
SELECT %(org)s, pg_temp.made('001', n), pg_temp.called(n), '+55119' || lpad((n * 61803399 %% 100000000)::text, 8, '0'), pg_temp.at(n * %(per_contact)s)
FROM generate_series(%(first)s::bigint / %(per_contact)s, %(last)s::bigint / %(per_contact)s - 1) AS n;

INSERT INTO conversations (
    organization_id, id, contact_id, channel_session_id, provider_conversation_id, last_message_at,
    last_inbound_at, last_message_preview, created_at)
SELECT %(org)s, pg_temp.made('002', n), pg_temp.made('001', n), %(session)s, 'thread-' || lpad(n::text, 7, '0'), pg_temp.at((n + 1) * %(per_contact)s - 1),
    pg_temp.at((n + 1) * %(per_contact)s - 1), 'Olá, vocês têm horário amanhã à tarde?', pg_temp.at(n * %(per_contact)s)
FROM generate_series(%(first)s::bigint / %(per_contact)s, %(last)s::bigint / %(per_contact)s - 1) AS n;

INSERT INTO crm_leads (organization_id, id, contact_id, conversation_id, title, source, owner_user_id, created_at)
SELECT %(org)s, pg_temp.made('003', n), pg_temp.made('001', n), pg_temp.made('002', n), pg_temp.called(n), 'whatsapp',
    CASE WHEN n %% 4 > 0 THEN %(member)s::uuid END, pg_temp.at(n * %(per_contact)s)
FROM generate_series(%(first)s::bigint / %(per_contact)s, %(last)s::bigint / %(per_contact)s - 1) AS n;

INSERT INTO automation_rodizio_atribuicoes (
    organization_id, rule_id, event_id, lead_id, user_id, posicao, created_at)
SELECT %(org)s, %(rule)s, pg_temp.made('004', n), pg_temp.made('003', n), %(member)s, 1, pg_temp.at(n * %(per_contact)s)
FROM generate_series(%(first)s::bigint / %(per_contact)s, %(last)s::bigint / %(per_contact)s - 1) AS n;

INSERT INTO automation_rule_runs (
    organization_id, id, rule_id, event_id, lead_id, status, actions, actions_result, created_at, finished_at)
SELECT %(org)s, pg_temp.made('005', n), %(rule)s, pg_temp.made('004', n), pg_temp.made('003', n), 'done', r.actions,
    '[{"type": "assign_owner", "status": "assigned", "detail": {"nome": "Bia", "posicao": 1}}]',
    pg_temp.at(n * %(per_contact)s), pg_temp.at(n * %(per_contact)s)
FROM automation_rules AS r,
    generate_series(%(first)s::bigint / %(per_contact)s, %(last)s::bigint / %(per_contact)s - 1) AS n
WHERE r.id = %(rule)s;

INSERT INTO messages (
    organization_id, id, conversation_id, contact_id, channel_session_id, direction, external_id, type, body,
    status, sent_at, created_at)
SELECT %(org)s, pg_temp.made('006', n), pg_temp.made('002', n / 10), pg_temp.made('001', n / 10), %(session)s, 'inbound',
    'old-' || n, 'text', 'Olá, vocês têm horário amanhã à tarde?', 'received', pg_temp.at(n * %(per_message)s), pg_temp.at(n * %(per_message)s)
FROM generate_series(%(first)s::bigint / %(per_message)s, %(last)s::bigint / %(per_message)s - 1) AS n;

INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id, payload, created_at)
SELECT %(org)s, pg_temp.made(CASE kind WHEN 'message.received' THEN '007' ELSE '008' END, n), kind, 'message',
    pg_temp.made('006', n), '{"blocked": false}', pg_temp.at(n * %(per_message)s)
FROM generate_series(%(first)s::bigint / %(per_message)s, %(last)s::bigint / %(per_message)s - 1) AS n,
    unnest(ARRAY['message.received', 'ai_agent.dispatch_requested']) AS kind;

ANALYZE;
