-- Comparisons of a CI by program and day: verdicts, and the geometric mean of the ratios.
SELECT service AS program, day, COUNT(*) AS comparisons,
       SUM(CASE WHEN verdict = 'slower' THEN 1 ELSE 0 END) AS slower,
       SUM(CASE WHEN verdict = 'faster' THEN 1 ELSE 0 END) AS faster,
       SUM(CASE WHEN verdict = 'undecided' THEN 1 ELSE 0 END) AS undecided,
       CAST(FLOOR(1e3 * EXP(AVG(LN(ratio)))) AS BIGINT) AS ratio_thousandths
FROM comparisons
WHERE day >= DATE '2026-01-01' AND figure = 'wall' AND ratio > 0
GROUP BY service, day
ORDER BY program, day;
