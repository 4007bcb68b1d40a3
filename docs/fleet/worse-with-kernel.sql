-- Hosts whose 99.9th percentile of wake-up latency more than doubled from one kernel to a later one
-- that they had. A percentile of few wake-ups is none: both need 10,000. In gap mode bins have
-- readings of the clock, which are no wake-ups. The percentile of results together is no smaller
-- than the smallest of theirs, so only bins from there on are read: a few of a hundred.
WITH timers AS (
  SELECT result_id, host, kernel, started_at, cycles, COALESCE(p999_ns, 0) AS p999_ns
  FROM wakes WHERE day >= DATE '2026-01-01' AND cpu = -1 AND mode = 'timer'
), hosts AS (
  SELECT host, kernel, SUM(cycles) AS wakeups, MIN(p999_ns) AS least_ns, MIN(started_at) AS first_at
  FROM timers GROUP BY host, kernel HAVING SUM(cycles) >= 10000
), asked AS (
  SELECT t.result_id, h.host, h.kernel, h.wakeups, h.least_ns, h.first_at
  FROM timers t JOIN hosts h ON h.host = t.host AND h.kernel = t.kernel
), largest AS (
  SELECT a.host, a.kernel, a.wakeups, a.first_at, b.hi_ns, SUM(b.n) AS n
  FROM wake_bins b JOIN asked a ON a.result_id = b.result_id AND b.hi_ns > a.least_ns
  WHERE b.day >= DATE '2026-01-01' AND b.cpu = -1
  GROUP BY a.host, a.kernel, a.wakeups, a.first_at, b.hi_ns
), ranked AS (
  SELECT host, kernel, wakeups, first_at, hi_ns,
         SUM(n) OVER (PARTITION BY host, kernel ORDER BY hi_ns DESC) - n AS beyond
  FROM largest
), tails AS (
  SELECT host, kernel, first_at, MIN(hi_ns - 1) AS p999_ns
  FROM ranked WHERE 1000 * beyond <= wakeups GROUP BY host, kernel, first_at
)
SELECT b.host, a.kernel AS kernel_before, b.kernel AS kernel_after, a.p999_ns AS before_ns,
       b.p999_ns AS after_ns
FROM tails a JOIN tails b ON a.host = b.host AND a.first_at < b.first_at
WHERE b.p999_ns > 2 * a.p999_ns
ORDER BY b.host, kernel_before, kernel_after;
