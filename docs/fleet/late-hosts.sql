-- Hosts with wake-ups later than 1 ms. `late` is at least so many: a bin that begins before 1 ms is
-- not counted. In gap mode bins have readings of the clock, which are no wake-ups.
SELECT b.host, b.kernel, SUM(b.n) AS wakeups,
       SUM(CASE WHEN b.lo_ns >= 1000000 THEN b.n ELSE 0 END) AS late,
       MAX(b.hi_ns) - 1 AS at_most_ns
FROM wake_bins b JOIN wakes w ON w.result_id = b.result_id AND w.cpu = -1 AND w.mode = 'timer'
WHERE b.day >= DATE '2026-01-01' AND b.cpu = -1
GROUP BY b.host, b.kernel
HAVING SUM(CASE WHEN b.lo_ns >= 1000000 THEN b.n ELSE 0 END) > 0
ORDER BY late DESC, b.host, b.kernel;
