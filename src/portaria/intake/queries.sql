-- name: archive
INSERT INTO webhook_events_log (id, provider, organization_id, channel_session_id, headers, raw_body)
SELECT id, provider, organization_id, channel_session_id, headers::jsonb, raw_body
FROM unnest(%b, %b, %b, %b, %b, %b)
    AS arrived (id, organization_id, channel_session_id, provider, headers, raw_body)
ON CONFLICT (id) DO NOTHING;

-- name: accept
UPDATE webhook_events_log AS w SET
    valid_signature = true,
    organization_id = coalesce(w.organization_id, known.organization_id),
    channel_session_id = coalesce(w.channel_session_id, known.channel_session_id)
FROM unnest(%b, %b, %b) AS known (id, organization_id, channel_session_id)
WHERE w.id = known.id AND w.status = 'received'
RETURNING w.id;

-- name: close_unaccepted
UPDATE webhook_events_log SET
    status = %(status)s, valid_signature = %(valid_signature)s, error_message = %(reason)s,
    event_type = %(event_type)s, external_id = %(external_id)s, processed_at = clock_timestamp(),
    organization_id = coalesce(organization_id, %(organization_id)s),
    channel_session_id = coalesce(channel_session_id, %(channel_session_id)s),
    provider = coalesce(%(provider)s, provider)
WHERE id = %(id)s AND status = 'received' AND valid_signature IS NULL
RETURNING id;

-- name: claim_synchronous
UPDATE webhook_events_log SET
    organization_id = coalesce(organization_id, %(organization_id)s),
    channel_session_id = coalesce(channel_session_id, %(channel_session_id)s),
    provider = %(provider)s
WHERE id = %(id)s AND status = 'received' AND valid_signature IS NULL;

-- name: session_by_token
SELECT organization_id, id, provider, account_id, phone_number, provider_profile_id, archived_at IS NOT NULL,
    secret_ciphertext,
    CASE WHEN previous_secret_until > now() THEN previous_secret_ciphertext END
FROM channel_sessions
WHERE webhook_path_token = %(token)s;

-- name: live_sessions_by_account
SELECT organization_id, id, provider, account_id, phone_number, provider_profile_id, false, NULL, NULL
FROM channel_sessions
WHERE provider = ANY (%(providers)s) AND account_id = %(account_id)s AND archived_at IS NULL
ORDER BY provider;

-- name: live_sessions_by_phone
SELECT organization_id, id, provider, account_id, phone_number, provider_profile_id, false, NULL, NULL
FROM channel_sessions
WHERE provider = ANY (%(providers)s) AND phone_number = ANY (%(phones)s) AND archived_at IS NULL
ORDER BY provider;

-- name: live_sessions_by_profile
SELECT organization_id, id, provider, account_id, phone_number, provider_profile_id, false, NULL, NULL
FROM channel_sessions
WHERE provider = ANY (%(providers)s) AND provider_profile_id = %(profile_id)s AND archived_at IS NULL
ORDER BY provider
LIMIT 2;

-- A row with a time of try waits for nothing: it was tried, or is being replayed by hand.
-- name: backlog
SELECT count(*), extract(epoch FROM now() - min(received_at))
FROM (
    SELECT received_at FROM webhook_events_log
    WHERE processed_at IS NULL AND valid_signature AND attempts = 0 AND error_message IS NULL
        AND last_attempt_at IS NULL
    ORDER BY received_at
    LIMIT %(bound)s
) AS waiting;

-- name: ingest_message
SELECT outcome, message_id, contact_id, dispatched
FROM fn_ingest_message(
    %(row)s, %(attempts)s, %(tried_at)s, %(organization_id)s, %(session_id)s, %(message)s::jsonb
);

-- name: ingest_together
SELECT row_id, outcome FROM fn_ingest_together(%b, %b, %b, %b, %b, %s);

-- name: restamp_message
SELECT fn_restamp_message(%(organization_id)s, %(message_id)s, %(preview)s);

-- name: record_opt_out
SELECT fn_record_opt_out(%(organization_id)s, %(session_id)s, %(contact_id)s, %(message)s::jsonb);

-- name: message_effects
SELECT fn_message_effects(
    %(row)s, %(attempts)s, %(tried_at)s, %(organization_id)s, %(message_id)s, %(dispatch)s, %(status)s,
    %(note)s, %(lead_source)s
);

