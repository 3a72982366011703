-- T1 of ingestion (spec 2.3), one statement, one transaction: contact, conversation, message, stamp.
-- p_attempts and p_tried_at say which try this is: a row taken over meanwhile is 'superseded'.
-- outcome: 'inserted' | 'duplicate' | 'no_anchor' | 'superseded'. `dispatched`, for a duplicate: its
-- effects are complete. Raises serialization_failure when a concurrent first message won: try again.
CREATE OR REPLACE FUNCTION fn_ingest_message(
    p_row uuid, p_attempts integer, p_tried_at timestamptz, p_org uuid, p_session uuid, p_message jsonb,
    OUT outcome text, OUT message_id uuid, OUT contact_id uuid, OUT conversation_id uuid,
    OUT dispatched boolean
)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    v_thread text := p_message ->> 'provider_conversation_id';
    v_sent_at timestamptz := (p_message ->> 'sent_at')::timestamptz;
    v_direction text := p_message ->> 'direction';
    v_contact uuid;
    v_conversation uuid;
    v_arrival bigint;
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM webhook_events_log w
        WHERE w.id = p_row AND w.status = 'received' AND w.attempts = p_attempts
            AND w.last_attempt_at IS NOT DISTINCT FROM p_tried_at
    ) THEN
        outcome := 'superseded';
        RETURN;
    END IF;

    -- Its own statement: what is read below is read after the lock (design 4).
    PERFORM pg_advisory_xact_lock(fn_lock_key('thread', p_org || '/' || p_session || '/' || v_thread));

    SELECT m.id, m.contact_id, m.conversation_id INTO message_id, contact_id, conversation_id
    FROM messages m
    WHERE m.organization_id = p_org AND m.external_id IN (
        p_message ->> 'external_id', fn_erased_id(p_org, p_message ->> 'external_id'));
    IF FOUND THEN
        outcome := 'duplicate';
        dispatched := fn_is_dispatched(p_org, message_id);
        RETURN;
    END IF;

    SELECT c.id, c.contact_id INTO v_conversation, v_contact
    FROM conversations c
    WHERE c.organization_id = p_org AND c.channel_session_id = p_session
        AND c.provider_conversation_id = v_thread
    FOR NO KEY UPDATE;

    v_contact := fn_resolve_contact(p_org, v_contact, p_message);
    IF v_contact IS NULL THEN
        outcome := 'no_anchor';
        RETURN;
    END IF;

    IF v_conversation IS NULL THEN
        INSERT INTO conversations (
            organization_id, id, contact_id, channel_session_id, provider_conversation_id
        ) VALUES (p_org, gen_random_uuid(), v_contact, p_session, v_thread)
        RETURNING id INTO v_conversation;
    END IF;

    INSERT INTO messages (
        organization_id, id, conversation_id, contact_id, channel_session_id, direction, external_id,
        type, body, attachments, metadata, status, sent_at
    ) VALUES (
        p_org, (p_message ->> 'id')::uuid, v_conversation, v_contact, p_session, v_direction,
        p_message ->> 'external_id', p_message ->> 'type', p_message ->> 'body',
        p_message -> 'attachments', p_message -> 'metadata',
        CASE v_direction WHEN 'inbound' THEN 'received' ELSE 'sent' END, v_sent_at
    )
    ON CONFLICT (organization_id, external_id) DO NOTHING
    RETURNING arrival INTO v_arrival;
    IF v_arrival IS NULL THEN
        -- One external id through two threads at once: nothing of this transaction may stay.
        RAISE EXCEPTION 'message came in meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;

    PERFORM fn_stamp_conversation(
        p_org, v_conversation, v_direction, v_sent_at, p_message ->> 'preview', v_arrival
    );
    outcome := 'inserted';
    message_id := (p_message ->> 'id')::uuid;
    contact_id := v_contact;
    conversation_id := v_conversation;
    dispatched := false;
END
$$;
