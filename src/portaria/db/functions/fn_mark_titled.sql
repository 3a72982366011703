-- trg_mark_titled: somebody gave a lead another title than its contact's name.
CREATE OR REPLACE FUNCTION fn_mark_titled() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.is_titled := true;
    RETURN NEW;
END
$$;
