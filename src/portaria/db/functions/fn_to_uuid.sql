-- The uuid a text spells, or null: a queue edited by hand must not make its leads unassignable.
CREATE OR REPLACE FUNCTION fn_to_uuid(p_text text) RETURNS uuid
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE
        WHEN p_text ~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN p_text::uuid
    END
$$;
