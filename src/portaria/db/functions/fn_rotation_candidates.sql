-- The members of a rule's queue, when the turn of each comes (`place`, from 1), and why somebody cannot
-- take one (`reason`; null: eligible). The next is the first place without a reason (spec 4): the search
-- starts after the member of the newest turn; if that member left the queue, at the position they held;
-- at the top on the first turn. `posicao` counts from 1 in the stored queue, paused members included.
CREATE OR REPLACE FUNCTION fn_rotation_candidates(p_org uuid, p_rule uuid, p_queue jsonb)
RETURNS TABLE (place integer, posicao integer, user_id uuid, nome text, reason text)
LANGUAGE sql STABLE
AS $$
    WITH queue AS (
        SELECT n::integer AS posicao, fn_to_uuid(entry ->> 'user_id') AS user_id,
            coalesce(entry ->> 'pausado' = 'true', false) AS paused,
            jsonb_array_length(p_queue) AS size
        FROM jsonb_array_elements(p_queue) WITH ORDINALITY AS listed (entry, n)
    ), newest AS (
        SELECT t.user_id, t.posicao FROM automation_rodizio_atribuicoes t
        WHERE t.organization_id = p_org AND t.rule_id = p_rule
        ORDER BY t.seq DESC LIMIT 1
    ), start AS (
        SELECT coalesce(
            (SELECT min(q.posicao) + 1 FROM queue q, newest WHERE q.user_id = newest.user_id),
            (SELECT posicao FROM newest), 1) AS posicao
    )
    SELECT mod(q.posicao - CASE WHEN s.posicao > q.size THEN 1 ELSE s.posicao END + q.size, q.size) + 1,
        q.posicao, q.user_id, u.name,
        CASE
            WHEN m.user_id IS NULL THEN 'fora_da_organizacao'
            WHEN m.revoked_at IS NOT NULL THEN 'revogado'
            WHEN m.role = 'viewer' THEN 'viewer'
            WHEN q.paused THEN 'pausado'
        END
    FROM queue q
    CROSS JOIN start s
    LEFT JOIN user_organizations m ON m.organization_id = p_org AND m.user_id = q.user_id
    LEFT JOIN users u ON u.id = q.user_id
$$;
