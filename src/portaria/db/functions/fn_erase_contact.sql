-- Forgets a person (LGPD, spec 2.5): blanks the contact and everything that speaks of it in place; rows
-- that history points to stay, without personal data, and turns stay as they are. In the transaction that
-- holds fn_lock_contact. p_arrivals: the archived deliveries that name the person; p_spellings: how their
-- phone may be written. Returns how many rows of each kind were blanked.
-- Runs as the owner of the tables: facts, runs and the audit are append-only for the service.
CREATE OR REPLACE FUNCTION fn_erase_contact(p_org uuid, p_contact uuid, p_arrivals uuid[], p_spellings text[])
RETURNS jsonb
LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    v_counts jsonb;
BEGIN
    PERFORM fn_remember_departure(p_org, p_contact, p_spellings);
    v_counts := jsonb_build_object('arrivals', fn_erase_arrivals(p_org, p_arrivals))
        || fn_erase_records(p_org, p_contact, p_arrivals, p_spellings)
        || fn_erase_rows(p_org, p_contact);

    UPDATE contacts SET source_metadata = source_metadata - 'telefone_em_conflito'
    WHERE organization_id = p_org AND source_metadata ->> 'telefone_em_conflito' = ANY (p_spellings);
    DELETE FROM contact_identities WHERE organization_id = p_org AND contact_id = p_contact;
    UPDATE contact_opt_outs SET external_id = fn_erased_id(p_org, external_id)
    WHERE organization_id = p_org AND contact_id = p_contact;
    UPDATE contacts SET
        name = NULL, phone_number = NULL, email = NULL, username = NULL, source_metadata = '{}',
        erased_at = clock_timestamp()
    WHERE organization_id = p_org AND id = p_contact;
    RETURN v_counts;
END
$$;
