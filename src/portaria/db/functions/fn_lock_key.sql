-- Keys of the transaction-level advisory locks, all of them here (design 4). A collision only waits.
-- Locks are taken in this order: rule, memberships by user_id, contact, leads by id.
--   'thread'  organization/session/provider conversation: first messages of one thread in turn
--   'rule'    organization/rule: the turns of one rotation
--   'form'    organization/form/idempotency key: a double click's second submission waits
--   'replay'  '': one replay round at a time in the whole installation
--   'migrate' '': one migrate at a time
--   'line'    phone number: one line registered in one spelling at a time
CREATE OR REPLACE FUNCTION fn_lock_key(p_kind text, p_key text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT hashtextextended(p_kind || ':' || p_key, 7) $$;
