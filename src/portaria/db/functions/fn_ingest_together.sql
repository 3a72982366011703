-- First attempts of many rows in one transaction (spec 2.3): T1 and T3 of each; for what we sent, and for
-- repetitions, T1 and the closing. Whoever asks to leave is not among them: T2 stands by itself. What is
-- not in the result is left as it was: its thread is another transaction's just now, or it names nobody.
-- It waits for no row's lock longer than `p_wait`: any error leaves all of them to be tried alone.
CREATE OR REPLACE FUNCTION fn_ingest_together(
    p_rows uuid[], p_orgs uuid[], p_sessions uuid[], p_lead_sources text[], p_messages text[],
    p_wait text
) RETURNS TABLE (row_id uuid, outcome text)
LANGUAGE plpgsql
AS $$
DECLARE
    v_row record;
    v_first record;
BEGIN
    PERFORM set_config('lock_timeout', p_wait, true);
    FOR v_row IN
        SELECT id, org, session, lead_source, message::jsonb AS message
        FROM unnest(p_rows, p_orgs, p_sessions, p_lead_sources, p_messages)
            AS listed (id, org, session, lead_source, message)
    LOOP
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(fn_lock_key(
            'thread',
            v_row.org || '/' || v_row.session || '/' || (v_row.message ->> 'provider_conversation_id')));
        v_first := fn_ingest_message(v_row.id, 0, NULL, v_row.org, v_row.session, v_row.message);
        CONTINUE WHEN v_first.outcome = 'no_anchor';
        row_id := v_row.id;
        outcome := CASE
            WHEN v_first.outcome = 'superseded' THEN 'superseded'
            WHEN v_first.outcome = 'inserted' AND v_row.message ->> 'direction' = 'inbound' THEN
                CASE fn_message_effects(
                    v_row.id, 0, NULL, v_row.org, v_first.message_id, true, 'processed', NULL, v_row.lead_source)
                WHEN 'superseded' THEN 'superseded' ELSE 'ingested' END
            WHEN NOT fn_close_row(
                v_row.id, 0, NULL, 'processed', NULL,
                CASE v_row.message ->> 'direction' WHEN 'inbound' THEN 'message.received' ELSE 'message.sent' END,
                v_row.message ->> 'external_id') THEN 'superseded'
            WHEN v_first.outcome = 'duplicate' THEN 'duplicate'
            ELSE 'ingested'
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
