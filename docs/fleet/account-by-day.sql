-- Where the time of each service goes, day by day, in thousandths of the time in which its threads
-- were not idle. States with less than a twentieth are left out.
WITH states AS (
  SELECT service, day, state, SUM(ns) AS ns FROM account
  WHERE day >= DATE '2026-01-01' AND state <> 'idle' GROUP BY service, day, state
), parts AS (
  SELECT service, day, state, ns, SUM(ns) OVER (PARTITION BY service, day) AS whole_ns FROM states
)
SELECT service, day, state, CAST(FLOOR(1e3 * ns / whole_ns) AS BIGINT) AS thousandths
FROM parts WHERE 20 * ns >= whole_ns
ORDER BY service, day, ns DESC, state;
