-- Leads of the tenant's organization to which somebody gave a title that may hold this text; else as
-- fn_contacts_like.
CREATE OR REPLACE FUNCTION fn_leads_titled_like(p_text text) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 10
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    v_org uuid := fn_current_organization();
    v_grams bigint[] := fn_grams(v_org, p_text);
BEGIN
    IF cardinality(v_grams) > 0 THEN
        RETURN QUERY SELECT l.id FROM crm_leads l
        WHERE l.organization_id = v_org AND (l.is_titled OR l.source <> 'whatsapp')
            AND fn_grams(l.organization_id, l.title) @> v_grams;
    END IF;
END
$$;
