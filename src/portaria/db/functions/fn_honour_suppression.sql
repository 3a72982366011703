-- trg_honour_suppression: somebody who asked to leave and was erased is met again, under a phone or an id
-- that is remembered: blocked from the start, audited. A person may unblock them, as anybody.
CREATE OR REPLACE FUNCTION fn_honour_suppression() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    v_contact uuid;
    v_digest bytea;
BEGIN
    IF TG_TABLE_NAME = 'contacts' THEN
        v_contact := NEW.id;
        v_digest := fn_anchor_digest(NEW.organization_id, 'phone', NEW.phone_number);
    ELSE
        v_contact := NEW.contact_id;
        v_digest := fn_anchor_digest(NEW.organization_id, NEW.kind, NEW.value);
    END IF;
    IF NOT EXISTS (
        SELECT FROM contact_suppressions WHERE organization_id = NEW.organization_id AND digest = v_digest
    ) THEN
        RETURN NULL;
    END IF;
    UPDATE contacts SET is_blocked = true, blocked_reason = 'stop_keyword', blocked_at = now()
    WHERE organization_id = NEW.organization_id AND id = v_contact AND NOT is_blocked;
    IF FOUND THEN
        INSERT INTO api_audit_log (id, organization_id, action, actor, resource_kind, resource_id, metadata)
        VALUES (
            gen_random_uuid(), NEW.organization_id, 'contact.blocked', 'system', 'contact', v_contact::text,
            jsonb_build_object('reason', 'asked_to_leave_before')
        );
    END IF;
    RETURN NULL;
END
$$;
