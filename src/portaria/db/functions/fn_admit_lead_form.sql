-- Counts one submission of an address to a form. Returns 0 when it may come in, else the seconds until
-- the window (one minute from its first submission) ends. A refused one is not counted.
CREATE OR REPLACE FUNCTION fn_admit_lead_form(p_key bytea, p_limit integer) RETURNS integer
LANGUAGE plpgsql
AS $$
DECLARE
    v_window lead_form_rates;
BEGIN
    INSERT INTO lead_form_rates AS r (key, hits, ends_at)
    VALUES (p_key, 1, clock_timestamp() + interval '1 minute')
    ON CONFLICT (key) DO UPDATE SET
        hits = CASE WHEN r.ends_at <= clock_timestamp() THEN 1 ELSE r.hits + 1 END,
        ends_at = CASE WHEN r.ends_at <= clock_timestamp() THEN excluded.ends_at ELSE r.ends_at END
        WHERE r.ends_at <= clock_timestamp() OR r.hits < p_limit
    RETURNING * INTO v_window;
    IF NOT FOUND THEN
        SELECT * INTO v_window FROM lead_form_rates WHERE key = p_key;
        RETURN greatest(1, ceil(extract(epoch FROM v_window.ends_at - clock_timestamp())))::integer;
    END IF;
    IF v_window.hits = 1 THEN
        DELETE FROM lead_form_rates WHERE key IN (
            SELECT key FROM lead_form_rates WHERE ends_at < now() - interval '1 minute'
            LIMIT 20 FOR UPDATE SKIP LOCKED);
    END IF;
    RETURN 0;
END
$$;
