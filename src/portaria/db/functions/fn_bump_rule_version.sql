-- Every change of a rule raises its version, by the API or by hand: an ETag must never outlive it.
CREATE OR REPLACE FUNCTION fn_bump_rule_version() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.version := OLD.version + 1;
    NEW.updated_at := now();
    RETURN NEW;
END
$$;
