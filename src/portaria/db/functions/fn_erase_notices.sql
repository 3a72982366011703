-- Part of fn_erase_contact: notices that name the person; and those about their rows, unless their words
-- are fixed ones of ours. Blanked and resolved: without its words a notice tells nobody anything.
CREATE OR REPLACE FUNCTION fn_erase_notices(p_org uuid, p_contact uuid, p_arrivals uuid[], p_spellings text[])
RETURNS integer
LANGUAGE plpgsql
AS $$
DECLARE
    v_contact contacts;
    v_names text[];
    v_count integer;
BEGIN
    SELECT * INTO STRICT v_contact FROM contacts WHERE organization_id = p_org AND id = p_contact;
    -- What points to one person wherever it stands; a name or a short id does not.
    SELECT array_agg(named) INTO v_names FROM (
        SELECT unnest(p_spellings) UNION SELECT lower(v_contact.email)
        UNION SELECT lower(value) FROM contact_identities
        WHERE organization_id = p_org AND contact_id = p_contact
    ) AS known (named) WHERE length(named) >= 8;

    WITH theirs AS (
        SELECT kind, id::text AS id FROM fn_rows_of_contact(p_org, p_contact)
        UNION ALL
        SELECT 'webhook_event', id::text FROM unnest(p_arrivals) AS id
    )
    UPDATE notices n SET
        title = 'Aviso sobre uma pessoa apagada', body = '', status = 'resolved',
        resolved_at = coalesce(resolved_at, now())
    WHERE (n.organization_id = p_org OR n.organization_id IS NULL)
        AND (
            EXISTS (SELECT FROM unnest(v_names) AS named WHERE strpos(lower(n.title || ' ' || n.body), named) > 0)
            OR (
                EXISTS (SELECT FROM theirs WHERE theirs.kind = n.resource_kind AND theirs.id = n.resource_id)
                AND (
                    n.kind NOT IN ('event_dead', 'event_contract', 'automation')
                    OR EXISTS (
                        SELECT FROM unnest(ARRAY[v_contact.name, v_contact.username]) AS named
                        WHERE length(named) >= 3 AND strpos(lower(n.title || ' ' || n.body), lower(named)) > 0)
                )
            )
        );
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