-- name: close_row
SELECT fn_close_row(
    %(row)s, %(attempts)s, %(tried_at)s, %(status)s, %(note)s, %(event_type)s, %(external_id)s
);

-- name: record_failure
UPDATE webhook_events_log SET
    attempts = %(after)s, error_message = %(message)s, last_attempt_at = clock_timestamp()
WHERE id = %(row)s AND status = 'received' AND attempts = %(attempts)s
    AND last_attempt_at IS NOT DISTINCT FROM %(tried_at)s;

-- name: load_rows
SELECT w.id, w.organization_id, w.channel_session_id, w.provider, w.raw_body, w.attempts, w.last_attempt_at,
    s.archived_at IS NOT NULL, w.received_at <= now() - interval '6 hours'
FROM webhook_events_log AS w
LEFT JOIN channel_sessions AS s
    ON s.organization_id = w.organization_id AND s.id = w.channel_session_id
WHERE w.id = ANY(%(rows)s) AND w.status = 'received' AND w.valid_signature;

-- name: find_message
SELECT id, contact_id, direction, fn_is_dispatched(organization_id, id)
FROM messages
WHERE organization_id = %(organization_id)s
    AND external_id IN (%(external_id)s, fn_erased_id(%(organization_id)s, %(external_id)s));

-- Rows that end (past the window, at the ceiling) are selected too. A row claimed by hand, which alone has
-- a time of try without attempts and without an error, is left to its claim for a minute.
-- name: replay_candidates
SELECT id, attempts, last_attempt_at, past_window
FROM (
    SELECT id, attempts, last_attempt_at, received_at,
        received_at <= now() - interval '6 hours' AS past_window,
        row_number() OVER (
            PARTITION BY organization_id ORDER BY last_attempt_at NULLS FIRST, received_at, id
        ) AS turn
    FROM webhook_events_log
    WHERE processed_at IS NULL AND received_at < now() - interval '5 minutes' AND valid_signature
        AND (last_attempt_at IS NULL OR last_attempt_at < %(round_started)s)
        AND (attempts > 0 OR error_message IS NOT NULL OR last_attempt_at IS NULL
            OR last_attempt_at < now() - interval '1 minute')
) AS pending
ORDER BY turn, last_attempt_at NULLS FIRST, received_at
LIMIT %(rows)s;

-- name: claim_for_replay
UPDATE webhook_events_log AS w SET attempts = w.attempts + 1, last_attempt_at = clock_timestamp()
WHERE w.id = (
    SELECT id FROM webhook_events_log
    WHERE id = %(row)s AND status = 'received' AND valid_signature AND attempts = %(attempts)s
        AND last_attempt_at IS NOT DISTINCT FROM %(tried_at)s
        AND received_at > now() - interval '6 hours'
    FOR UPDATE SKIP LOCKED
)
RETURNING w.id, w.organization_id, w.channel_session_id, w.provider, w.raw_body, w.attempts, w.last_attempt_at,
    EXISTS (
        SELECT 1 FROM channel_sessions AS s
        WHERE s.organization_id = w.organization_id AND s.id = w.channel_session_id
            AND s.archived_at IS NOT NULL
    ), false;

-- name: claim_by_hand
UPDATE webhook_events_log SET
    status = 'received', processed_at = NULL, error_message = NULL, attempts = 0,
    last_attempt_at = clock_timestamp()
WHERE id = (
    SELECT id FROM webhook_events_log WHERE id = %(row)s AND valid_signature FOR UPDATE SKIP LOCKED
)
RETURNING id;

-- name: close_never_accepted
UPDATE webhook_events_log SET
    status = 'error', error_message = 'not_accepted', processed_at = clock_timestamp()
WHERE id IN (
    SELECT id FROM webhook_events_log
    WHERE processed_at IS NULL AND valid_signature IS NOT TRUE
        AND received_at <= now() - interval '6 hours'
    ORDER BY received_at
    LIMIT 1000
    FOR UPDATE SKIP LOCKED
);

-- name: lock_round
SELECT pg_try_advisory_xact_lock(fn_lock_key('replay', ''));

-- Waiting is all that this transaction does: no other limit cuts it short.
-- name: wait_at_most
SELECT set_config('lock_timeout', %(wait)s, true), set_config('statement_timeout', '0', true);

-- name: wait_for_round
SELECT pg_advisory_xact_lock(fn_lock_key('replay', ''));

