-- assigned_at tells since when the owner is the owner, whoever changed it; null without one.
CREATE OR REPLACE FUNCTION fn_stamp_lead_owner() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.assigned_at := CASE WHEN NEW.owner_user_id IS NULL THEN NULL ELSE coalesce(NEW.assigned_at, now()) END;
    ELSIF NEW.owner_user_id IS DISTINCT FROM OLD.owner_user_id THEN
        NEW.assigned_at := CASE WHEN NEW.owner_user_id IS NULL THEN NULL ELSE now() END;
    END IF;
    RETURN NEW;
END
$$;
