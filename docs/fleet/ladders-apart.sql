-- Rungs of hosts that take more than five times as long as the median host's. A host's last ladder
-- counts. Figures of another method are others.
WITH newest AS (
  SELECT host, kernel, rung, method_version, median_ns,
         ROW_NUMBER() OVER (PARTITION BY host, rung ORDER BY started_at DESC, result_id) AS age
  FROM rungs WHERE day >= DATE '2026-01-01' AND median_ns IS NOT NULL
), placed AS (
  SELECT host, kernel, rung, method_version, median_ns,
         ROW_NUMBER() OVER (PARTITION BY rung, method_version ORDER BY median_ns, host) AS place,
         COUNT(*) OVER (PARTITION BY rung, method_version) AS hosts
  FROM newest WHERE age = 1
), middle AS (
  SELECT rung, method_version, MAX(median_ns) AS fleet_ns FROM placed
  WHERE 2 * place <= hosts + 1 GROUP BY rung, method_version
)
SELECT p.rung, p.host, p.kernel, CAST(FLOOR(p.median_ns) AS BIGINT) AS host_ns,
       CAST(FLOOR(m.fleet_ns) AS BIGINT) AS fleet_ns
FROM placed p JOIN middle m ON m.rung = p.rung AND m.method_version = p.method_version
WHERE p.hosts >= 5 AND p.median_ns > 5 * m.fleet_ns
ORDER BY p.rung, p.median_ns DESC, p.host;
