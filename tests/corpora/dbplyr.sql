-- kind: tally
SELECT COUNT(*) AS "n"
FROM "visits"

-- kind: count
SELECT "region", COUNT(*) AS "n"
FROM "visits"
GROUP BY "region"

-- kind: count in backquotes
SELECT `region`, COUNT(*) AS `n`
FROM `visits`
GROUP BY `region`
ORDER BY `n` DESC

-- kind: summarise
SELECT "region", AVG("age") AS "age", SUM("income") AS "total", COUNT(*) AS "n"
FROM "visits"
GROUP BY "region"

-- kind: filter
SELECT AVG("income") AS "income"
FROM "visits"
WHERE ("age" >= 18.0) AND ("region" IN ('north', 'south'))

-- kind: filter with not
SELECT COUNT(*) AS "n"
FROM "visits"
WHERE (NOT(("income" IS NULL))) AND (NOT("smoker"))

-- kind: filter after summarise
SELECT "region", COUNT(*) AS "n"
FROM "visits"
GROUP BY "region"
HAVING (COUNT(*) > 10.0)

-- kind: filter after mutate
SELECT "q01".*
FROM (
  SELECT "region", COUNT(*) AS "n"
  FROM "visits"
  GROUP BY "region"
) AS "q01"
WHERE ("n" > 10.0)

-- kind: mutate, then summarise
SELECT "decade", COUNT(*) AS "n"
FROM (
  SELECT "visits".*, FLOOR("age" / 10.0) * 10.0 AS "decade"
  FROM "visits"
) AS "q01"
GROUP BY "decade"

-- kind: add_tally share
SELECT "q01".*, "n" / SUM("n") OVER () AS "share"
FROM (
  SELECT "region", COUNT(*) AS "n"
  FROM "visits"
  GROUP BY "region"
) AS "q01"

-- kind: slice_max
SELECT "region", "n"
FROM (
  SELECT "q01".*, RANK() OVER (ORDER BY "n" DESC) AS "col01"
  FROM (
    SELECT "region", COUNT(*) AS "n"
    FROM "visits"
    GROUP BY "region"
  ) AS "q01"
) AS "q01"
WHERE ("col01" <= 3)

-- kind: slice_min of each person
SELECT AVG("income") AS "income"
FROM (
  SELECT "visits".*, ROW_NUMBER() OVER (PARTITION BY "patient_id" ORDER BY "day") AS "col01"
  FROM "visits"
) AS "q01"
WHERE ("col01" <= 1)

-- kind: n_distinct
SELECT "region", COUNT(DISTINCT "patient_id") AS "people"
FROM "visits"
GROUP BY "region"

-- kind: quantile
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY "income") AS "p90"
FROM "visits"

-- kind: sd and var
SELECT STDDEV_SAMP("age") AS "sd", VARIANCE("income") AS "v"
FROM "visits"

-- kind: ifelse
SELECT CASE WHEN ("age" >= 65.0) THEN 'senior' WHEN NOT ("age" >= 65.0) THEN 'other' END AS "stage", COUNT(*) AS "n"
FROM "visits"
GROUP BY CASE WHEN ("age" >= 65.0) THEN 'senior' WHEN NOT ("age" >= 65.0) THEN 'other' END

-- kind: case_when in columns
SELECT
  SUM(CASE WHEN ("smoker") THEN 1.0 WHEN NOT ("smoker") THEN 0.0 END) AS "smokers",
  AVG(CAST("smoker" AS NUMERIC)) AS "share"
FROM "visits"

-- kind: pivot_wider
SELECT
  "region",
  MAX(CASE WHEN ("smoker" = TRUE) THEN "n" END) AS "yes",
  MAX(CASE WHEN ("smoker" = FALSE) THEN "n" END) AS "no"
FROM (
  SELECT "region", "smoker", COUNT(*) AS "n"
  FROM "visits"
  GROUP BY "region", "smoker"
) AS "q01"
GROUP BY "region"

-- kind: pivot_longer
SELECT 'age' AS "name", AVG("age") AS "value"
FROM "visits"

UNION ALL

SELECT 'income' AS "name", AVG("income") AS "value"
FROM "visits"

-- kind: lubridate
SELECT EXTRACT(YEAR FROM "day") AS "year", EXTRACT(MONTH FROM "day") AS "month", COUNT(*) AS "n"
FROM "visits"
GROUP BY EXTRACT(YEAR FROM "day"), EXTRACT(MONTH FROM "day")

-- kind: floor_date
SELECT DATE_TRUNC('week', "day") AS "week", COUNT(*) AS "n"
FROM "visits"
GROUP BY DATE_TRUNC('week', "day")
ORDER BY "week"

-- kind: left_join with a lookup
SELECT "title", SUM("nights") AS "nights"
FROM (
  SELECT "stays".*, "title"
  FROM "stays"
  LEFT JOIN "codes"
    ON ("stays"."code" = "codes"."code")
) AS "q01"
GROUP BY "title"

-- kind: inner_join of one person's tables
SELECT "region", AVG("nights") AS "nights"
FROM (
  SELECT "LHS"."patient_id" AS "patient_id", "region", "nights"
  FROM "visits" AS "LHS"
  INNER JOIN "stays" AS "RHS"
    ON ("LHS"."patient_id" = "RHS"."patient_id")
) AS "q01"
GROUP BY "region"

-- kind: semi_join
SELECT COUNT(*) AS "n"
FROM (
  SELECT "LHS".*
  FROM "visits" AS "LHS"
  WHERE EXISTS (
    SELECT 1 FROM "stays" AS "RHS"
    WHERE ("LHS"."patient_id" = "RHS"."patient_id")
  )
) AS "q01"

-- kind: probe
SELECT *
FROM "visits" AS "q01"
WHERE (0 = 1)

-- kind: distinct
SELECT DISTINCT "region"
FROM "visits"

-- kind: head
-- forbidden: rows of people, with their units
SELECT *
FROM "visits"
LIMIT 6

-- kind: share inside of a group
-- forbidden: rows of people, beside sums over others
SELECT "visits".*, "income" / SUM("income") OVER (PARTITION BY "region") AS "share"
FROM "visits"

-- kind: filter by the mean of a group
SELECT COUNT(*) AS "n"
FROM (
  SELECT "visits".*, AVG("income") OVER (PARTITION BY "region") AS "col01"
  FROM "visits"
) AS "q01"
WHERE ("income" > "col01")

-- kind: compute
-- forbidden: a write
CREATE TEMPORARY TABLE "dbplyr_001" AS SELECT "region", COUNT(*) AS "n" FROM "visits" GROUP BY "region"
