-- kind: one measure
SELECT
    COUNT(*) AS "visits.count"
FROM public.visits  AS visits
FETCH NEXT 500 ROWS ONLY

-- kind: dimension and measure
SELECT
    visits.region  AS "visits.region",
    COUNT(*) AS "visits.count"
FROM public.visits  AS visits
GROUP BY
    1
ORDER BY
    2 DESC
FETCH NEXT 500 ROWS ONLY

-- kind: dimension group of a month
SELECT
        (TO_CHAR(DATE_TRUNC('month', visits.day ), 'YYYY-MM')) AS "visits.day_month",
    COUNT(DISTINCT visits.patient_id ) AS "visits.count_of_patients"
FROM public.visits  AS visits
GROUP BY
    (DATE_TRUNC('month', visits.day ))
ORDER BY
    1 DESC
LIMIT 500

-- kind: dimension group of a date
SELECT
        (DATE(events.seen )) AS "events.seen_date",
    COUNT(*) AS "events.count"
FROM events
WHERE ((( events.seen  ) >= (TIMESTAMP '2024-05-01') AND ( events.seen  ) < (TIMESTAMP '2024-06-01')))
GROUP BY
    1
ORDER BY
    1 DESC
LIMIT 500

-- kind: relative date filter
SELECT
    COALESCE(SUM(visits.income ), 0) AS "visits.total_income"
FROM visits
WHERE ((( visits.day ) >= ((SELECT (DATE_TRUNC('day', CURRENT_TIMESTAMP) + (-6 || ' day')::INTERVAL))) AND ( visits.day ) < ((SELECT ((DATE_TRUNC('day', CURRENT_TIMESTAMP) + (-6 || ' day')::INTERVAL) + (7 || ' day')::INTERVAL)))))
LIMIT 500

-- kind: year filter
SELECT
    AVG(visits.income ) AS "visits.average_income"
FROM visits
WHERE ((EXTRACT(YEAR FROM visits.day )::integer = 2024))

-- kind: tiers
SELECT
    CASE
WHEN visits.age  < 18 THEN '0'
WHEN visits.age  >= 18 AND visits.age  < 35 THEN '1'
WHEN visits.age  >= 35 AND visits.age  < 65 THEN '2'
WHEN visits.age  >= 65 THEN '3'
ELSE '4'
END AS "visits.age_tier__sort_",
    COUNT(*) AS "visits.count"
FROM visits
GROUP BY
    1
ORDER BY
    1

-- kind: yes and no
SELECT
    CASE WHEN visits.smoker  THEN 'Yes' ELSE 'No' END AS "visits.is_smoker",
    COUNT(*) AS "visits.count"
FROM visits
GROUP BY
    1

-- kind: filtered measure
SELECT
    visits.region  AS "visits.region",
    COUNT(CASE WHEN (visits.age >= 65) THEN 1 ELSE NULL END) AS "visits.count_of_seniors",
    AVG(CASE WHEN (visits.smoker) THEN visits.income  ELSE NULL END) AS "visits.income_of_smokers"
FROM visits
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- kind: ratio measure
SELECT
    visits.region  AS "visits.region",
    1.0 * (COUNT(CASE WHEN visits.smoker THEN 1 END)) / NULLIF(COUNT(*), 0) AS "visits.share"
FROM visits
GROUP BY 1
ORDER BY 2 DESC
LIMIT 500

-- kind: many to one join
SELECT
    codes.title  AS "codes.title",
    COALESCE(SUM(stays.nights ), 0) AS "stays.total_nights"
FROM stays
LEFT JOIN codes ON stays.code = codes.code
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- kind: join of one person's tables
SELECT
    visits.region  AS "visits.region",
    COUNT(DISTINCT stays.patient_id ) AS "stays.count_of_patients"
FROM visits
LEFT JOIN stays ON visits.patient_id = stays.patient_id
GROUP BY
    1
LIMIT 500

-- kind: symmetric aggregate
SELECT
    COALESCE(CAST( ( SUM(DISTINCT (CAST(FLOOR(COALESCE( visits.income  ,0)*(1000000*1.0)) AS DECIMAL(38,0))) + CAST(HASH(visits.patient_id ) AS DECIMAL(38,0)) ) - SUM(DISTINCT CAST(HASH(visits.patient_id ) AS DECIMAL(38,0))) )  AS DOUBLE PRECISION) / CAST((1000000*1.0) AS DOUBLE PRECISION), 0) AS "visits.total_income"
FROM visits
JOIN stays ON visits.patient_id = stays.patient_id

