INSERT INTO webhook_events_log (
    id, organization_id, channel_session_id, provider, headers, raw_body, status, valid_signature, event_type,
    external_id, received_at, processed_at)
SELECT pg_temp.made('005', n), %(org)s, %(session)s, 'zernio', %(headers)s::jsonb,
    CASE WHEN n %% 10 = 0 THEN %(body)s::bytea ELSE '' END, 'processed', true, 'message.received', 'old-' || n,
    pg_temp.at(n), pg_temp.at(n) + interval '40 ms'
FROM generate_series(%(first)s::bigint, %(last)s::bigint - 1) AS n;

ANALYZE webhook_events_log;
