-- A notice that is new, or changes its state, appears without reloading.
CREATE OR REPLACE FUNCTION fn_notify_notice() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.status IS DISTINCT FROM OLD.status THEN
        PERFORM pg_notify('portaria_live', jsonb_build_object(
            'organization_id', NEW.organization_id, 'type', 'notice.' || NEW.status, 'id', NEW.id)::text);
    END IF;
    RETURN NULL;
END
$$;
