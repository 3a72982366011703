-- Holds a contact and its threads still until the transaction ends: no message comes in for them
-- meanwhile. Locks in the order of ingestion: threads, conversations, contact, leads. False: there is no
-- such contact. Raises serialization_failure when a thread was added while this waited: try again.
CREATE OR REPLACE FUNCTION fn_lock_contact(p_org uuid, p_contact uuid) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    v_threads uuid[];
BEGIN
    SELECT array_agg(id ORDER BY id) INTO v_threads FROM conversations
    WHERE organization_id = p_org AND contact_id = p_contact;
    PERFORM pg_advisory_xact_lock(key) FROM (
        SELECT fn_lock_key(
            'thread', p_org || '/' || channel_session_id || '/' || provider_conversation_id) AS key
        FROM conversations WHERE organization_id = p_org AND id = ANY (v_threads)
        ORDER BY 1
    ) AS threads;
    PERFORM FROM conversations WHERE organization_id = p_org AND id = ANY (v_threads) ORDER BY id FOR UPDATE;
    PERFORM FROM contacts WHERE organization_id = p_org AND id = p_contact FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM FROM crm_leads WHERE organization_id = p_org AND contact_id = p_contact ORDER BY id FOR UPDATE;
    IF v_threads IS DISTINCT FROM (
        SELECT array_agg(id ORDER BY id) FROM conversations
        WHERE organization_id = p_org AND contact_id = p_contact
    ) THEN
        RAISE EXCEPTION 'a thread came in meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN true;
END
$$;