-- kind: pivot
SELECT * FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY z___min_rank) as z___pivot_row_rank, RANK() OVER (PARTITION BY z__pivot_col_rank ORDER BY z___min_rank) as z__pivot_col_ordering, CASE WHEN z___min_rank = z___rank THEN 1 ELSE 0 END AS z__is_highest_ranked_cell FROM (
SELECT *, MIN(z___rank) OVER (PARTITION BY "visits.region") as z___min_rank FROM (
SELECT *, RANK() OVER (ORDER BY "visits.count" DESC, z__pivot_col_rank, "visits.region") AS z___rank FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY "visits.home" NULLS LAST) AS z__pivot_col_rank FROM (
SELECT
    visits.home  AS "visits.home",
    visits.region  AS "visits.region",
    COUNT(*) AS "visits.count"
FROM visits
GROUP BY
    1,
    2) ww
) bb WHERE z__pivot_col_rank <= 16384
) aa
) xx
) zz
WHERE (z__pivot_col_rank <= 50 OR z__is_highest_ranked_cell = 1) AND (z___pivot_row_rank <= 500 OR z__pivot_col_ordering = 1) ORDER BY z___pivot_row_rank

-- kind: totals
SELECT
    COUNT(*) AS "visits.count",
    AVG(visits.age ) AS "visits.average_age"
FROM visits
LIMIT 1

-- kind: derived table of aggregates
WITH by_region AS (SELECT region, COUNT(*) AS n, AVG(income) AS mean FROM visits GROUP BY 1)
SELECT
    by_region.region  AS "by_region.region",
    by_region.mean  AS "by_region.mean"
FROM by_region
WHERE (by_region.n ) > 100
GROUP BY
    1,
    2
ORDER BY
    2 DESC
LIMIT 500

-- kind: derived table of people
WITH patient_facts AS (SELECT
          patient_id,
          COUNT(*) AS lifetime_visits,
          MIN(day) AS first_visit,
          MAX(day) AS last_visit
        FROM visits
        GROUP BY 1)
SELECT
    patient_facts.lifetime_visits  AS "patient_facts.lifetime_visits",
    COUNT(*) AS "patient_facts.count"
FROM patient_facts
GROUP BY
    1
ORDER BY
    1
LIMIT 500

-- kind: derived table of people, joined
WITH patient_facts AS (SELECT patient_id, MIN(day) AS first_visit FROM visits GROUP BY 1)
SELECT
    COUNT(*) AS "stays.count",
    AVG(stays.nights ) AS "stays.average_nights"
FROM stays
JOIN patient_facts ON stays.patient_id = patient_facts.patient_id
WHERE patient_facts.first_visit < DATE '2024-07-01'

-- kind: having
SELECT
    visits.region  AS "visits.region",
    COUNT(*) AS "visits.count"
FROM visits
GROUP BY
    1
HAVING
    (COUNT(*) >= 100)
ORDER BY
    2 DESC
LIMIT 500

-- kind: percentile measure
SELECT
    visits.region  AS "visits.region",
    PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY visits.income ) AS "visits.p75"
FROM visits
GROUP BY
    1

-- kind: suggestions of a filter
SELECT DISTINCT visits.region  AS "visits.region"
FROM visits
WHERE UPPER(visits.region) LIKE UPPER('n%')
ORDER BY 1
LIMIT 1000

-- kind: hour of the day
SELECT
    CAST(EXTRACT(HOUR FROM events.seen ) AS INT) AS "events.seen_hour_of_day",
    COUNT(*) AS "events.count"
FROM events
GROUP BY
    1
ORDER BY
    1

-- kind: name of the weekday
SELECT
    TO_CHAR(visits.day , 'Day') AS "visits.day_of_week",
    MOD(EXTRACT(DOW FROM visits.day )::integer - 1 + 7, 7) AS "visits.day_of_week_index",
    COUNT(*) AS "visits.count"
FROM visits
GROUP BY 1, 2
ORDER BY 2

-- kind: rows of an explore
-- forbidden: units
SELECT
    visits.patient_id  AS "visits.patient_id",
    visits.income  AS "visits.income"
FROM visits
GROUP BY
    1,
    2
ORDER BY
    1
LIMIT 500

-- kind: list measure
-- forbidden: a list of units
SELECT
    stays.ward  AS "stays.ward",
    STRING_AGG(DISTINCT CAST(stays.patient_id AS VARCHAR), '|RECORD|') AS "stays.patients"
FROM stays
GROUP BY 1
