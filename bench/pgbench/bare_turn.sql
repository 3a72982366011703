WITH turn AS MATERIALIZED (SELECT nextval('bench_turn') AS n)
SELECT bench_bare_turn(:org, r.rule, l.lead, l.event, r.member)
FROM turn JOIN bench_leads l ON l.n = turn.n JOIN bench_rules r ON r.n = 1 + mod(turn.n, :rules);
