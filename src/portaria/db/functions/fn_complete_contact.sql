-- Fills what a known contact lacks; a phone that another contact holds, under any of its spellings, is
-- noted, never moved (provider facts 5.1, 5.9).
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
        IF NOT EXISTS (
            SELECT 1 FROM jsonb_array_elements_text(p_message -> 'phone_spellings') AS spelling
            JOIN contacts c ON c.organization_id = p_org AND c.phone_number = spelling
        ) THEN
            BEGIN
                UPDATE contacts SET phone_number = v_phone
                WHERE organization_id = p_org AND id = p_contact AND phone_number IS NULL;
                RETURN;
            EXCEPTION WHEN unique_violation THEN
                NULL;  -- taken a moment ago
            END;
        END IF;
        UPDATE contacts SET
            source_metadata = source_metadata || jsonb_build_object('telefone_em_conflito', v_phone)
        WHERE organization_id = p_org AND id = p_contact
            AND source_metadata ->> 'telefone_em_conflito' IS DISTINCT FROM v_phone;
    END IF;
END
$$;
