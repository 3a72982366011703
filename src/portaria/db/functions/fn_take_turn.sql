-- An Assign action in rotation mode: the turn and its entry in the run, one statement, one transaction, so
-- that a process that freezes afterwards holds no lock. The wait for the rule's lock is bounded (`p_wait` as
-- lock_timeout reads it), so that a frozen holder delays no other rule's leads.
CREATE OR REPLACE FUNCTION fn_take_turn(
    p_org uuid, p_rule uuid, p_lead uuid, p_event uuid, p_run uuid, p_index integer, p_wait text
) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    v_turn jsonb;
BEGIN
    PERFORM set_config('lock_timeout', p_wait, true);
    v_turn := fn_automation_rodizio_atribuir(p_org, p_rule, p_lead, p_event);
    RETURN fn_record_action_result(p_org, p_run, p_index, jsonb_build_object(
        'type', 'assign_owner', 'status', v_turn ->> 'status', 'detail', v_turn - 'status'));
END
$$;
