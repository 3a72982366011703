-- The one trigger that turns a fact into a job, in the fact's own transaction, at its end. Only facts
-- with a consumer become jobs:
--   lead.assigned             portaria.push, when the owner has a subscribed browser
--   lead.handed_to_rotation   portaria.event, one at a time per rule, in arrival order
--   a rule's trigger          portaria.event, when an active rule matches and no rule caused the fact
-- Pushes have a queue of their own: a slow push service delays no rotation.
CREATE OR REPLACE FUNCTION fn_enqueue_event() RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    v_task text := 'portaria.event';
    v_queue text := 'events';
    v_lock text;
BEGIN
    IF NEW.event_type = 'lead.assigned' THEN
        IF NOT EXISTS (
            SELECT FROM push_subscriptions
            WHERE organization_id = NEW.organization_id AND user_id = (NEW.payload ->> 'owner_user_id')::uuid
        ) THEN
            RETURN NULL;
        END IF;
        v_task := 'portaria.push';
        v_queue := 'push';
    ELSIF NEW.event_type = 'lead.handed_to_rotation' THEN
        v_lock := 'rotation/' || (NEW.payload ->> 'rule_id');
    ELSIF NOT EXISTS (
        -- One index probe; only then what is dearer.
        SELECT FROM automation_rules
        WHERE organization_id = NEW.organization_id AND trigger_event = NEW.event_type
            AND is_active AND deleted_at IS NULL
    ) OR NOT EXISTS (SELECT FROM fn_matching_rules(NEW.organization_id, NEW.id)) THEN
        RETURN NULL;
    END IF;

    PERFORM procrastinate_defer_jobs_v1(ARRAY[ROW(
        v_queue, v_task, 0, v_lock, NULL,
        jsonb_build_object('organization_id', NEW.organization_id, 'event_id', NEW.id), NULL
    )::procrastinate_job_to_defer_v1]);
    RETURN NULL;
END
$$;
