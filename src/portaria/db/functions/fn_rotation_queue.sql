-- The queue of a rule's rotation, as stored; null when no action of the rule is one.
CREATE OR REPLACE FUNCTION fn_rotation_queue(p_actions jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE jsonb_typeof(action #> '{config,fila}')
        WHEN 'array' THEN action #> '{config,fila}' ELSE '[]'::jsonb END
    FROM jsonb_array_elements(p_actions) WITH ORDINALITY AS listed (action, n)
    WHERE action ->> 'type' = 'assign_owner' AND action #>> '{config,modo}' = 'rodizio'
    ORDER BY n LIMIT 1
$$;
