-- kind: noise for a count
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id)
  ward,
  COUNT(*) AS n
FROM stays
GROUP BY ward

-- kind: bounds of an average
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, max_groups_contributed=2, privacy_unit_column=patient_id)
  ward,
  AVG(nights, contribution_bounds_per_group => (0, 30)) AS average_nights
FROM stays
GROUP BY ward

-- kind: bounds of a sum
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=payer)
  SUM(amount, contribution_bounds_per_group => (0, 1000)) AS total
FROM bills

-- kind: bounds of a count
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id)
  region,
  COUNT(*, contribution_bounds_per_group => (0, 3)) AS visits
FROM visits
GROUP BY region

-- kind: count of units
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id)
  region, COUNT(DISTINCT patient_id) AS people
FROM visits
GROUP BY region

-- kind: percentile
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id)
  ward,
  PERCENTILE_CONT(nights, 0.5, contribution_bounds_per_row => (0, 60)) AS median_nights
FROM stays
GROUP BY ward

-- kind: report of noise
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id)
  ward,
  COUNT(*, contribution_bounds_per_group => (0, 3), report_format => 'JSON') AS n
FROM stays
GROUP BY ward

-- kind: public groups
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=0, privacy_unit_column=patient_id, group_selection_strategy=PUBLIC_GROUPS)
  city, COUNT(*) AS n
FROM events
RIGHT OUTER JOIN (SELECT DISTINCT city FROM cities) USING (city)
GROUP BY city

-- kind: min groups
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id, min_privacy_units_per_group=50)
  city, COUNT(*) AS n
FROM events
GROUP BY city

-- kind: budget in another name
SELECT WITH ANONYMIZATION OPTIONS(epsilon=1, delta=1e-6, kappa=2)
  ward, ANON_COUNT(*) AS n, ANON_AVG(nights CLAMPED BETWEEN 0 AND 30) AS nights
FROM stays
GROUP BY ward

-- kind: backquoted path
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id)
  COUNT(*) AS n
FROM `clinic.main.visits`

-- kind: variance
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id)
  VAR_POP(age) AS v, STDDEV_POP(age) AS d
FROM visits

-- kind: outer query of noise
SELECT ward, ROUND(n) AS n
FROM (
  SELECT WITH DIFFERENTIAL_PRIVACY
    OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id)
    ward, COUNT(*) AS n
  FROM stays
  GROUP BY ward
)
WHERE n > 0
ORDER BY n DESC

-- kind: noise over a join
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id)
  title, COUNT(*) AS n
FROM stays
JOIN codes USING (code)
GROUP BY title

-- kind: noise over an inner query
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id, max_groups_contributed=1)
  often, COUNT(*) AS people
FROM (
  SELECT patient_id, COUNT(*) > 3 AS often
  FROM visits
  GROUP BY patient_id
)
GROUP BY often

-- kind: safe functions
SELECT COUNTIF(smoker) AS smokers, SAFE_DIVIDE(COUNTIF(smoker), COUNT(*)) AS share FROM visits

-- kind: formatted month
SELECT FORMAT_DATE('%Y-%m', day) AS month, COUNT(*) AS n FROM visits GROUP BY month ORDER BY month

-- kind: DATE_TRUNC with a bare part
SELECT DATE_TRUNC(day, MONTH) AS month, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1

-- kind: DATE_SUB
SELECT COUNT(*) AS n FROM visits WHERE day >= DATE_SUB(CURRENT_DATE(), INTERVAL 30 DAY)

-- kind: DATE_DIFF of each person
SELECT AVG(span) AS mean_span
FROM (SELECT patient_id, DATE_DIFF(MAX(day), MIN(day), DAY) AS span FROM visits GROUP BY patient_id)

-- kind: QUALIFY of groups
SELECT region, home, COUNT(*) AS n
FROM visits
GROUP BY region, home
QUALIFY ROW_NUMBER() OVER (PARTITION BY region ORDER BY n DESC) = 1

-- kind: QUALIFY of each person
SELECT AVG(income) AS income
FROM (SELECT * FROM visits WHERE TRUE QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) = 1)

-- kind: approximate functions
SELECT APPROX_QUANTILES(age, 4)[OFFSET(2)] AS median, APPROX_COUNT_DISTINCT(patient_id) AS people FROM visits

-- kind: Tumult: keys from a list
SELECT k AS region, COUNT(v.age) AS n
FROM UNNEST(['north', 'south', 'east', 'West_1']) AS k
LEFT JOIN visits v ON v.region = k
GROUP BY 1

-- kind: Tumult: flags by CASE, then groups
SELECT age_range, AVG(LEAST(GREATEST(nights, 0), 14)) AS nights
FROM (SELECT patient_id, nights, CASE WHEN age < 30 THEN '<30' WHEN age < 60 THEN '30-59' ELSE '60+' END AS age_range FROM stays)
GROUP BY age_range

-- kind: PipelineDP: sums for each person, then groups
SELECT region, SUM(LEAST(spent, 5000)) AS spent, COUNT(*) AS people
FROM (SELECT patient_id, region, SUM(income) AS spent FROM visits GROUP BY patient_id, region)
GROUP BY region

-- kind: noise for units
-- forbidden: units
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(epsilon=1, delta=1e-6, privacy_unit_column=patient_id)
  patient_id, COUNT(*) AS n
FROM visits
GROUP BY patient_id

-- kind: a struct of each row
-- forbidden: rows of people
SELECT ARRAY_AGG(STRUCT(patient_id, age) ORDER BY income DESC LIMIT 5) AS top FROM visits
