-- Whether all conditions hold for these facts. `eq` and `neq` compare whole values; `contains` looks for
-- a part of a text, or for a tag, whatever the case. A field without a value equals nothing. What cannot
-- be read (edited by hand, say) does not hold: a rule with it never runs, and never raises.
CREATE OR REPLACE FUNCTION fn_conditions_hold(p_conditions jsonb, p_facts jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    v_condition jsonb;
    v_fact jsonb;
    v_wanted text;
    v_holds boolean;
BEGIN
    FOR v_condition IN SELECT jsonb_array_elements(p_conditions) LOOP
        v_fact := p_facts -> (v_condition ->> 'field');
        v_wanted := v_condition ->> 'value';
        v_holds := v_wanted IS NOT NULL AND v_fact IS NOT NULL AND CASE v_condition ->> 'op'
            WHEN 'eq' THEN v_fact #>> '{}' = v_wanted
            WHEN 'neq' THEN v_fact #>> '{}' IS DISTINCT FROM v_wanted
            WHEN 'contains' THEN CASE jsonb_typeof(v_fact)
                WHEN 'array' THEN EXISTS (
                    SELECT FROM jsonb_array_elements_text(v_fact) AS tag WHERE lower(tag) = lower(v_wanted))
                ELSE strpos(lower(v_fact #>> '{}'), lower(v_wanted)) > 0
            END
        END;
        IF v_holds IS NOT TRUE THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END
$$;
