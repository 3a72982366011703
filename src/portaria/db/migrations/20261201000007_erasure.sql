-- migrate:up
SET LOCAL lock_timeout = '5s';

-- Since when a contact is a row without a person: nothing in it, nor in what points to it, says who it was.
ALTER TABLE contacts ADD COLUMN erased_at timestamptz;

-- Whoever asked to leave must stay out after they are forgotten: under what they were known, as digests
-- salted with the organization. Kept for that alone, and only for people who were blocked when erased.
CREATE TABLE contact_suppressions (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    digest bytea NOT NULL CHECK (length(digest) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, digest)
);
ALTER TABLE contact_suppressions ENABLE ROW LEVEL SECURITY;
CREATE POLICY service ON contact_suppressions TO service_role USING (true) WITH CHECK (true);
-- `authenticated` gets nothing on it: nobody looks at it.
GRANT SELECT ON contact_suppressions TO service_role;

-- The current body stands in functions/; this holds its place until it is applied.
CREATE FUNCTION fn_honour_suppression() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the functions of this version are not applied yet';
END
$$;
-- Whoever is met again under a remembered phone or id is blocked from the start.
CREATE TRIGGER trg_honour_suppression AFTER INSERT OR UPDATE OF phone_number ON contacts
    FOR EACH ROW WHEN (NEW.phone_number IS NOT NULL AND NOT NEW.is_blocked)
    EXECUTE FUNCTION fn_honour_suppression();
CREATE TRIGGER trg_honour_suppression AFTER INSERT ON contact_identities
    FOR EACH ROW EXECUTE FUNCTION fn_honour_suppression();

-- migrate:down
DROP TRIGGER trg_honour_suppression ON contact_identities;
DROP TRIGGER trg_honour_suppression ON contacts;
DROP FUNCTION fn_honour_suppression();
DROP TABLE contact_suppressions;
ALTER TABLE contacts DROP COLUMN erased_at;
