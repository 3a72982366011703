-- migrate:up
SET LOCAL lock_timeout = '5s';

-- Policies ask for the organization in a sub-select: once for a query, not for each row that it reads.
DO $$
DECLARE
    p record;
BEGIN
    FOR p IN
        SELECT tablename, policyname,
            regexp_replace(qual, 'fn_(current_organization|is_operator)\(\)', '(SELECT \&)', 'g') AS seen,
            regexp_replace(with_check, 'fn_(current_organization|is_operator)\(\)', '(SELECT \&)', 'g') AS written
        FROM pg_policies
        WHERE schemaname = 'public' AND roles = '{authenticated}' AND tablename <> 'intake_minutes'
    LOOP
        EXECUTE format('ALTER POLICY %I ON %I USING (%s)', p.policyname, p.tablename, p.seen)
            || coalesce(' WITH CHECK (' || p.written || ')', '');
    END LOOP;
END
$$;

-- A contact's leads, the newest first. In the place of an index of the open ones alone, which the page of a
-- conversation could not use: a message costs no more than before.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX crm_leads_contact ON crm_leads (organization_id, contact_id, created_at DESC, id);
-- squawk-ignore require-concurrent-index-deletion
DROP INDEX crm_leads_open_contact;

-- The board: open leads by stage, the newest first. A new lead enters it, and enters anew with its owner.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX crm_leads_stage ON crm_leads (organization_id, stage, created_at DESC, id) WHERE status = 'open';

-- migrate:down
DROP INDEX crm_leads_stage;
CREATE INDEX crm_leads_open_contact ON crm_leads (organization_id, contact_id) WHERE status = 'open';
DROP INDEX crm_leads_contact;
DO $$
DECLARE
    p record;
BEGIN
    FOR p IN
        SELECT tablename, policyname,
            regexp_replace(qual, '\( SELECT (fn_\w+\(\)) AS fn_\w+\)', '\1', 'g') AS seen,
            regexp_replace(with_check, '\( SELECT (fn_\w+\(\)) AS fn_\w+\)', '\1', 'g') AS written
        FROM pg_policies
        WHERE schemaname = 'public' AND roles = '{authenticated}' AND tablename <> 'intake_minutes'
    LOOP
        EXECUTE format('ALTER POLICY %I ON %I USING (%s)', p.policyname, p.tablename, p.seen)
            || coalesce(' WITH CHECK (' || p.written || ')', '');
    END LOOP;
END
$$;
