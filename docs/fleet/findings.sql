-- Causes by the number of hosts that have them, and what their changes save. Within a result
-- savings are never summed: several findings may be of one bottleneck, whose time goes only once.
-- So a cause counts once a result, with its largest saving; the columns `alone` count a result only
-- under the cause that saves most there, which is the first on its page, and are what may be added
-- up over causes of one unit (`saved`). What saves most over all has the largest alone_expected_ns.
WITH of_result AS (
  SELECT result_id, host, cause, saved, MIN(row_number) AS row_number,
         MAX(saving_lo_ns) AS lo_ns, MAX(saving_hi_ns) AS hi_ns,
         MAX(COALESCE(expected_ns, saving_lo_ns)) AS expected_ns,
         MAX(CASE WHEN shared_with IS NULL THEN 0 ELSE 1 END) AS shared
  FROM findings
  WHERE day >= DATE '2026-01-01' AND saving_lo_ns IS NOT NULL
  GROUP BY result_id, host, cause, saved
), placed AS (
  SELECT host, cause, saved, lo_ns, hi_ns, expected_ns, shared,
         ROW_NUMBER() OVER (PARTITION BY result_id, saved ORDER BY row_number) AS place
  FROM of_result
)
SELECT cause, saved, COUNT(DISTINCT host) AS hosts, COUNT(*) AS results,
       SUM(lo_ns) AS saving_lo_ns, SUM(hi_ns) AS saving_hi_ns, SUM(shared) AS shared_in,
       SUM(CASE WHEN place = 1 THEN lo_ns ELSE 0 END) AS alone_lo_ns,
       SUM(CASE WHEN place = 1 THEN expected_ns ELSE 0 END) AS alone_expected_ns,
       SUM(CASE WHEN place = 1 THEN hi_ns ELSE 0 END) AS alone_hi_ns
FROM placed GROUP BY cause, saved
ORDER BY hosts DESC, saving_lo_ns DESC, cause, saved;
