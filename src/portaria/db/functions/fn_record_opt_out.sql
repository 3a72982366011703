-- T2 (spec 2.3): whoever asked to leave is blocked, once per message, audited. Without a known contact
-- (a message that was never ingested, spec 2.4) one is created blocked, with no conversation, message
-- or lead. Returns whether this call blocked somebody.
CREATE OR REPLACE FUNCTION fn_record_opt_out(
    p_org uuid, p_session uuid, p_contact uuid, p_message jsonb
) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    v_contact uuid := p_contact;
BEGIN
    IF EXISTS (
        SELECT 1 FROM contact_opt_outs
        WHERE organization_id = p_org AND external_id IN (
            p_message ->> 'external_id', fn_erased_id(p_org, p_message ->> 'external_id'))
    ) THEN
        RETURN false;
    END IF;

    IF v_contact IS NULL THEN
        PERFORM pg_advisory_xact_lock(fn_lock_key(
            'thread', p_org || '/' || p_session || '/' || (p_message ->> 'provider_conversation_id')));
        SELECT contact_id INTO v_contact FROM conversations
        WHERE organization_id = p_org AND channel_session_id = p_session
            AND provider_conversation_id = p_message ->> 'provider_conversation_id';
        v_contact := fn_resolve_contact(p_org, v_contact, p_message);
        IF v_contact IS NULL THEN
            RETURN false;  -- no usable anchor: the body holds no opt-out (spec 2.4)
        END IF;
    END IF;

    INSERT INTO contact_opt_outs (organization_id, external_id, contact_id)
    VALUES (p_org, p_message ->> 'external_id', v_contact)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;

    UPDATE contacts SET is_blocked = true, blocked_reason = 'stop_keyword', blocked_at = now()
    WHERE organization_id = p_org AND id = v_contact AND NOT is_blocked;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO api_audit_log (id, organization_id, action, actor, resource_kind, resource_id, metadata)
    VALUES (
        gen_random_uuid(), p_org, 'contact.blocked', 'system', 'contact', v_contact::text,
        jsonb_build_object('reason', 'stop_keyword', 'external_id', p_message ->> 'external_id')
    );
    RETURN true;
END
$$;
