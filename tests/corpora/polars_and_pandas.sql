-- kind: count in a notebook
SELECT COUNT(*) AS n FROM visits

-- kind: len
SELECT COUNT(1) AS len FROM visits WHERE age >= 18

-- kind: group
SELECT region, AVG(income) AS avg_income, COUNT(*) AS n FROM visits GROUP BY region ORDER BY region

-- kind: GROUP BY ALL
SELECT region, smoker, COUNT(*) AS n FROM visits GROUP BY ALL

-- kind: describe by hand
SELECT COUNT(age) AS count, AVG(age) AS mean, STDDEV(age) AS std, MIN(age) AS min, QUANTILE_CONT(age, 0.25) AS p25, MEDIAN(age) AS p50, QUANTILE_CONT(age, 0.75) AS p75, MAX(age) AS max FROM visits

-- kind: agg with a list
SELECT region, smoker, SUM(income) AS income_sum, AVG(income) AS income_mean, MIN(age) AS age_min, MAX(age) AS age_max FROM visits GROUP BY region, smoker

-- kind: value_counts
SELECT ward, COUNT(*) AS count FROM stays GROUP BY ward ORDER BY count DESC

-- kind: value_counts, normalized
SELECT ward, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS proportion FROM stays GROUP BY ward ORDER BY proportion DESC

-- kind: n_unique
SELECT COUNT(DISTINCT patient_id) AS people FROM events WHERE ward = 'a'

-- kind: crosstab
SELECT region,
       SUM(CASE WHEN smoker THEN 1 ELSE 0 END) AS smoker,
       SUM(CASE WHEN NOT smoker THEN 1 ELSE 0 END) AS other
FROM visits GROUP BY region

-- kind: resample
SELECT DATE_TRUNC('month', day) AS month, SUM(income) AS income FROM visits GROUP BY month ORDER BY month

-- kind: strftime
SELECT STRFTIME(day, '%Y-%m') AS month, COUNT(*) AS n FROM visits GROUP BY STRFTIME(day, '%Y-%m') ORDER BY month

-- kind: date_part
SELECT DATE_PART('year', day) AS year, DATE_PART('week', day) AS week, COUNT(*) FROM visits GROUP BY year, week

-- kind: cut
SELECT CASE WHEN age BETWEEN 0 AND 17 THEN '0-17' WHEN age BETWEEN 18 AND 64 THEN '18-64' ELSE '65+' END AS band, AVG(income) FROM visits GROUP BY band

-- kind: integer division
SELECT age // 10 * 10 AS decade, COUNT(*) AS n FROM visits GROUP BY decade ORDER BY decade

-- kind: round
SELECT region, ROUND(AVG(income), 2) AS income FROM visits GROUP BY region

-- kind: merge
SELECT c.title, AVG(s.nights) AS nights FROM stays AS s INNER JOIN codes AS c USING (code) GROUP BY c.title

-- kind: merge on the left
SELECT v.region, SUM(b.amount) AS amount FROM visits v LEFT JOIN bills b ON v.patient_id = b.payer GROUP BY v.region

-- kind: correlation
SELECT CORR(age, income) AS r, COVAR(age, income) AS c FROM visits

-- kind: fillna
SELECT AVG(COALESCE(income, 0)) AS income FROM visits

-- kind: share of missing values
SELECT 1 - COUNT(income) * 1.0 / COUNT(*) AS missing FROM visits

-- kind: query with a list
SELECT COUNT(*) FROM visits WHERE region IN ('north','south') AND home NOT IN ('east') AND smoker IS NOT TRUE

-- kind: nlargest of groups
SELECT city, COUNT(*) AS n FROM events GROUP BY city ORDER BY n DESC LIMIT 3

-- kind: cumsum
WITH monthly AS (SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1)
SELECT month, n, SUM(n) OVER (ORDER BY month) AS total FROM monthly ORDER BY month

-- kind: pct_change
WITH monthly AS (SELECT DATE_TRUNC('month', day) AS month, AVG(income) AS x FROM visits GROUP BY 1)
SELECT month, x / LAG(x) OVER (ORDER BY month) - 1 AS change FROM monthly ORDER BY month

-- kind: frame read in pieces
SELECT region, n FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) LIMIT 2 OFFSET 2

-- kind: read_sql_table
-- forbidden: rows of people, with their units
SELECT patient_id, age, income, region, home, smoker, day, format FROM visits

-- kind: rows without a column
-- forbidden: rows of people
SELECT * EXCLUDE (patient_id) FROM visits ORDER BY income DESC LIMIT 10

-- kind: scan of a file
-- forbidden: a file
SELECT COUNT(*) FROM read_csv('visits.csv')

-- kind: to_sql
-- forbidden: a write
CREATE TABLE frame (region TEXT, n BIGINT)

-- kind: list of values
-- forbidden: values of people
SELECT region, ARRAY_AGG(income) AS incomes FROM visits GROUP BY region
