-- Rules with four members each, leads with their facts, and the two things beside: the same lock, one
-- insert and one update, on the same tables (`bench_bare_turn`), and on tables without triggers, foreign
-- keys and facts (`bench_plain_turn`).
CREATE SEQUENCE bench_turn;
CREATE TABLE bench_leads (n bigint PRIMARY KEY, lead uuid NOT NULL, event uuid NOT NULL, owner uuid);
CREATE TABLE bench_rules (n bigint PRIMARY KEY, rule uuid NOT NULL, member uuid NOT NULL);
CREATE TABLE bench_turns (rule uuid, seq bigint GENERATED ALWAYS AS IDENTITY, event uuid, PRIMARY KEY (rule, seq));

-- No job for any of them: the rules come after the leads.
INSERT INTO contacts (organization_id, id, name)
SELECT organization, gen_random_uuid(), 'bench' FROM bench_scope;
WITH made AS (
    INSERT INTO crm_leads (organization_id, id, contact_id, title, source)
    SELECT organization, gen_random_uuid(), c.id, 'bench', 'form'
    FROM bench_scope, generate_series(1, leads), contacts c WHERE c.organization_id = organization
    RETURNING id
)
SELECT count(*) FROM made;
INSERT INTO bench_leads (n, lead, event)
SELECT row_number() OVER (ORDER BY seq), entity_id, id
FROM event_log, bench_scope WHERE organization_id = organization AND event_type = 'lead.created';

WITH members AS (
    SELECT jsonb_agg(jsonb_build_object('user_id', user_id, 'pausado', false) ORDER BY user_id) AS fila
    FROM user_organizations, bench_scope WHERE organization_id = organization
), made AS (
    INSERT INTO automation_rules (organization_id, id, name, trigger_event, actions)
    SELECT organization, gen_random_uuid(), 'bench', 'lead.created', jsonb_build_array(jsonb_build_object(
        'type', 'assign_owner', 'config', jsonb_build_object('modo', 'rodizio', 'fila', fila)))
    FROM bench_scope, members, generate_series(1, 100)
    RETURNING id
)
INSERT INTO bench_rules (n, rule, member)
SELECT row_number() OVER (), id, (SELECT min(user_id::text)::uuid FROM user_organizations, bench_scope
    WHERE organization_id = organization) FROM made;

CREATE FUNCTION bench_bare_turn(p_org uuid, p_rule uuid, p_lead uuid, p_event uuid, p_member uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(fn_lock_key('rule', p_org || '/' || p_rule));
    INSERT INTO automation_rodizio_atribuicoes (organization_id, rule_id, event_id, lead_id, user_id, posicao)
    VALUES (p_org, p_rule, p_event, p_lead, p_member, 1);
    UPDATE crm_leads SET owner_user_id = p_member WHERE organization_id = p_org AND id = p_lead;
END
$$;

CREATE FUNCTION bench_plain_turn(p_rule uuid, p_lead uuid, p_event uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(fn_lock_key('bench', p_rule::text));
    INSERT INTO bench_turns (rule, event) VALUES (p_rule, p_event);
    UPDATE bench_leads SET owner = p_rule WHERE lead = p_lead;
END
$$;
CREATE UNIQUE INDEX bench_leads_lead ON bench_leads (lead);
GRANT SELECT, INSERT, UPDATE ON bench_leads, bench_rules, bench_turns TO service_role;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO service_role;
GRANT EXECUTE ON FUNCTION bench_bare_turn, bench_plain_turn TO service_role;
ANALYZE;
