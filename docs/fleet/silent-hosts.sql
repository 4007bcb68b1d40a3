-- Hosts that fell silent: without a result on the newest day that any host has, and on the day
-- before it. A day is that of the host's own clock.
WITH hosts AS (
  SELECT host, MAX(day) AS last_day, COUNT(DISTINCT result_id) AS results FROM results GROUP BY host
), days AS (
  SELECT MAX(day) AS last_day FROM results
)
SELECT h.host, h.last_day, h.results
FROM hosts h CROSS JOIN days d
WHERE h.last_day <= d.last_day - INTERVAL '2' DAY
ORDER BY h.last_day, h.host;
