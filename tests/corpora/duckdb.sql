-- kind: FROM first
FROM visits SELECT region, count(*) GROUP BY region

-- kind: group by all, order by all
SELECT region, smoker, count(*) AS n FROM visits GROUP BY ALL ORDER BY ALL

-- kind: count without a star
SELECT count() FROM visits

-- kind: qualified by the schema
SELECT count(*) FROM main.visits

-- kind: qualified by the catalogue
SELECT avg(age) FROM memory.main.visits

-- kind: count_if
SELECT count_if(age > 64) AS seniors, countif(smoker) AS smokers FROM visits

-- kind: filter
SELECT region, avg(income) FILTER (smoker) AS a, avg(income) FILTER (NOT smoker) AS b FROM visits GROUP BY region

-- kind: prefix alias
SELECT r: region, n: count(*) FROM visits GROUP BY r

-- kind: alias in WHERE and HAVING
SELECT age // 10 AS decade, count(*) AS n FROM visits WHERE decade > 2 GROUP BY decade HAVING n > 5 ORDER BY decade

-- kind: quantiles in a list
SELECT quantile_cont(age, [0.25, 0.5, 0.75]) AS q FROM visits

-- kind: statistics
SELECT kurtosis(age), skewness(age), entropy(age), mad(age) FROM visits

-- kind: approximate
SELECT approx_count_distinct(patient_id), approx_quantile(income, 0.9) FROM visits

-- kind: mode
SELECT mode(region), mode(age) FROM visits

-- kind: arg_max over groups
SELECT arg_max(region, n) AS busiest, max(n) AS n FROM (SELECT region, count(*) AS n FROM visits GROUP BY region)

-- kind: histogram function
SELECT histogram(age // 10) FROM visits

-- kind: month names
SELECT monthname(day) AS month, count(*) FROM visits GROUP BY month, month(day) ORDER BY month(day)

-- kind: strftime
SELECT strftime(day, '%Y-%m') AS month, round(avg(income), 2) AS income FROM visits GROUP BY ALL ORDER BY month

-- kind: time_bucket
SELECT time_bucket(INTERVAL '2 weeks', day) AS bucket, count(*) FROM visits GROUP BY bucket ORDER BY bucket

-- kind: intervals
SELECT count(*) FROM visits WHERE day BETWEEN DATE '2024-06-30' - INTERVAL 90 DAY AND DATE '2024-06-30'

-- kind: today
SELECT count(*) FROM visits WHERE day > today() - 365

-- kind: PIVOT statement
PIVOT visits ON region USING count(*) GROUP BY smoker

-- kind: PIVOT clause
FROM (SELECT region, year(day) AS y, income FROM visits) PIVOT (sum(income) FOR y IN (2024, 2025) GROUP BY region)

-- kind: UNPIVOT of aggregates
UNPIVOT (SELECT avg(age) AS age, avg(income) AS income FROM visits) ON age, income INTO NAME what VALUE mean

-- kind: QUALIFY of groups
SELECT region, home, count(*) AS n FROM visits GROUP BY region, home QUALIFY rank() OVER (PARTITION BY region ORDER BY n DESC) = 1

-- kind: QUALIFY of each person
SELECT region, count(*) FROM (FROM visits QUALIFY row_number() OVER (PARTITION BY patient_id ORDER BY day DESC) = 1) GROUP BY region

-- kind: named window
SELECT m, n, lag(n) OVER w AS before, n - lag(n) OVER w AS change
FROM (SELECT date_trunc('month', day) AS m, count(*) AS n FROM visits GROUP BY m)
WINDOW w AS (ORDER BY m)

-- kind: grouping sets
SELECT region, smoker, count(*), grouping(region, smoker) AS g FROM visits GROUP BY GROUPING SETS ((region, smoker), (region), ())

-- kind: cube
SELECT region, smoker, avg(income) FROM visits GROUP BY CUBE (region, smoker)

-- kind: semi join
SELECT count(*) FROM visits SEMI JOIN stays USING (patient_id)

-- kind: anti join
SELECT count(*) FROM visits ANTI JOIN stays USING (patient_id)

-- kind: columns of a star
SELECT avg(COLUMNS(['age', 'income'])) FROM visits

-- kind: CTE before FROM
WITH p AS (FROM visits SELECT patient_id, count(*) AS n GROUP BY patient_id) FROM p SELECT avg(n), max(n)

-- kind: try_cast and functions of rows
SELECT avg(try_cast(format AS INTEGER)), sum(ceil(income / 1000)), avg(abs(age - 40)) FROM visits

-- kind: text of keys
SELECT upper(region[1:1]) AS letter, count(*) FROM visits WHERE starts_with(region, 'n') OR contains(region, 'th') GROUP BY letter

-- kind: sample
SELECT avg(age) FROM visits USING SAMPLE 10 PERCENT (bernoulli)

-- kind: string functions over the result
SELECT concat(region, ': ', count(*)) AS line, printf('%.1f', avg(age)) AS age FROM visits GROUP BY region

-- kind: recursive calendar
WITH RECURSIVE m(d) AS (SELECT DATE '2024-01-01' UNION ALL SELECT d + INTERVAL 1 MONTH FROM m WHERE d < DATE '2024-12-01')
SELECT d, n FROM m LEFT JOIN (SELECT date_trunc('month', day) AS month, count(*) AS n FROM visits GROUP BY month) ON d = month ORDER BY d

-- kind: list of tables
SHOW TABLES

-- kind: columns of a table
DESCRIBE visits

-- kind: catalogue
SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'visits'

-- kind: whole table
-- forbidden: rows of people, with their units
FROM visits

-- kind: asof join
-- forbidden: pairs of different people
SELECT avg(s.nights) FROM events e ASOF JOIN stays s ON e.ward = s.ward AND e.patient_id >= s.patient_id

-- kind: largest incomes
-- forbidden: values of people
SELECT list(income ORDER BY income DESC)[1:10], max(income, 3) FROM visits

-- kind: rows of a limit, then an aggregate
-- forbidden: which rows count depends on other people
SELECT avg(age) FROM (SELECT age FROM visits ORDER BY income DESC LIMIT 100)

-- kind: file
-- forbidden: a file
SELECT count(*) FROM 'visits.parquet'

-- kind: address
-- forbidden: the network
SELECT count(*) FROM read_parquet('https://example.com/visits.parquet')

-- kind: setting
-- forbidden: a write
SET threads = 1

-- kind: attach
-- forbidden: a file
ATTACH 'other.db' AS other
