-- Members of the current organization, locked against being revoked or demoted until the transaction
-- ends. For `authenticated`, which may not write memberships and so cannot lock them itself: it runs as
-- the owner, and takes no organization but the current one.
CREATE OR REPLACE FUNCTION fn_lock_members(p_users uuid[])
RETURNS TABLE (user_id uuid, role text, revoked_at timestamptz)
LANGUAGE sql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT m.user_id, m.role, m.revoked_at FROM user_organizations m
    WHERE m.organization_id = fn_current_organization() AND m.user_id = ANY (p_users)
    ORDER BY m.user_id
    FOR SHARE
$$;
