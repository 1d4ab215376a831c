-- kind: count
SELECT COUNT(*) FROM visits;

-- kind: interval of noise
SELECT COUNT(DISTINCT patient_id) AS c, DP_INTERVAL_LOW(c) AS low, DP_INTERVAL_HIGH(c) AS high FROM visits;

-- kind: interval by text
SELECT region, COUNT(*) AS "c", DP_INTERVAL_LOW('c'), DP_INTERVAL_HIGH('c') FROM visits GROUP BY region;

-- kind: a domain in WHERE
SELECT AVG(income) FROM visits WHERE income BETWEEN 0 AND 100000;

-- kind: a domain of keys
SELECT city, COUNT(*) FROM events WHERE city IN ('Köln', 'Lund') GROUP BY city;

-- kind: clamped by functions
SELECT SUM(GREATEST(LEAST(income, 200000), 0)) AS total FROM clinic.public.visits;

-- kind: units first
WITH patients AS (
  SELECT patient_id, COUNT(*) AS visits, SUM(income) AS income
  FROM visits
  GROUP BY patient_id
)
SELECT AVG(visits), AVG(income) FROM patients WHERE visits < 10;

-- kind: distinct units and keys
SELECT region, COUNT(*) FROM (SELECT DISTINCT patient_id, region FROM visits) GROUP BY region;

-- kind: join on the unit
SELECT COUNT(DISTINCT v.patient_id) FROM visits v INNER JOIN stays s ON v.patient_id = s.patient_id WHERE s.ward = 'a';

-- kind: left join on the unit
SELECT COUNT(*) FROM visits LEFT OUTER JOIN stays USING (patient_id) WHERE region = 'north';

-- kind: right join
SELECT title, COUNT(nights) FROM stays RIGHT JOIN codes USING (code) GROUP BY title;

-- kind: full join on the unit
SELECT COUNT(*) FROM visits v FULL OUTER JOIN stays s ON v.patient_id = s.patient_id;

-- kind: natural join
SELECT COUNT(*) FROM stays NATURAL JOIN codes;

-- kind: group by an alias
SELECT DATE_TRUNC('MONTH', day) AS month, COUNT(*) AS n FROM visits GROUP BY month ORDER BY month;

-- kind: group by ALL
SELECT region, YEAR(day) AS y, COUNT(*) FROM visits GROUP BY ALL;

-- kind: COUNT_IF
SELECT COUNT_IF(age > 64) AS seniors, COUNT_IF(smoker) AS smokers FROM visits;

-- kind: IFF
SELECT SUM(IFF(smoker, 1, 0)) AS smokers, AVG(IFF(region = 'north', income, NULL)) AS north FROM visits;

-- kind: ZEROIFNULL and NVL
SELECT SUM(ZEROIFNULL(income)) AS a, AVG(NVL(age, 40)) AS b, SUM(IFNULL(income, 0)) AS c FROM visits;

-- kind: DIV0
SELECT region, DIV0(SUM(income), COUNT(*)) AS mean FROM visits GROUP BY region;

-- kind: DATEADD
SELECT COUNT(*) FROM visits WHERE day > DATEADD('day', -30, CURRENT_DATE());

-- kind: DATEDIFF
SELECT AVG(DATEDIFF('day', first_day, last_day)) FROM (SELECT patient_id, MIN(day) AS first_day, MAX(day) AS last_day FROM visits GROUP BY patient_id);

-- kind: TO_DATE and casts by colons
SELECT COUNT(*) FROM visits WHERE day >= TO_DATE('2024-03-01') AND day < '2024-04-01'::DATE;

-- kind: MEDIAN and PERCENTILE_CONT
SELECT MEDIAN(age), PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY income) FROM visits;

-- kind: APPROX_PERCENTILE
SELECT APPROX_PERCENTILE(age, 0.5) FROM visits;

-- kind: union of private rows
SELECT COUNT(DISTINCT patient_id) FROM (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM stays);

-- kind: arithmetic over the result
SELECT region, COUNT(*) / 2 AS half, 1 + COUNT(*) AS more FROM visits GROUP BY region;

-- kind: RATIO_TO_REPORT
SELECT region, RATIO_TO_REPORT(COUNT(*)) OVER () AS share FROM visits GROUP BY region;

-- kind: PIVOT
SELECT * FROM (SELECT region, smoker, age FROM visits) PIVOT (AVG(age) FOR region IN ('north', 'south')) AS p;

-- kind: what is left
SELECT * FROM TABLE(SNOWFLAKE.DATA_PRIVACY.ESTIMATE_REMAINING_DP_AGGREGATES('visits'));

-- kind: rows
-- forbidden: rows of people, with their units
SELECT * FROM visits LIMIT 10;

-- kind: join on an attribute
-- forbidden: pairs of different people
SELECT COUNT(*) FROM visits v JOIN stays s ON v.age = s.age;

-- kind: cross join
-- forbidden: pairs of different people
SELECT COUNT(*) FROM visits CROSS JOIN stays;

-- kind: sample without a seed
SELECT AVG(age) FROM visits SAMPLE (10);

-- kind: unload
-- forbidden: a write to a file
COPY INTO @stage/visits FROM visits;
