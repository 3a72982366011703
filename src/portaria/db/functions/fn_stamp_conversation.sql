-- The stamp (spec 2.3): last message, preview and times by the provider's time, never backwards.
-- Inbound adds 1 to unread; outbound sets it to 0 unless it is older than the last inbound.
-- PL/pgSQL keeps its plan; a function in SQL would be planned anew for every message.
CREATE OR REPLACE FUNCTION fn_stamp_conversation(
    p_org uuid, p_conversation uuid, p_direction text, p_sent_at timestamptz, p_preview text,
    p_arrival bigint
) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE conversations SET
        last_message_preview = CASE
            WHEN last_message_at IS NULL OR p_sent_at >= last_message_at THEN p_preview
            ELSE last_message_preview
        END,
        last_message_at = greatest(last_message_at, p_sent_at),
        last_inbound_at = CASE WHEN p_direction = 'inbound'
            THEN greatest(last_inbound_at, p_sent_at) ELSE last_inbound_at END,
        last_outbound_at = CASE WHEN p_direction = 'outbound'
            THEN greatest(last_outbound_at, p_sent_at) ELSE last_outbound_at END,
        unread_count = CASE
            WHEN p_direction = 'inbound' THEN unread_count + 1
            WHEN p_sent_at < last_inbound_at THEN unread_count
            ELSE 0
        END,
        read_through = CASE
            WHEN p_direction = 'inbound' OR p_sent_at < last_inbound_at THEN read_through
            ELSE greatest(read_through, p_arrival)
        END
    WHERE organization_id = p_org AND id = p_conversation;
END
$$;
