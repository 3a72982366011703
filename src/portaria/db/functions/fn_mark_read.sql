-- A person read a conversation up to p_through (messages.arrival): what arrived after stays unread,
-- also when it commits while this runs.
CREATE OR REPLACE FUNCTION fn_mark_read(p_org uuid, p_conversation uuid, p_through bigint) RETURNS integer
LANGUAGE plpgsql
AS $$
DECLARE
    v_through bigint;
    v_unread integer;
BEGIN
    SELECT greatest(read_through, p_through) INTO v_through FROM conversations
    WHERE organization_id = p_org AND id = p_conversation
    FOR NO KEY UPDATE;
    -- A statement after the lock: it sees every message committed before the lock was ours.
    UPDATE conversations SET
        read_through = v_through,
        unread_count = (
            SELECT count(*) FROM messages
            WHERE organization_id = p_org AND conversation_id = p_conversation
                AND direction = 'inbound' AND arrival > v_through
        )
    WHERE organization_id = p_org AND id = p_conversation
    RETURNING unread_count INTO v_unread;
    RETURN v_unread;
END
$$;
