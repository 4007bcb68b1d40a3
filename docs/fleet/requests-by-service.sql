-- How long the requests of each service took, day by day and over all hosts, and what p99 would be
-- at most without the part of their time that slow ones have most of.
WITH merged AS (
  SELECT day, service, hi_ns, SUM(n) AS n FROM request_bins
  WHERE day >= DATE '2026-01-01' GROUP BY day, service, hi_ns
), ranked AS (
  SELECT day, service, hi_ns,
         SUM(n) OVER (PARTITION BY day, service ORDER BY hi_ns) AS up_to,
         SUM(n) OVER (PARTITION BY day, service) AS times
  FROM merged
), lengths AS (
  SELECT day, service, MAX(times) AS times,
         MIN(CASE WHEN 2 * up_to >= times THEN hi_ns - 1 END) AS p50_at_most_ns,
         MIN(CASE WHEN 100 * up_to >= 99 * times THEN hi_ns - 1 END) AS p99_at_most_ns
  FROM ranked GROUP BY day, service
), largest AS (
  SELECT day, service, part, COUNT(DISTINCT host) AS hosts, MAX(p99_without_ns) AS p99_without_ns,
         ROW_NUMBER() OVER (PARTITION BY day, service
                            ORDER BY SUM(slow_ns - typical_ns) DESC, part) AS place
  FROM request_parts WHERE day >= DATE '2026-01-01' GROUP BY day, service, part
)
SELECT l.day, l.service, l.times, l.p50_at_most_ns, l.p99_at_most_ns, m.part, m.hosts,
       m.p99_without_ns
FROM lengths l LEFT JOIN largest m ON m.day = l.day AND m.service = l.service AND m.place = 1
ORDER BY l.day, l.service;
