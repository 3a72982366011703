-- Empties archived deliveries with their person; the rows stay (spec 2.5). Raises serialization_failure
-- when one of them became pending meanwhile (a replay by hand): a promise keeps its body.
CREATE OR REPLACE FUNCTION fn_erase_arrivals(p_org uuid, p_arrivals uuid[]) RETURNS integer
LANGUAGE plpgsql
AS $$
DECLARE
    v_count integer;
BEGIN
    UPDATE webhook_events_log SET
        raw_body = '', headers = '{}', body_emptied_at = coalesce(body_emptied_at, clock_timestamp()),
        external_id = fn_erased_id(p_org, external_id),
        event_type = CASE WHEN event_type ~ '^[a-z_.]{1,50}$' THEN event_type END,
        error_message = CASE
            WHEN error_message ~ '^([a-z_]+|contract: [A-Za-z_., ]+)$' THEN error_message
            WHEN error_message IS NOT NULL THEN 'erased'
        END
    WHERE id = ANY (p_arrivals) AND status <> 'received'
        AND (organization_id = p_org OR organization_id IS NULL);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF EXISTS (SELECT FROM webhook_events_log WHERE id = ANY (p_arrivals) AND status = 'received') THEN
        RAISE EXCEPTION 'an arrival became pending meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN v_count;
END
$$;
