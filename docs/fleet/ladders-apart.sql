-- Rungs of hosts that take more than five times as long as the median host's. Only the last ladder
-- of a host counts. Figures of another method are others. Rungs of a path to another host (--host)
-- are left out: each host has its own way there.
WITH ladders AS (
  SELECT result_id, ROW_NUMBER() OVER (PARTITION BY host ORDER BY started_at DESC, result_id) AS age
  FROM results WHERE day >= DATE '2026-01-01' AND verb = 'ladder'
), placed AS (
  SELECT r.host, r.kernel, r.rung, r.method_version, r.median_ns,
         ROW_NUMBER() OVER (PARTITION BY r.rung, r.method_version
                            ORDER BY r.median_ns, r.host) AS place,
         COUNT(*) OVER (PARTITION BY r.rung, r.method_version) AS hosts
  FROM rungs r JOIN ladders l ON l.result_id = r.result_id
  WHERE l.age = 1 AND r.median_ns IS NOT NULL
    AND r.rung NOT IN ('resolve', 'connect', 'round-trip')
), middle AS (
  SELECT rung, method_version, MAX(median_ns) AS fleet_ns FROM placed
  WHERE 2 * place <= hosts + 1 GROUP BY rung, method_version
)
SELECT p.rung, p.host, p.kernel, CAST(FLOOR(p.median_ns) AS BIGINT) AS host_ns,
       CAST(FLOOR(m.fleet_ns) AS BIGINT) AS fleet_ns
FROM placed p JOIN middle m ON m.rung = p.rung AND m.method_version = p.method_version
WHERE p.hosts >= 5 AND p.median_ns > 5 * m.fleet_ns
ORDER BY p.rung, p.median_ns DESC, p.host;
