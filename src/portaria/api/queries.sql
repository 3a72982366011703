-- name: bound_statements
SELECT set_config('statement_timeout', %(limit)s, true);
