-- What is remembered of a phone (`phone`) or of an id under which a contact was known, once the contact is
-- erased. The organization is its salt: two organizations' digests of one person have nothing in common.
CREATE OR REPLACE FUNCTION fn_anchor_digest(p_org uuid, p_kind text, p_value text) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT sha256(convert_to(p_org::text || '/' || p_kind || '/' || p_value, 'UTF8')) $$;
