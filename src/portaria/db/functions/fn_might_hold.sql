-- Whether bytes may hold one of the needles: as they are, or hidden by an escape or another encoding. For
-- sifting an archive; what it lets through is to be looked at closely.
CREATE OR REPLACE FUNCTION fn_might_hold(p_raw bytea, p_needles bytea[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    v_needle bytea;
BEGIN
    FOREACH v_needle IN ARRAY p_needles LOOP
        IF position(v_needle IN p_raw) > 0 THEN
            RETURN true;
        END IF;
    END LOOP;
    -- \u002x to \u007x: plain letters and digits, escaped; a zero byte: UTF-16 or UTF-32.
    RETURN position('\x00'::bytea IN p_raw) > 0 OR (
        position('\x5c753030'::bytea IN p_raw) > 0 AND (
            position('\x5c75303032'::bytea IN p_raw) > 0 OR position('\x5c75303033'::bytea IN p_raw) > 0
            OR position('\x5c75303034'::bytea IN p_raw) > 0 OR position('\x5c75303035'::bytea IN p_raw) > 0
            OR position('\x5c75303036'::bytea IN p_raw) > 0 OR position('\x5c75303037'::bytea IN p_raw) > 0
        ));
END
$$;
