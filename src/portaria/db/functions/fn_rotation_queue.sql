-- The queue of a rule's rotation, as stored; null when no action of the rule is one.
CREATE OR REPLACE FUNCTION fn_rotation_queue(p_actions jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    v_action jsonb;
BEGIN
    FOR v_action IN SELECT jsonb_array_elements(p_actions) LOOP
        IF v_action ->> 'type' = 'assign_owner' AND v_action #>> '{config,modo}' = 'rodizio' THEN
            RETURN CASE jsonb_typeof(v_action #> '{config,fila}')
                WHEN 'array' THEN v_action #> '{config,fila}' ELSE '[]' END;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
