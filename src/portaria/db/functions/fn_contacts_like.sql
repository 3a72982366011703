-- Contacts of the tenant's organization that hold this text in name, username, e-mail or phone: whoever asks
-- looks again, at what they may see. None for a text of less than three characters. With the owner's rights:
-- under a policy PostgreSQL keeps an index by a function from being used. The index knows which three characters
-- there are, not their order: among many numbers that is one to a thousand, which are left out here, before
-- anything is looked up for them.
CREATE OR REPLACE FUNCTION fn_contacts_like(p_text text) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 10
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    v_org uuid := fn_current_organization();
    v_grams bigint[] := fn_grams(v_org, p_text);
    v_like text := '%' || regexp_replace(p_text, '([\\%_])', '\\\1', 'g') || '%';
BEGIN
    IF cardinality(v_grams) > 0 THEN
        RETURN QUERY SELECT c.id FROM contacts c
        WHERE c.organization_id = v_org
            AND fn_grams(c.organization_id, c.name, c.username, c.email, c.phone_number) @> v_grams
            AND (c.name ILIKE v_like OR c.username ILIKE v_like OR c.email ILIKE v_like
                OR c.phone_number LIKE v_like);
    END IF;
END
$$;
