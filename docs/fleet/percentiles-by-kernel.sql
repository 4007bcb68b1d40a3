-- Percentiles of wake-up latency by kernel, of the wake-ups of all hosts together: counts of bins
-- are added. Percentiles themselves must not be averaged. In gap mode bins have readings of the
-- clock, which are no wake-ups.
WITH merged AS (
  SELECT b.kernel, b.hi_ns, SUM(b.n) AS n
  FROM wake_bins b JOIN wakes w ON w.result_id = b.result_id AND w.cpu = -1 AND w.mode = 'timer'
  WHERE b.day >= DATE '2026-01-01' AND b.cpu = -1 GROUP BY b.kernel, b.hi_ns
), ranked AS (
  SELECT kernel, hi_ns, SUM(n) OVER (PARTITION BY kernel ORDER BY hi_ns) AS up_to,
         SUM(n) OVER (PARTITION BY kernel) AS wakeups
  FROM merged
)
SELECT kernel, MAX(wakeups) AS wakeups,
       MIN(CASE WHEN 2 * up_to >= wakeups THEN hi_ns - 1 END) AS p50_ns,
       MIN(CASE WHEN 100 * up_to >= 99 * wakeups THEN hi_ns - 1 END) AS p99_ns,
       MIN(CASE WHEN 1000 * up_to >= 999 * wakeups THEN hi_ns - 1 END) AS p999_ns,
       MAX(hi_ns) - 1 AS at_most_ns
FROM ranked GROUP BY kernel ORDER BY kernel;
