-- What made wake-ups later than 100 us late, by kernel. In gap mode nothing wakes up.
SELECT s.kernel, s.cause, COUNT(*) AS parts, COUNT(DISTINCT s.host) AS hosts, SUM(s.ns) AS ns
FROM spike_parts s JOIN wakes w ON w.result_id = s.result_id AND w.cpu = -1 AND w.mode = 'timer'
WHERE s.day >= DATE '2026-01-01' AND s.latency_ns > 100000
GROUP BY s.kernel, s.cause
ORDER BY s.kernel, ns DESC, s.cause;
