-- Percentiles of wake-up latency by kernel, of the wake-ups of all hosts together: counts of bins
-- are added. Percentiles themselves must not be averaged.
WITH merged AS (
  SELECT kernel, hi_ns, SUM(n) AS n FROM wake_bins
  WHERE day >= DATE '2026-01-01' AND cpu = -1 GROUP BY kernel, hi_ns
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
