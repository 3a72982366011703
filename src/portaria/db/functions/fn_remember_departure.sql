-- Before a contact is erased: whoever is blocked is remembered by digests of what they were known by, so
-- that they stay out when they are met again; of anybody else nothing is remembered, from earlier neither.
CREATE OR REPLACE FUNCTION fn_remember_departure(p_org uuid, p_contact uuid, p_spellings text[])
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    v_contact contacts;
    v_digests bytea[];
BEGIN
    SELECT * INTO STRICT v_contact FROM contacts WHERE organization_id = p_org AND id = p_contact;
    SELECT array_agg(fn_anchor_digest(p_org, kind, value)) INTO v_digests FROM (
        SELECT kind, value FROM contact_identities WHERE organization_id = p_org AND contact_id = p_contact
        UNION
        SELECT 'phone', spelling FROM unnest(p_spellings) AS spelling
        UNION
        SELECT 'email', lower(v_contact.email) WHERE v_contact.email IS NOT NULL
    ) AS known;
    IF v_contact.is_blocked THEN
        INSERT INTO contact_suppressions (organization_id, digest)
        SELECT p_org, digest FROM unnest(v_digests) AS digest
        ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM contact_suppressions WHERE organization_id = p_org AND digest = ANY (v_digests);
    END IF;
END
$$;
