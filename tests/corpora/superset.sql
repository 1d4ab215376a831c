-- kind: big number
SELECT COUNT(*) AS count
FROM public.visits
LIMIT 50000

-- kind: big number with a time range
SELECT COUNT(DISTINCT patient_id) AS "COUNT_DISTINCT(patient_id)"
FROM public.visits
WHERE day >= TO_DATE('2024-01-01', 'YYYY-MM-DD')
  AND day < TO_DATE('2025-01-01', 'YYYY-MM-DD')
LIMIT 50000

-- kind: time series
SELECT DATE_TRUNC('month', day) AS __timestamp,
       COUNT(*) AS count
FROM public.visits
WHERE day >= '2024-01-01'
  AND day < '2025-01-01'
GROUP BY DATE_TRUNC('month', day)
ORDER BY count DESC
LIMIT 10000

-- kind: time series in groups
SELECT DATE_TRUNC('week', day) AS day,
       region AS region,
       AVG(income) AS "AVG(income)"
FROM public.visits
GROUP BY DATE_TRUNC('week', day), region
ORDER BY "AVG(income)" DESC
LIMIT 10000

-- kind: series limit by an inner join
SELECT DATE_TRUNC('day', seen) AS __timestamp,
       city AS city,
       count(*) AS count
FROM public.events
JOIN
  (SELECT city AS city__,
          count(*) AS mme_inner__
   FROM public.events
   WHERE seen >= TO_TIMESTAMP('2024-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
     AND seen < TO_TIMESTAMP('2024-06-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
   GROUP BY city
   ORDER BY mme_inner__ DESC
   LIMIT 5) AS series_limit ON city = city__
WHERE seen >= TO_TIMESTAMP('2024-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
  AND seen < TO_TIMESTAMP('2024-06-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY city, DATE_TRUNC('day', seen)
ORDER BY count DESC
LIMIT 10000

-- kind: pie
SELECT region AS region, sum(income) AS "SUM(income)"
FROM public.visits
GROUP BY region
ORDER BY "SUM(income)" DESC
LIMIT 100

-- kind: table chart
SELECT region AS region,
       smoker AS smoker,
       COUNT(*) AS count,
       AVG(age) AS "AVG(age)",
       MAX(income) AS "MAX(income)"
FROM public.visits
WHERE age >= 18
GROUP BY region, smoker
ORDER BY count DESC
LIMIT 1000

-- kind: row count of a table chart
SELECT COUNT(*) AS rowcount
FROM
  (SELECT region AS region, smoker AS smoker, COUNT(*) AS count
   FROM public.visits
   GROUP BY region, smoker
   LIMIT 1000) AS rowcount_qry

-- kind: virtual dataset
SELECT ward AS ward, AVG(nights) AS "AVG(nights)"
FROM
  (SELECT s.patient_id, s.ward, s.nights, c.title
   FROM stays s
   JOIN codes c ON s.code = c.code) AS virtual_table
WHERE title IN ('flu')
GROUP BY ward
ORDER BY "AVG(nights)" DESC
LIMIT 1000

-- kind: virtual dataset of aggregates
SELECT region AS region, SUM(n) AS "SUM(n)"
FROM
  (SELECT region, smoker, COUNT(*) AS n
   FROM visits
   GROUP BY region, smoker) AS virtual_table
GROUP BY region
ORDER BY "SUM(n)" DESC
LIMIT 1000

-- kind: custom SQL metric
SELECT region AS region,
       SUM(CASE WHEN smoker THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS "smokers, %"
FROM public.visits
GROUP BY region
ORDER BY "smokers, %" DESC
LIMIT 1000

-- kind: filtered metric
SELECT COUNT(*) FILTER (WHERE age > 64) AS seniors, COUNT(*) AS everyone
FROM public.visits
LIMIT 50000

-- kind: calculated column
SELECT CASE WHEN income < 20000 THEN 'low' WHEN income < 60000 THEN 'middle' ELSE 'high' END AS bracket,
       COUNT(*) AS count
FROM public.visits
GROUP BY CASE WHEN income < 20000 THEN 'low' WHEN income < 60000 THEN 'middle' ELSE 'high' END
ORDER BY count DESC
LIMIT 1000

-- kind: pivot table
SELECT region AS region, DATE_TRUNC('quarter', day) AS day, COUNT(*) AS count
FROM public.visits
GROUP BY region, DATE_TRUNC('quarter', day)
ORDER BY count DESC
LIMIT 50000

-- kind: heat map
SELECT EXTRACT(DOW FROM seen) AS weekday, EXTRACT(HOUR FROM seen) AS hour, COUNT(*) AS count
FROM public.events
GROUP BY EXTRACT(DOW FROM seen), EXTRACT(HOUR FROM seen)
ORDER BY count DESC
LIMIT 10000

-- kind: having filter
SELECT region AS region, COUNT(*) AS count
FROM public.visits
GROUP BY region
HAVING ((COUNT(*) > 50))
ORDER BY count DESC
LIMIT 1000

-- kind: SQL Lab limit
SELECT * FROM (SELECT region, home, COUNT(*) FROM visits GROUP BY 1, 2 ORDER BY 3 DESC) AS inner_qry LIMIT 1001

-- kind: native filter values
SELECT region AS region
FROM public.visits
GROUP BY region
ORDER BY region ASC
LIMIT 1000

-- kind: native filter of a range
SELECT MIN(age) AS min, MAX(age) AS max
FROM public.visits
LIMIT 1

-- kind: latest time
SELECT MAX(seen) AS max_seen FROM public.events

-- kind: probe for columns
SELECT * FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) AS virtual_table LIMIT 0

-- kind: rolling mean
SELECT month, n, AVG(n) OVER (ORDER BY month ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS rolling
FROM (SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1) AS monthly
ORDER BY month
LIMIT 1000

-- kind: box plot
SELECT region AS region,
       PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY income) AS q1,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY income) AS median,
       PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY income) AS q3
FROM public.visits
GROUP BY region
LIMIT 1000

-- kind: samples
-- forbidden: rows of people
SELECT age AS age, income AS income, region AS region, smoker AS smoker, day AS day
FROM public.visits
LIMIT 1000

-- kind: raw records of a table chart
-- forbidden: rows of people, with their units
SELECT patient_id AS patient_id, nights AS nights
FROM public.stays
WHERE ward = 'b'
ORDER BY nights DESC
LIMIT 1000

-- kind: table preview
-- forbidden: rows of people
SELECT *
FROM public.events
LIMIT 100