-- name: is_round_due
SELECT NOT EXISTS (
    SELECT 1 FROM cron_rounds
    WHERE name = 'webhook-replay' AND last_round_at <= clock_timestamp()
        AND last_round_at > clock_timestamp() - make_interval(secs => %(every)s)
);

-- A time in the future is a clock that was put back: due.
-- name: take_due_round
INSERT INTO cron_rounds AS c (name, last_round_at) VALUES ('webhook-replay', clock_timestamp())
ON CONFLICT (name) DO UPDATE SET last_round_at = excluded.last_round_at
WHERE c.last_round_at <= excluded.last_round_at - make_interval(secs => %(every)s)
    OR c.last_round_at > excluded.last_round_at
RETURNING name;

-- name: database_now
SELECT clock_timestamp();

-- name: apply_outcome
UPDATE messages SET status = %(status)s, status_at = greatest(status_at, %(at)s), error = %(error)s::jsonb
WHERE organization_id = %(organization_id)s AND external_id = %(external_id)s AND direction = 'outbound'
    AND CASE %(status)s
        WHEN 'read' THEN status <> 'read'
        WHEN 'delivered' THEN status = 'sent' OR (status = 'failed' AND %(at)s >= status_at)
        WHEN 'failed' THEN status = 'sent' OR (status = 'delivered' AND %(at)s >= status_at)
        ELSE false
    END
RETURNING id;

-- name: apply_edit
UPDATE messages SET body = %(body)s, edited_at = %(at)s
WHERE organization_id = %(organization_id)s AND external_id = %(external_id)s
    AND (edited_at IS NULL OR edited_at < %(at)s)
RETURNING id, conversation_id, sent_at, deleted_at IS NOT NULL;

-- name: preview_of_change
UPDATE conversations SET last_message_preview = %(preview)s
WHERE organization_id = %(organization_id)s AND id = %(conversation_id)s AND last_message_at = %(sent_at)s;

-- name: apply_delete
UPDATE messages SET deleted_at = %(at)s
WHERE organization_id = %(organization_id)s AND external_id = %(external_id)s AND deleted_at IS NULL
RETURNING id, conversation_id, sent_at, true;

-- name: message_exists
SELECT EXISTS (
    SELECT 1 FROM messages
    WHERE organization_id = %(organization_id)s AND external_id = %(external_id)s
);

-- name: apply_session_state
UPDATE channel_sessions SET state = %(state)s, state_at = %(at)s
WHERE organization_id = %(organization_id)s AND id = %(session_id)s
    AND (state_at IS NULL OR state_at < %(at)s OR (state_at = %(at)s AND state <> %(state)s))
RETURNING id;

-- name: apply_template_review
INSERT INTO channel_templates AS t (
    organization_id, channel_session_id, template_id, name, language, status, reason, status_at
) VALUES (
    %(organization_id)s, %(session_id)s, %(template_id)s, %(name)s, %(language)s, %(status)s, %(reason)s,
    %(at)s
)
ON CONFLICT (organization_id, channel_session_id, template_id) DO UPDATE SET
    name = excluded.name, language = excluded.language, status = excluded.status,
    reason = excluded.reason, status_at = excluded.status_at
WHERE t.status_at < excluded.status_at
    OR (t.status_at = excluded.status_at AND t.status <> excluded.status)
RETURNING template_id;

-- name: list_all_arrivals
SELECT id, organization_id, channel_session_id, provider, status, valid_signature, attempts, error_message,
    event_type, external_id, received_at, processed_at, last_attempt_at, octet_length(raw_body) AS body_bytes,
    body_emptied_at
FROM webhook_events_log
WHERE (%(status)s::text IS NULL OR status = %(status)s)
    AND (%(event_type)s::text IS NULL OR event_type = %(event_type)s)
    AND (%(since)s::timestamptz IS NULL OR received_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR received_at < %(until)s)
    AND (%(before)s::uuid IS NULL OR id < %(before)s)
ORDER BY id DESC
LIMIT %(limit)s;

-- The lists below are walks of an index in its order. The policy names the organization once more, which the
-- planner takes for another condition: it expects few rows then, and would rather gather all and sort them.
-- name: walk_in_order
SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true),
    set_config('jit', 'off', true);

