-- Accounts that do not sum to their time, to the nanosecond. There are none.
WITH sums AS (
  SELECT result_id, SUM(ns) AS ns FROM account GROUP BY result_id
)
SELECT r.result_id, r.verb, COALESCE(r.thread_ns, r.wall_ns) AS whole_ns, s.ns AS sum_ns
FROM results r LEFT JOIN sums s ON s.result_id = r.result_id
WHERE r.verb IN ('run', 'attach') AND (s.ns IS NULL OR s.ns <> COALESCE(r.thread_ns, r.wall_ns))
ORDER BY r.result_id;
