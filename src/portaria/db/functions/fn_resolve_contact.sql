-- Who a message is from (inbound) or to (outbound): spec 2.3, T1; provider facts 5.
-- The thread is the first proof; only else the anchors: business-scoped id or social user, then phone
-- (its spellings are for searching only). Never a username. Creates the contact when nobody is found;
-- null when there is no usable anchor. What is known is completed, never overwritten.
CREATE OR REPLACE FUNCTION fn_resolve_contact(p_org uuid, p_thread_contact uuid, p_message jsonb)
RETURNS uuid
LANGUAGE plpgsql
AS $$
DECLARE
    v_contact uuid := p_thread_contact;
    v_phone text := p_message ->> 'phone';
    v_spelling text;
    v_identity record;
    v_fresh uuid;
BEGIN
    IF v_contact IS NULL THEN
        SELECT i.contact_id INTO v_contact
        FROM jsonb_array_elements(p_message -> 'identities') WITH ORDINALITY AS wanted (anchor, n)
        JOIN contact_identities i ON i.organization_id = p_org
            AND i.kind = wanted.anchor ->> 'kind' AND i.value = wanted.anchor ->> 'value'
        ORDER BY wanted.n LIMIT 1;
    END IF;

    IF v_contact IS NULL THEN
        FOR v_spelling IN SELECT jsonb_array_elements_text(p_message -> 'phone_spellings') LOOP
            SELECT id INTO v_contact FROM contacts
            WHERE organization_id = p_org AND phone_number = v_spelling;
            EXIT WHEN v_contact IS NOT NULL;
        END LOOP;
    END IF;

    IF v_contact IS NULL AND v_phone IS NULL AND jsonb_array_length(p_message -> 'identities') = 0 THEN
        RETURN NULL;
    END IF;

    IF v_contact IS NULL THEN
        INSERT INTO contacts (organization_id, id, name, phone_number, username)
        VALUES (p_org, gen_random_uuid(), p_message ->> 'name', v_phone, p_message ->> 'username')
        ON CONFLICT (organization_id, phone_number) WHERE phone_number IS NOT NULL DO NOTHING
        RETURNING id INTO v_contact;
        v_fresh := v_contact;
        IF v_contact IS NULL THEN
            -- Somebody else committed this phone while we waited on the unique key.
            SELECT id INTO STRICT v_contact FROM contacts
            WHERE organization_id = p_org AND phone_number = v_phone;
        END IF;
    END IF;
    IF v_fresh IS NULL THEN
        PERFORM fn_complete_contact(p_org, v_contact, p_message);
    END IF;

    FOR v_identity IN
        SELECT wanted ->> 'kind' AS kind, wanted ->> 'value' AS value
        FROM jsonb_array_elements(p_message -> 'identities') AS wanted
        -- For a new contact every one must be ours: what was free a moment ago may be taken by now.
        WHERE v_fresh IS NOT NULL OR NOT EXISTS (
            SELECT 1 FROM contact_identities i
            WHERE i.organization_id = p_org AND i.kind = wanted ->> 'kind' AND i.value = wanted ->> 'value'
        )
    LOOP
        INSERT INTO contact_identities (organization_id, kind, value, contact_id)
        VALUES (p_org, v_identity.kind, v_identity.value, v_contact)
        ON CONFLICT DO NOTHING;
        IF NOT FOUND AND v_fresh IS NOT NULL THEN
            -- The same new person came in by two threads at once; the caller tries again and finds them.
            RAISE EXCEPTION 'identity taken meanwhile' USING ERRCODE = 'serialization_failure';
        END IF;
    END LOOP;
    RETURN v_contact;
END
$$;
