-- Contacts of the tenant's organization that may hold this text in name, username, e-mail or phone: whoever
-- asks looks again. None for a text of less than three characters. With the owner's rights: under a policy
-- PostgreSQL keeps an index by a function from being used.
CREATE OR REPLACE FUNCTION fn_contacts_like(p_text text) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 10
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    v_org uuid := fn_current_organization();
    v_grams bigint[] := fn_grams(v_org, p_text);
BEGIN
    IF cardinality(v_grams) > 0 THEN
        RETURN QUERY SELECT c.id FROM contacts c
        WHERE c.organization_id = v_org
            AND fn_grams(c.organization_id, c.name, c.username, c.email, c.phone_number) @> v_grams;
    END IF;
END
$$;
