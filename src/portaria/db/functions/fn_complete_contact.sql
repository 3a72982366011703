-- Fills what a known contact lacks; a phone that another contact holds is noted, never moved (5.9).
CREATE OR REPLACE FUNCTION fn_complete_contact(p_org uuid, p_contact uuid, p_message jsonb) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    v_phone text := p_message ->> 'phone';
    v_known contacts;
BEGIN
    SELECT * INTO v_known FROM contacts WHERE organization_id = p_org AND id = p_contact;
    IF (v_known.name IS NULL AND p_message ->> 'name' IS NOT NULL)
        OR (v_known.username IS DISTINCT FROM p_message ->> 'username' AND p_message ->> 'username' IS NOT NULL)
    THEN
        UPDATE contacts SET
            name = coalesce(name, p_message ->> 'name'),
            username = coalesce(p_message ->> 'username', username)
        WHERE organization_id = p_org AND id = p_contact;
    END IF;

    IF v_known.phone_number IS NULL AND v_phone IS NOT NULL THEN
        BEGIN
            UPDATE contacts SET phone_number = v_phone
            WHERE organization_id = p_org AND id = p_contact AND phone_number IS NULL;
        EXCEPTION WHEN unique_violation THEN
            UPDATE contacts SET
                source_metadata = source_metadata || jsonb_build_object('telefone_em_conflito', v_phone)
            WHERE organization_id = p_org AND id = p_contact;
        END;
    END IF;
END
$$;
