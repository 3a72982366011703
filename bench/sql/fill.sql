-- History from archived row `first` to row `last`. One delivery in `per_message` is a new message (the others
-- tell what became of one), with its two events; for every ten messages there is a contact with its
-- conversation, lead and turn. Of ten bodies nine are empty, as the retention leaves them. Keys follow time, as real ones do.
-- What two connections share that fill at the same time: `fill_archive.sql` and `fill_effects.sql`.
SET session_replication_role = replica;
SET synchronous_commit = off;

CREATE OR REPLACE FUNCTION pg_temp.made(kind text, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex(1700000000000 + n), 12, '0') || '7' || kind || '8000' || lpad(to_hex(n), 12, '0'))::uuid
$$;
CREATE OR REPLACE FUNCTION pg_temp.at(n bigint) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT now() - interval '90 days' + n * interval '1 second'
$$;

-- One name that nobody else has, at every size.
CREATE OR REPLACE FUNCTION pg_temp.called(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE n WHEN 1 THEN 'Quitéria Bonfim' ELSE 'Cliente ' || n END
$$;
