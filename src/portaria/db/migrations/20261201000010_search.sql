-- migrate:up
SET LOCAL lock_timeout = '5s';

-- What a search by a part of a word is answered from: every three characters in a row, hashed with their
-- organization, so that a common name of others costs nothing. Of the first 500 characters. A changed body
-- would need its indexes made anew, so it stands here and not in functions/.
CREATE FUNCTION fn_grams(p_org uuid, VARIADIC p_texts text[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    v_seed bigint := uuid_hash_extended(p_org, 0);
    v_text text := left(lower(array_to_string(p_texts, ' ')), 500);
    v_grams bigint[] := '{}';
BEGIN
    FOR n IN 1 .. length(v_text) - 2 LOOP
        v_grams := v_grams || hashtextextended(substr(v_text, n, 3), v_seed);
    END LOOP;
    RETURN v_grams;
END
$$;

-- Written when a contact is new, or known by another name: a message of a known contact costs nothing.
-- Entries are merged a thousand contacts at a time: half the WAL of a few hundred at a time.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX contacts_grams ON contacts
    USING gin (fn_grams(organization_id, name, username, email, phone_number)) WITH (gin_pending_list_limit = 1024);
-- Nothing is asked of it that statistics would answer better, and to gather them every sampled row is hashed.
ALTER INDEX contacts_grams ALTER COLUMN 1 SET STATISTICS 0;

-- Whether somebody gave the lead its title. A message's lead is called as its contact was known, and is
-- found by that.
ALTER TABLE crm_leads ADD COLUMN is_titled boolean NOT NULL DEFAULT false;
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX crm_leads_grams ON crm_leads
    USING gin (fn_grams(organization_id, title)) WITH (gin_pending_list_limit = 1024)
    WHERE is_titled OR source <> 'whatsapp';
ALTER INDEX crm_leads_grams ALTER COLUMN 1 SET STATISTICS 0;

-- The current body stands in functions/; this holds its place until it is applied.
CREATE FUNCTION fn_mark_titled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the functions of this version are not applied yet';
END
$$;
CREATE TRIGGER trg_mark_titled BEFORE UPDATE OF title ON crm_leads
    FOR EACH ROW WHEN (NEW.title IS DISTINCT FROM OLD.title AND NOT NEW.is_titled)
    EXECUTE FUNCTION fn_mark_titled();

-- migrate:down
DROP TRIGGER trg_mark_titled ON crm_leads;
DROP FUNCTION fn_mark_titled();
DROP INDEX crm_leads_grams, contacts_grams;
ALTER TABLE crm_leads DROP COLUMN is_titled;
DROP FUNCTION fn_grams(uuid, text[]);
