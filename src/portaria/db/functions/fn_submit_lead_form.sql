-- A form's submission: contact, lead and the arrival's closing in one transaction (spec 7). It always
-- makes a lead, also for a contact with an open one. The same idempotency key meets its first lead
-- again (`duplicate`). 'superseded': the arrival is closed already.
-- The contact is found by phone (its spellings, provider facts 5); a person who left an e-mail alone is
-- found by that e-mail, under the identity kind `email`.
CREATE OR REPLACE FUNCTION fn_submit_lead_form(p_org uuid, p_form uuid, p_row uuid, p_key text, p_person jsonb)
RETURNS TABLE (outcome text, lead_id uuid, contact_id uuid)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    v_contact uuid;
    v_lead uuid;
BEGIN
    IF p_key IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(fn_lock_key('form', p_org || '/' || p_form || '/' || p_key));
        SELECT s.lead_id, l.contact_id INTO v_lead, v_contact
        FROM lead_form_submissions s
        JOIN crm_leads l ON l.organization_id = s.organization_id AND l.id = s.lead_id
        WHERE s.organization_id = p_org AND s.form_id = p_form AND s.idempotency_key = p_key;
    END IF;
    IF NOT fn_close_row(
        p_row, 0, NULL, 'processed', CASE WHEN v_lead IS NOT NULL THEN 'duplicate' END, 'lead_form.submitted', p_key
    ) THEN
        RETURN QUERY SELECT 'superseded', v_lead, v_contact;
        RETURN;
    END IF;
    IF v_lead IS NOT NULL THEN
        RETURN QUERY SELECT 'duplicate', v_lead, v_contact;
        RETURN;
    END IF;

    v_contact := fn_resolve_contact(p_org, NULL, p_person);
    UPDATE contacts SET email = p_person ->> 'email'
    WHERE organization_id = p_org AND id = v_contact AND email IS NULL AND p_person ->> 'email' IS NOT NULL;
    INSERT INTO crm_leads (organization_id, id, contact_id, title, source)
    VALUES (p_org, gen_random_uuid(), v_contact, p_person ->> 'name', 'form')
    RETURNING id INTO v_lead;
    INSERT INTO lead_form_submissions (organization_id, id, form_id, webhook_event_id, lead_id, idempotency_key)
    VALUES (p_org, gen_random_uuid(), p_form, p_row, v_lead, p_key);
    RETURN QUERY SELECT 'created', v_lead, v_contact;
END
$$;
