-- What the harness adds to the database under test, as its owner: gates at the named steps, a table for
-- what use cases write, and what was sent.
CREATE SCHEMA crash;

-- A step whose gate is shut parks its statement until the harness lets go of the step's lock.
CREATE TABLE crash.gates (step text PRIMARY KEY, number integer NOT NULL, shut boolean NOT NULL DEFAULT false);

-- Of two statements at one gate both wait; a kill takes whoever came first.
CREATE FUNCTION crash.pass() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    v_number integer;
BEGIN
    SELECT number INTO v_number FROM crash.gates WHERE step = TG_ARGV[0] AND shut;
    IF FOUND THEN
        PERFORM pg_advisory_xact_lock_shared(20027, v_number);
    END IF;
    RETURN coalesce(NEW, OLD);
END
$$;

-- What the use case of an accounts event writes; nothing here keeps a second row out.
CREATE TABLE crash.effects (event_id text NOT NULL, written_at timestamptz NOT NULL DEFAULT clock_timestamp());

-- What was sent, and whether it was answered 2xx; filled in at the end.
CREATE TABLE crash.sent (
    id text PRIMARY KEY, kind text NOT NULL, organization_id uuid, phone text, opts_out boolean NOT NULL,
    answered boolean NOT NULL
);
-- The archived rows that answers named.
CREATE TABLE crash.named (arrival uuid PRIMARY KEY);

GRANT USAGE ON SCHEMA crash TO service_role;
GRANT INSERT ON crash.effects TO service_role;

CREATE TRIGGER crash_archive BEFORE INSERT ON webhook_events_log
    FOR EACH ROW EXECUTE FUNCTION crash.pass('archive');
CREATE TRIGGER crash_mark BEFORE UPDATE ON webhook_events_log
    FOR EACH ROW WHEN (OLD.valid_signature IS NULL AND NEW.valid_signature AND NEW.status = 'received')
    EXECUTE FUNCTION crash.pass('mark');
CREATE TRIGGER crash_claim BEFORE UPDATE ON webhook_events_log
    FOR EACH ROW WHEN (NEW.status = 'received' AND NEW.attempts > OLD.attempts AND OLD.valid_signature)
    EXECUTE FUNCTION crash.pass('claim');
CREATE TRIGGER crash_t1 BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION crash.pass('T1');
CREATE TRIGGER crash_t2 BEFORE INSERT ON contact_opt_outs FOR EACH ROW EXECUTE FUNCTION crash.pass('T2');
CREATE TRIGGER crash_t3 BEFORE INSERT ON event_log
    FOR EACH ROW WHEN (NEW.event_type = 'message.received') EXECUTE FUNCTION crash.pass('T3');
CREATE TRIGGER crash_turn BEFORE INSERT ON automation_rodizio_atribuicoes
    FOR EACH ROW EXECUTE FUNCTION crash.pass('turn');
CREATE TRIGGER crash_result BEFORE UPDATE ON automation_rule_runs
    FOR EACH ROW EXECUTE FUNCTION crash.pass('result');
CREATE TRIGGER crash_receive BEFORE INSERT ON procrastinate_jobs
    FOR EACH ROW WHEN (NEW.task_name = 'portaria.incoming_event') EXECUTE FUNCTION crash.pass('receive');
CREATE TRIGGER crash_job BEFORE UPDATE ON procrastinate_jobs
    FOR EACH ROW WHEN (OLD.status = 'todo' AND NEW.status = 'doing') EXECUTE FUNCTION crash.pass('job');
CREATE TRIGGER crash_ending BEFORE DELETE ON procrastinate_jobs
    FOR EACH ROW EXECUTE FUNCTION crash.pass('ending');
CREATE TRIGGER crash_begin BEFORE UPDATE ON incoming_events
    FOR EACH ROW WHEN (OLD.attempt_job IS NULL AND NEW.attempt_job IS NOT NULL)
    EXECUTE FUNCTION crash.pass('begin');
CREATE TRIGGER crash_attempt BEFORE INSERT ON crash.effects
    FOR EACH ROW EXECUTE FUNCTION crash.pass('attempt');
CREATE TRIGGER crash_form BEFORE INSERT ON lead_form_submissions
    FOR EACH ROW EXECUTE FUNCTION crash.pass('form');
