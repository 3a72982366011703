-- Part of fn_erase_contact: conversations, messages, leads and form submissions, blanked in place. A
-- message's id gives way to what stands for it (fn_erased_id): its repetition is still recognised, and a
-- later change of it finds nothing to fill in again. A thread is not recognised: who writes again is new.
CREATE OR REPLACE FUNCTION fn_erase_rows(p_org uuid, p_contact uuid) RETURNS jsonb
LANGUAGE plpgsql
AS $$
DECLARE
    v_messages integer;
    v_submissions integer;
    v_leads integer;
    v_conversations integer;
BEGIN
    UPDATE messages m SET
        external_id = fn_erased_id(p_org, m.external_id), body = NULL, attachments = '[]', metadata = '{}',
        error = NULL, type = CASE WHEN m.type ~ '^[a-z_]+$' THEN m.type ELSE 'unknown' END
    FROM conversations v
    WHERE v.organization_id = p_org AND v.contact_id = p_contact
        AND m.organization_id = p_org AND m.conversation_id = v.id;
    GET DIAGNOSTICS v_messages = ROW_COUNT;

    UPDATE lead_form_submissions s SET idempotency_key = 'erased:' || s.id
    FROM crm_leads l
    WHERE l.organization_id = p_org AND l.contact_id = p_contact
        AND s.organization_id = p_org AND s.lead_id = l.id;
    GET DIAGNOSTICS v_submissions = ROW_COUNT;

    UPDATE crm_leads SET title = '—', tags = '{}'
    WHERE organization_id = p_org AND contact_id = p_contact;
    GET DIAGNOSTICS v_leads = ROW_COUNT;

    UPDATE conversations SET
        provider_conversation_id = 'erased:' || id,
        last_message_preview = NULL, unread_count = 0, read_through = greatest(read_through, coalesce((
            SELECT max(m.arrival) FROM messages m
            WHERE m.organization_id = p_org AND m.conversation_id = conversations.id), 0))
    WHERE organization_id = p_org AND contact_id = p_contact;
    GET DIAGNOSTICS v_conversations = ROW_COUNT;
    RETURN jsonb_build_object(
        'messages', v_messages, 'form_submissions', v_submissions, 'leads', v_leads,
        'conversations', v_conversations);
END
$$;
