-- Appends the result of a run's action number p_index (from 0), once: false when it is there already.
-- The last one closes the run: failed if any action failed, skipped if every one was, else done.
CREATE OR REPLACE FUNCTION fn_record_action_result(p_org uuid, p_run uuid, p_index integer, p_result jsonb)
RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    v_run automation_rule_runs;
BEGIN
    UPDATE automation_rule_runs SET actions_result = actions_result || jsonb_build_array(p_result)
    WHERE organization_id = p_org AND id = p_run AND status = 'running'
        AND jsonb_array_length(actions_result) = p_index
    RETURNING * INTO v_run;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF jsonb_array_length(v_run.actions_result) >= jsonb_array_length(v_run.actions) THEN
        UPDATE automation_rule_runs SET finished_at = clock_timestamp(), status = (
            SELECT CASE WHEN bool_or(result ->> 'status' = 'failed') THEN 'failed'
                WHEN bool_and(result ->> 'status' = 'skipped') THEN 'skipped' ELSE 'done' END
            FROM jsonb_array_elements(v_run.actions_result) AS result)
        WHERE organization_id = p_org AND id = p_run;
    END IF;
    RETURN true;
END
$$;
