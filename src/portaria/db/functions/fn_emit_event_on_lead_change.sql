-- trg_emit_event_on_lead_change (spec 4): the facts of a lead, in the transaction that made them true,
-- whoever wrote: the rotation, the console, psql. Nothing when the value did not change.
CREATE OR REPLACE FUNCTION fn_emit_event_on_lead_change() RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    v_before crm_leads;
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM fn_emit_lead_event(NEW, 'lead.created', '{}');
    ELSE
        v_before := OLD;
        IF NEW.stage IS DISTINCT FROM v_before.stage THEN
            PERFORM fn_emit_lead_event(
                NEW, 'lead.stage_changed', jsonb_build_object('from', v_before.stage, 'to', NEW.stage));
        END IF;
    END IF;

    IF NEW.owner_user_id IS DISTINCT FROM v_before.owner_user_id THEN
        PERFORM fn_emit_lead_event(
            NEW,
            CASE WHEN NEW.owner_user_id IS NULL THEN 'lead.unassigned' ELSE 'lead.assigned' END,
            jsonb_build_object('previous_owner_user_id', v_before.owner_user_id));
    END IF;
    RETURN NULL;
END
$$;
