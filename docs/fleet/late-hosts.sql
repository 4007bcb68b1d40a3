-- Hosts with wake-ups later than 1 ms.
SELECT host, kernel, SUM(n) AS wakeups,
       SUM(CASE WHEN lo_ns >= 1000000 THEN n ELSE 0 END) AS late,
       MAX(hi_ns) - 1 AS at_most_ns
FROM wake_bins
WHERE day >= DATE '2026-01-01' AND cpu = -1
GROUP BY host, kernel
HAVING SUM(CASE WHEN lo_ns >= 1000000 THEN n ELSE 0 END) > 0
ORDER BY late DESC, host, kernel;
