-- What made wake-ups later than 100 us late, by kernel.
SELECT kernel, cause, COUNT(*) AS parts, COUNT(DISTINCT host) AS hosts, SUM(ns) AS ns
FROM spike_parts
WHERE day >= DATE '2026-01-01' AND latency_ns > 100000
GROUP BY kernel, cause
ORDER BY kernel, ns DESC, cause;
