-- Whether all conditions hold for these facts. `eq` and `neq` compare whole values; `contains` looks for
-- a part of a text, or for a tag, whatever the case. A field without a value equals nothing. What cannot
-- be read (edited by hand, say) does not hold: a rule with it never runs, and never raises.
CREATE OR REPLACE FUNCTION fn_conditions_hold(p_conditions jsonb, p_facts jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $$
    SELECT coalesce(bool_and(coalesce(
        CASE c.condition ->> 'op'
            WHEN 'eq' THEN c.fact #>> '{}' = c.wanted
            WHEN 'neq' THEN c.fact #>> '{}' IS DISTINCT FROM c.wanted
            WHEN 'contains' THEN CASE jsonb_typeof(c.fact)
                WHEN 'array' THEN EXISTS (
                    SELECT FROM jsonb_array_elements_text(c.fact) AS tag WHERE lower(tag) = lower(c.wanted))
                ELSE strpos(lower(c.fact #>> '{}'), lower(c.wanted)) > 0
            END
        END AND p_facts ? (c.condition ->> 'field'), false)), true)
    FROM (
        SELECT item AS condition, p_facts -> (item ->> 'field') AS fact, item ->> 'value' AS wanted
        FROM jsonb_array_elements(p_conditions) AS item
    ) AS c
$$;
