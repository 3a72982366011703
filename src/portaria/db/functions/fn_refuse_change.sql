-- Append-only tables: neither UPDATE, DELETE nor TRUNCATE, whoever asks (spec 4).
CREATE OR REPLACE FUNCTION fn_refuse_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;
