-- T3 (spec 2.3), one statement, one transaction: the row's closing, an open lead for the contact,
-- `message.received` and, unless the answer would come too late, `ai_agent.dispatch_requested`.
-- The closing comes first: it decides whose try this is, so a slow try and its successor cannot both
-- have effects. Returns 'done', 'already' (its dispatch request exists: `processed`, whatever was to
-- be) or 'superseded'.
CREATE OR REPLACE FUNCTION fn_message_effects(
    p_row uuid, p_attempts integer, p_tried_at timestamptz, p_org uuid, p_message uuid,
    p_dispatch boolean, p_status text, p_note text, p_lead_source text
) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    v_message messages;
    v_contact contacts;
    v_lead crm_leads;
    v_dispatched boolean;
    v_payload jsonb;
BEGIN
    IF NOT fn_close_row(
        p_row, p_attempts, p_tried_at, p_status, p_note,
        'message.received', (SELECT external_id FROM messages WHERE organization_id = p_org AND id = p_message)
    ) THEN
        RETURN 'superseded';
    END IF;

    SELECT * INTO STRICT v_message FROM messages WHERE organization_id = p_org AND id = p_message;
    SELECT * INTO STRICT v_contact FROM contacts
    WHERE organization_id = p_org AND id = v_message.contact_id
    FOR NO KEY UPDATE;
    SELECT bool_or(event_type = 'ai_agent.dispatch_requested'),
        (array_agg(payload) FILTER (WHERE event_type = 'message.received'))[1]
    INTO v_dispatched, v_payload
    FROM event_log
    WHERE organization_id = p_org AND entity_id = p_message AND entity_kind = 'message'
        AND event_type IN ('message.received', 'ai_agent.dispatch_requested');
    IF v_dispatched THEN
        UPDATE webhook_events_log SET status = 'processed', error_message = NULL
        WHERE id = p_row AND (status <> 'processed' OR error_message IS NOT NULL);
        RETURN 'already';
    END IF;
    IF v_payload IS NOT NULL THEN
        -- The effects ran without the dispatch: no lead is made twice. Whoever is blocked by now is.
        IF p_dispatch THEN
            INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id, payload)
            VALUES (
                p_org, gen_random_uuid(), 'ai_agent.dispatch_requested', 'message', p_message,
                v_payload || jsonb_build_object('blocked', v_contact.is_blocked)
            );
        END IF;
        RETURN 'done';
    END IF;

    SELECT * INTO v_lead FROM crm_leads
    WHERE organization_id = p_org AND contact_id = v_contact.id AND status = 'open'
    ORDER BY created_at, id LIMIT 1;
    IF NOT FOUND AND NOT v_contact.is_blocked THEN
        INSERT INTO crm_leads (organization_id, id, contact_id, conversation_id, title, source)
        VALUES (
            p_org, gen_random_uuid(), v_contact.id, v_message.conversation_id,
            left(coalesce(v_contact.name, v_contact.phone_number, v_contact.username, '—'), 255), p_lead_source
        )
        RETURNING * INTO v_lead;
    END IF;

    v_payload := jsonb_build_object(
        'contact_id', v_contact.id, 'lead_id', v_lead.id, 'owner_user_id', v_lead.owner_user_id,
        'conversation_id', v_message.conversation_id, 'channel_session_id', v_message.channel_session_id,
        'type', v_message.type, 'text', left(v_message.body, 4096), 'sent_at', v_message.sent_at,
        'blocked', v_contact.is_blocked
    );
    INSERT INTO event_log (organization_id, id, event_type, entity_kind, entity_id, payload)
    SELECT p_org, gen_random_uuid(), kind, 'message', p_message, v_payload
    FROM unnest(ARRAY['message.received', 'ai_agent.dispatch_requested']) WITH ORDINALITY AS fact (kind, n)
    WHERE p_dispatch OR kind = 'message.received'
    ORDER BY n
    ON CONFLICT DO NOTHING;
    RETURN 'done';
END
$$;
