-- What the service db.service waited for, day by day, and how long one wait took at most.
WITH merged AS (
  SELECT day, state, target_kind, hi_ns, SUM(n) AS n FROM wait_bins
  WHERE day >= DATE '2026-01-01' AND service = 'db.service' GROUP BY day, state, target_kind, hi_ns
), ranked AS (
  SELECT day, state, target_kind, hi_ns,
         SUM(n) OVER (PARTITION BY day, state, target_kind ORDER BY hi_ns) AS up_to,
         SUM(n) OVER (PARTITION BY day, state, target_kind) AS waits
  FROM merged
), lengths AS (
  SELECT day, state, target_kind, MAX(waits) AS waits,
         MIN(CASE WHEN 2 * up_to >= waits THEN hi_ns - 1 END) AS p50_at_most_ns,
         MIN(CASE WHEN 100 * up_to >= 99 * waits THEN hi_ns - 1 END) AS p99_at_most_ns
  FROM ranked GROUP BY day, state, target_kind
), times AS (
  SELECT day, state, target_kind, COUNT(DISTINCT host) AS hosts, SUM(total_ns) AS total_ns
  FROM waits WHERE day >= DATE '2026-01-01' AND service = 'db.service'
  GROUP BY day, state, target_kind
)
SELECT t.day, t.state, t.target_kind, t.hosts, t.total_ns, l.waits, l.p50_at_most_ns,
       l.p99_at_most_ns
FROM times t LEFT JOIN lengths l
  ON l.day = t.day AND l.state = t.state AND l.target_kind = t.target_kind
ORDER BY t.day, t.total_ns DESC, t.state, t.target_kind;
