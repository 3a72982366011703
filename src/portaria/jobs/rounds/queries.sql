-- name: take_due
INSERT INTO cron_rounds AS c (name, last_round_at) VALUES (%(name)s, clock_timestamp())
ON CONFLICT (name) DO UPDATE SET last_round_at = excluded.last_round_at
WHERE c.last_round_at <= excluded.last_round_at - make_interval(secs => %(every)s)
    OR c.last_round_at > excluded.last_round_at;
