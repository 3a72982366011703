-- Whether a message's effects are complete: its dispatch request exists (spec 2.3, T3).
-- PL/pgSQL keeps its plan; a function in SQL would be planned anew for every message.
CREATE OR REPLACE FUNCTION fn_is_dispatched(p_org uuid, p_message uuid) RETURNS boolean
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1 FROM event_log e
        WHERE e.organization_id = p_org AND e.entity_id = p_message AND e.entity_kind = 'message'
            AND e.event_type = 'ai_agent.dispatch_requested'
    );
END
$$;
