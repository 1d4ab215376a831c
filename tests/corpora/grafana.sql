-- kind: time group by an epoch
SELECT
  floor(extract(epoch from seen)/3600)*3600 AS "time",
  count(*) AS "events"
FROM events
WHERE seen BETWEEN '2024-04-21T05:01:17Z' AND '2024-05-21T05:01:17Z'
GROUP BY 1
ORDER BY 1

-- kind: time group with a metric
SELECT
  floor(extract(epoch from seen)/86400)*86400 AS "time",
  ward AS metric,
  count(*) AS value
FROM events
WHERE seen BETWEEN '2024-04-21T00:00:00Z' AND '2024-06-21T00:00:00Z'
GROUP BY 1, 2
ORDER BY 1, 2

-- kind: time_bucket
SELECT time_bucket('6 hours', seen) AS "time", count(*) AS n
FROM events
WHERE seen >= '2024-04-01 00:00:00' AND seen < '2024-05-01 00:00:00'
GROUP BY "time"
ORDER BY "time"

-- kind: date_trunc
SELECT date_trunc('hour', seen) AS time, count(distinct patient_id) AS people
FROM events
WHERE seen >= '2024-04-01 00:00:00' AND seen < '2024-05-01 00:00:00'
GROUP BY time
ORDER BY time

-- kind: date_bin
SELECT date_bin('15 minutes', seen, TIMESTAMP '2024-01-01') AS time, count(*) AS value
FROM events
GROUP BY time
ORDER BY time ASC

-- kind: a date as a time
SELECT day::timestamp AS time, avg(age) AS value
FROM visits
WHERE day BETWEEN '2024-03-01' AND '2024-03-31'
GROUP BY time
ORDER BY time

-- kind: last 24 hours
SELECT count(*) AS "today" FROM events WHERE seen > now() - interval '24 hours'

-- kind: last 30 days
SELECT day AS time, count(*) AS visits
FROM visits
WHERE day >= CURRENT_DATE - INTERVAL '30 days'
GROUP BY day
ORDER BY day

-- kind: stat panel
SELECT avg(income) AS "Mean income", stddev(income) AS "Spread" FROM visits

-- kind: gauge
SELECT 100.0 * sum(case when smoker then 1 else 0 end) / count(*) AS percent FROM visits

-- kind: bar gauge
SELECT region AS metric, count(*) AS value FROM visits GROUP BY region ORDER BY value DESC LIMIT 5

-- kind: variable in a list
SELECT ward, avg(nights) FROM stays WHERE ward IN ('a','b') GROUP BY ward

-- kind: all of a variable
SELECT region, count(*) FROM visits WHERE ('All' = 'All' OR region = 'All') GROUP BY region

-- kind: values of a variable
SELECT DISTINCT region FROM visits ORDER BY 1

-- kind: values of a variable with text
SELECT title AS __text, code AS __value FROM codes ORDER BY title

-- kind: values of a variable found in the data
SELECT city AS __text FROM events GROUP BY city HAVING count(*) > 20

-- kind: histogram
SELECT width_bucket(income, 0, 200000, 20) AS bucket, count(*) FROM visits GROUP BY bucket ORDER BY bucket

-- kind: state of series by LAG
SELECT time, value - lag(value) OVER (ORDER BY time) AS delta
FROM (SELECT date_trunc('day', seen) AS time, count(*) AS value FROM events GROUP BY 1) AS q
ORDER BY time

-- kind: series side by side
SELECT date_trunc('month', day) AS time,
  count(*) FILTER (WHERE region = 'north') AS north,
  count(*) FILTER (WHERE region = 'south') AS south
FROM visits
GROUP BY 1
ORDER BY 1

-- kind: two series by union
SELECT date_trunc('month', day) AS time, 'visits' AS metric, count(*) AS value FROM visits GROUP BY 1
UNION ALL
SELECT date_trunc('month', day) AS time, 'events' AS metric, count(*) AS value FROM events GROUP BY 1
ORDER BY time

-- kind: gaps filled from a calendar
SELECT g AS time, coalesce(n, 0) AS value
FROM generate_series(date '2024-01-01', date '2024-12-01', interval '1 month') AS g
LEFT JOIN (SELECT date_trunc('month', day) AS m, count(*) AS n FROM visits GROUP BY 1) AS q ON q.m = g
ORDER BY time

-- kind: running total
SELECT time, sum(n) OVER (ORDER BY time) AS total
FROM (SELECT day AS time, count(*) AS n FROM visits WHERE day < '2024-02-01' GROUP BY day) AS daily
ORDER BY time

-- kind: rate per minute
SELECT date_trunc('minute', seen) AS time, count(*) / 60.0 AS "per second"
FROM events
WHERE seen BETWEEN '2024-05-01 08:00:00' AND '2024-05-01 09:00:00'
GROUP BY 1 ORDER BY 1

-- kind: quantiles over time
SELECT date_trunc('quarter', day) AS time,
  percentile_cont(0.5) within group (order by age) AS p50,
  percentile_cont(0.95) within group (order by age) AS p95
FROM visits GROUP BY 1 ORDER BY 1

-- kind: last value
-- forbidden: the row of one person
SELECT seen AS time, ward AS value FROM events ORDER BY seen DESC LIMIT 1

-- kind: log panel
-- forbidden: rows of people
SELECT seen AS time, city AS message, ward AS level FROM events WHERE seen > '2024-05-01' ORDER BY seen DESC LIMIT 100

-- kind: annotations
-- forbidden: rows of people, with their units
SELECT seen AS time, 'arrival of ' || patient_id AS text, ward AS tags FROM events WHERE seen BETWEEN '2024-04-21T05:01:17Z' AND '2024-04-22T05:01:17Z'
