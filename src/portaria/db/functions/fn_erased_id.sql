-- What stands for a provider's id after its person was erased: the same for the same id, so that a
-- repetition is still recognised, and nothing that leads to anybody (a message's id may hold a phone).
-- STABLE as convert_to is: so it is inlined where it stands, on the way of every message.
CREATE OR REPLACE FUNCTION fn_erased_id(p_org uuid, p_id text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT 'erased:' || encode(sha256(convert_to(p_org::text || '/' || p_id, 'UTF8')), 'hex') $$;
