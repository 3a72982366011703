-- Of a fact's payload, an audit's metadata or a run's results: what cannot be about the person. Stays: ids
-- of our rows, times, truth values, and the words and figures of the fields named here; the rest goes, a
-- field that nobody thought of included.
CREATE OR REPLACE FUNCTION fn_impersonal(p_value jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE jsonb_typeof(p_value)
        WHEN 'array' THEN (
            SELECT coalesce(jsonb_agg(fn_impersonal(entry) ORDER BY n), '[]')
            FROM jsonb_array_elements(p_value) WITH ORDINALITY AS listed (entry, n)
            WHERE jsonb_typeof(entry) IN ('object', 'array'))
        WHEN 'object' THEN (
            SELECT coalesce(jsonb_object_agg(
                key, CASE WHEN jsonb_typeof(value) IN ('object', 'array') THEN fn_impersonal(value) ELSE value END
            ), '{}')
            FROM jsonb_each(p_value)
            WHERE CASE
                WHEN key = 'detail' THEN jsonb_typeof(value) = 'object'
                WHEN jsonb_typeof(value) IN ('object', 'array') THEN false
                WHEN key ~ '(^|_)(id|by_rule|from|to)$' AND fn_to_uuid(value #>> '{}') IS NOT NULL THEN
                    key <> 'external_id'
                WHEN key ~ '_at$' THEN value #>> '{}' ~ '^\d{4}-\d\d-\d\d[T ][\d:.+Z-]+$' OR value = 'null'
                ELSE jsonb_typeof(value) IN ('boolean', 'null') OR key IN (
                    'type', 'source', 'stage', 'from', 'to', 'status', 'reason', 'actor', 'nome', 'posicao',
                    'attempts', 'leads', 'rows')
            END)
    END
$$;
