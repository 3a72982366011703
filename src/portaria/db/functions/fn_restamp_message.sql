-- A duplicate taken up again in a replay is stamped, and adds to unread only if the conversation has not
-- yet reached the message's time (spec 2.4). After our own T1 there is nothing to do: insert and stamp
-- are one transaction.
CREATE OR REPLACE FUNCTION fn_restamp_message(p_org uuid, p_message uuid, p_preview text) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    v_message messages;
    v_last timestamptz;
BEGIN
    SELECT * INTO STRICT v_message FROM messages WHERE organization_id = p_org AND id = p_message;
    SELECT last_message_at INTO v_last FROM conversations
    WHERE organization_id = p_org AND id = v_message.conversation_id
    FOR NO KEY UPDATE;
    IF v_last IS NULL OR v_last < v_message.sent_at THEN
        PERFORM fn_stamp_conversation(
            p_org, v_message.conversation_id, v_message.direction, v_message.sent_at, p_preview,
            v_message.arrival
        );
    ELSE
        UPDATE conversations SET last_inbound_at = v_message.sent_at
        WHERE organization_id = p_org AND id = v_message.conversation_id AND v_message.direction = 'inbound'
            AND (last_inbound_at IS NULL OR last_inbound_at < v_message.sent_at);
    END IF;
END
$$;
