-- kind: func.count
SELECT count(*) AS count_1
FROM visits

-- kind: Query.count
SELECT count(*) AS count_1
FROM (SELECT visits.patient_id AS visits_patient_id, visits.age AS visits_age, visits.region AS visits_region
FROM visits
WHERE visits.age > 40) AS anon_1

-- kind: group_by with labels
SELECT visits.region, count(*) AS n, avg(visits.income) AS mean_income
FROM visits GROUP BY visits.region ORDER BY n DESC
 LIMIT 10 OFFSET 0

-- kind: literal binds
SELECT count(visits.age) AS count_1
FROM visits
WHERE visits.region = 'north' AND visits.smoker IS true AND visits.age BETWEEN 20 AND 30

-- kind: in_ and not_in
SELECT sum(visits.income) AS sum_1
FROM visits
WHERE visits.region IN ('north', 'east') AND (visits.home NOT IN ('south'))

-- kind: true and false
SELECT count(*) AS count_1
FROM visits
WHERE visits.smoker = 1

-- kind: case
SELECT CASE WHEN (visits.age < 18) THEN 'child' WHEN (visits.age < 65) THEN 'adult' ELSE 'senior' END AS stage, count(*) AS count_1
FROM visits GROUP BY CASE WHEN (visits.age < 18) THEN 'child' WHEN (visits.age < 65) THEN 'adult' ELSE 'senior' END

-- kind: coalesce
SELECT coalesce(sum(visits.income), 0) AS coalesce_1
FROM visits
WHERE visits.day >= '2024-01-01'

-- kind: extract
SELECT EXTRACT(year FROM visits.day) AS year, EXTRACT(month FROM visits.day) AS month, count(*) AS count_1
FROM visits GROUP BY EXTRACT(year FROM visits.day), EXTRACT(month FROM visits.day) ORDER BY year, month

-- kind: filter clause
SELECT visits.region, count(*) FILTER (WHERE visits.smoker) AS smokers, count(*) AS anon_1
FROM visits GROUP BY visits.region

-- kind: join on a relationship
SELECT codes.title, sum(stays.nights) AS sum_1
FROM stays JOIN codes ON codes.code = stays.code GROUP BY codes.title

-- kind: outer join on a relationship
SELECT visits.region, count(stays.patient_id) AS count_1
FROM visits LEFT OUTER JOIN stays ON stays.patient_id = visits.patient_id GROUP BY visits.region

-- kind: subquery by anon_1
SELECT avg(anon_1.n) AS avg_1
FROM (SELECT visits.patient_id AS patient_id, count(*) AS n
FROM visits GROUP BY visits.patient_id) AS anon_1

-- kind: maximum over groups
SELECT max(anon_1.n) AS max_1
FROM (SELECT visits.region AS region, count(*) AS n
FROM visits GROUP BY visits.region) AS anon_1

-- kind: CTE chain
WITH regional_visits AS
(SELECT visits.region AS region, sum(visits.income) AS total
FROM visits GROUP BY visits.region),
top_regions AS
(SELECT regional_visits.region AS region
FROM regional_visits
WHERE regional_visits.total > (SELECT sum(regional_visits.total) / 10 AS anon_1
FROM regional_visits))
SELECT visits.region, visits.smoker, count(*) AS n
FROM visits
WHERE visits.region IN (SELECT top_regions.region
FROM top_regions) GROUP BY visits.region, visits.smoker

-- kind: exists
SELECT count(*) AS count_1
FROM visits
WHERE EXISTS (SELECT 1
FROM stays
WHERE stays.patient_id = visits.patient_id AND stays.nights > 7)

-- kind: not any
SELECT count(DISTINCT visits.patient_id) AS count_1
FROM visits
WHERE NOT (EXISTS (SELECT *
FROM bills
WHERE bills.payer = visits.patient_id))

-- kind: scalar subquery
SELECT visits.region, count(*) * 1.0 / (SELECT count(*) AS count_1
FROM visits) AS share
FROM visits GROUP BY visits.region

-- kind: window over aggregates
SELECT visits.region, count(*) AS n, rank() OVER (ORDER BY count(*) DESC) AS place
FROM visits GROUP BY visits.region

-- kind: union_all
SELECT 'visits' AS source, count(*) AS n
FROM visits UNION ALL SELECT 'stays' AS source, count(*) AS n
FROM stays

-- kind: rollup
SELECT visits.region, visits.smoker, count(*) AS n
FROM visits GROUP BY ROLLUP(visits.region, visits.smoker)

-- kind: cast
SELECT CAST(avg(visits.age) AS NUMERIC(10, 2)) AS mean_age, CAST(sum(visits.income) AS FLOAT) AS total
FROM visits

-- kind: within_group
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY visits.income) AS anon_1
FROM visits

-- kind: distinct values
SELECT DISTINCT visits.region
FROM visits ORDER BY visits.region

-- kind: having
SELECT visits.home
FROM visits GROUP BY visits.home
HAVING count(visits.age) > 5

-- kind: entities of a session
-- forbidden: rows of people, with their units
SELECT visits.patient_id AS visits_patient_id, visits.age AS visits_age
FROM visits
WHERE visits.age > 90
 LIMIT 1

-- kind: self join on a value
-- forbidden: pairs of different people
SELECT count(*) AS count_1
FROM visits AS visits_1 JOIN visits AS visits_2 ON visits_1.day = visits_2.day AND visits_1.patient_id < visits_2.patient_id

-- kind: insert
-- forbidden: a write
INSERT INTO codes (code, title, age) VALUES (7, 'flu', 3)

-- kind: ping
SELECT 1
