-- Where the time of each service goes, day by day, in thousandths: of the wall clock of its runs, and
-- of the time of the threads in its windows (verb attach). Idle time does not count. States with
-- less than a twentieth are left out.
WITH states AS (
  SELECT a.service, r.verb, a.day, a.state, SUM(a.ns) AS ns
  FROM account a JOIN results r ON r.result_id = a.result_id
  WHERE a.day >= DATE '2026-01-01' AND a.state <> 'idle'
  GROUP BY a.service, r.verb, a.day, a.state
), parts AS (
  SELECT service, verb, day, state, ns, SUM(ns) OVER (PARTITION BY service, verb, day) AS whole_ns
  FROM states
)
SELECT service, verb, day, state, CAST(FLOOR(1e3 * ns / whole_ns) AS BIGINT) AS thousandths
FROM parts WHERE 20 * ns >= whole_ns
ORDER BY service, verb, day, ns DESC, state;
