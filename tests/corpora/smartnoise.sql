-- kind: count
SELECT COUNT(*) AS n FROM visits

-- kind: schema and table
SELECT COUNT(*) FROM dbo.visits

-- kind: group
SELECT region, AVG(age) AS age FROM visits GROUP BY region

-- kind: count of a column
SELECT smoker, COUNT(age) AS n FROM visits GROUP BY smoker ORDER BY smoker

-- kind: count of units
SELECT COUNT(DISTINCT patient_id) AS people FROM visits

-- kind: sum and average
SELECT SUM(income) AS total, AVG(income) AS mean FROM visits WHERE age > 50

-- kind: variance and deviation
SELECT VAR(age) AS v, STDDEV(age) AS d FROM visits

-- kind: arithmetic of sums
SELECT SUM(income) / SUM(age) AS ratio FROM visits

-- kind: order by an aggregate
SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY COUNT(*) DESC

-- kind: top of an order
SELECT TOP 3 region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC

-- kind: limit of an order
SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC LIMIT 3

-- kind: having
SELECT region, AVG(income) AS income FROM visits GROUP BY region HAVING COUNT(*) > 100

-- kind: several keys
SELECT region, smoker, SUM(income) AS income FROM visits GROUP BY region, smoker ORDER BY income DESC

-- kind: inner query of rows
SELECT region, COUNT(*) AS n FROM (SELECT region, age FROM visits WHERE age >= 18) AS adults GROUP BY region

-- kind: inner query of expressions
SELECT AVG(monthly) FROM (SELECT patient_id, income / 12.0 AS monthly FROM visits) AS m

-- kind: inner query of units
SELECT SUM(n) AS n FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS p

-- kind: inner query of distinct units
SELECT COUNT(*) AS people FROM (SELECT DISTINCT patient_id FROM visits) AS p

-- kind: inner query of units and keys
SELECT region, COUNT(*) AS people FROM (SELECT DISTINCT patient_id, region FROM visits) AS p GROUP BY region

-- kind: outer query of aggregates
SELECT region, 100 * n AS percent FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) AS q

-- kind: clamped values
SELECT SUM(CASE WHEN income > 100000 THEN 100000 ELSE income END) AS total FROM visits

-- kind: IIF
SELECT SUM(IIF(age > 64, 1, 0)) AS seniors FROM visits

-- kind: CHOOSE
SELECT CHOOSE(format, 'paper', 'screen', 'voice') AS medium, COUNT(*) AS n FROM visits GROUP BY CHOOSE(format, 'paper', 'screen', 'voice')

-- kind: functions of numbers
SELECT SQRT(SUM(age)) AS root, ABS(AVG(income)) AS size, ROUND(AVG(age), 0) AS age FROM visits

-- kind: functions of rows
SELECT AVG(POWER(age, 2)) AS square, SUM(LN(income + 1)) AS logs FROM visits

-- kind: year of a date
SELECT YEAR(day) AS y, COUNT(*) AS n FROM visits GROUP BY YEAR(day)

-- kind: join with a using clause
SELECT AVG(nights) AS nights FROM visits INNER JOIN stays USING (patient_id)

-- kind: reader of rows
-- forbidden: rows of people
SELECT age, income FROM visits WHERE income > 300000

-- kind: units as keys
-- forbidden: units
SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id ORDER BY n DESC