-- One organization's, or nobody's: an ordered walk of their own index for each finished status that is wanted,
-- so that others' rows cost nothing; what is pending is little. Status and id are compared
-- as one, and it is ordered by all of the index: with an equality the walk could as well follow the primary key,
-- and of a status that nobody has it would pass all there is.
-- name: list_arrivals
SELECT id, organization_id, channel_session_id, provider, status, valid_signature, attempts, error_message,
    event_type, external_id, received_at, processed_at, last_attempt_at, octet_length(raw_body) AS body_bytes,
    body_emptied_at
FROM (
    SELECT finished.* FROM unnest(%(statuses)s::text[]) AS wanted (status)
    CROSS JOIN LATERAL (
        SELECT * FROM webhook_events_log
        WHERE (organization_id = %(organization_id)s OR (%(nobodys)s AND organization_id IS NULL))
            AND status <> 'received'
            AND (status, id) >= (wanted.status, '00000000-0000-0000-0000-000000000000')
            AND (status, id)
                < (wanted.status, coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
            AND (%(event_type)s::text IS NULL OR event_type = %(event_type)s)
            AND (%(since)s::timestamptz IS NULL OR received_at >= %(since)s)
            AND (%(until)s::timestamptz IS NULL OR received_at < %(until)s)
        ORDER BY organization_id DESC, status DESC, id DESC LIMIT %(limit)s
    ) AS finished
    UNION ALL
    (SELECT * FROM webhook_events_log
    WHERE (organization_id = %(organization_id)s OR (%(nobodys)s AND organization_id IS NULL))
        AND processed_at IS NULL AND 'received' = ANY(%(statuses)s::text[])
        AND (%(event_type)s::text IS NULL OR event_type = %(event_type)s)
        AND (%(since)s::timestamptz IS NULL OR received_at >= %(since)s)
        AND (%(until)s::timestamptz IS NULL OR received_at < %(until)s)
        AND (%(before)s::uuid IS NULL OR id < %(before)s)
    ORDER BY id DESC LIMIT %(limit)s)
) AS arrivals
ORDER BY id DESC
LIMIT %(limit)s;

-- By the provider's id: few, by their own index, whoever's they are. Looked up by themselves first, lest an
-- ordered walk through the others look cheaper.
-- name: list_named_arrivals
WITH named AS MATERIALIZED (
    SELECT * FROM webhook_events_log WHERE external_id = %(external_id)s
)
SELECT id, organization_id, channel_session_id, provider, status, valid_signature, attempts, error_message,
    event_type, external_id, received_at, processed_at, last_attempt_at, octet_length(raw_body) AS body_bytes,
    body_emptied_at
FROM named
WHERE (%(everybodys)s OR organization_id = %(organization_id)s OR (%(nobodys)s AND organization_id IS NULL))
    AND (%(status)s::text IS NULL OR status = %(status)s)
    AND (%(event_type)s::text IS NULL OR event_type = %(event_type)s)
    AND (%(since)s::timestamptz IS NULL OR received_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR received_at < %(until)s)
    AND (%(before)s::uuid IS NULL OR id < %(before)s)
ORDER BY id DESC
LIMIT %(limit)s;

-- name: show_arrival
SELECT id, organization_id, channel_session_id, provider, status, valid_signature, attempts, error_message,
    event_type, external_id, received_at, processed_at, last_attempt_at, octet_length(raw_body) AS body_bytes,
    body_emptied_at, headers, raw_body
FROM webhook_events_log
WHERE id = %(row)s;

-- Accepted rows alone: whatever was processed before its answer has its event's name since.
-- name: replayable
SELECT id
FROM webhook_events_log
WHERE valid_signature AND provider = 'zernio'
    AND organization_id IS NOT NULL AND channel_session_id IS NOT NULL
    AND (event_type IS NULL OR event_type IN ('message.received', 'message.sent'))
    AND NOT (status = 'processed' AND error_message IS NOT DISTINCT FROM 'conta_desconhecida')
    AND status = %(status)s AND body_emptied_at IS NULL
    AND (%(organization_id)s::uuid IS NULL OR organization_id = %(organization_id)s)
    AND (%(since)s::timestamptz IS NULL OR received_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR received_at < %(until)s)
ORDER BY received_at, id;

-- name: oldest_pending
SELECT extract(epoch FROM clock_timestamp() - received_at)
FROM webhook_events_log
WHERE processed_at IS NULL AND valid_signature
ORDER BY received_at
LIMIT 1;
