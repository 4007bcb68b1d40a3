-- Hosts whose 99.9th percentile of wake-up latency more than doubled from one kernel to a later one
-- that they had. A percentile of few wake-ups is none: both need 10,000. In gap mode bins have
-- readings of the clock, which are no wake-ups.
WITH merged AS (
  SELECT b.host, b.kernel, b.hi_ns, SUM(b.n) AS n, MIN(b.started_at) AS first_at
  FROM wake_bins b JOIN wakes w ON w.result_id = b.result_id AND w.cpu = -1 AND w.mode = 'timer'
  WHERE b.day >= DATE '2026-01-01' AND b.cpu = -1 GROUP BY b.host, b.kernel, b.hi_ns
), ranked AS (
  SELECT host, kernel, hi_ns, SUM(n) OVER (PARTITION BY host, kernel ORDER BY hi_ns) AS up_to,
         SUM(n) OVER (PARTITION BY host, kernel) AS wakeups,
         MIN(first_at) OVER (PARTITION BY host, kernel) AS first_at
  FROM merged
), tails AS (
  SELECT host, kernel, MAX(wakeups) AS wakeups, MIN(first_at) AS first_at,
         MIN(CASE WHEN 1000 * up_to >= 999 * wakeups THEN hi_ns - 1 END) AS p999_ns
  FROM ranked GROUP BY host, kernel
)
SELECT b.host, a.kernel AS kernel_before, b.kernel AS kernel_after, a.p999_ns AS before_ns,
       b.p999_ns AS after_ns
FROM tails a JOIN tails b ON a.host = b.host AND a.first_at < b.first_at
WHERE a.wakeups >= 10000 AND b.wakeups >= 10000 AND b.p999_ns > 2 * a.p999_ns
ORDER BY b.host, kernel_before, kernel_after;
