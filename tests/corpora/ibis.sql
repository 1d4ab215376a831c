-- kind: count
SELECT
  COUNT(*) AS "CountStar(visits)"
FROM "main"."visits" AS "t0"

-- kind: mean
SELECT
  AVG("t0"."age") AS "Mean(age)"
FROM "visits" AS "t0"

-- kind: group_by and aggregate
SELECT
  "t0"."region",
  COUNT(*) AS "n",
  AVG("t0"."income") AS "income"
FROM "visits" AS "t0"
GROUP BY
  1

-- kind: filter before
SELECT
  "t1"."region",
  COUNT(*) AS "n"
FROM (
  SELECT
    *
  FROM "visits" AS "t0"
  WHERE
    "t0"."age" > CAST(40 AS TINYINT)
) AS "t1"
GROUP BY
  1

-- kind: order_by after
SELECT
  *
FROM (
  SELECT
    "t0"."region",
    COUNT(*) AS "n"
  FROM "visits" AS "t0"
  GROUP BY
    1
) AS "t1"
ORDER BY
  "t1"."n" DESC
LIMIT 10

-- kind: value_counts
SELECT
  "t0"."ward",
  COUNT(*) AS "ward_count"
FROM "stays" AS "t0"
GROUP BY
  1

-- kind: topk
SELECT
  *
FROM (
  SELECT
    "t0"."city",
    COUNT("t0"."city") AS "city_count"
  FROM "events" AS "t0"
  GROUP BY
    1
) AS "t1"
ORDER BY
  "t1"."city_count" DESC
LIMIT 5

-- kind: mutate before
SELECT
  "t1"."decade",
  COUNT(*) AS "n"
FROM (
  SELECT
    "t0"."patient_id",
    CAST(FLOOR("t0"."age" / CAST(10 AS TINYINT)) AS BIGINT) AS "decade"
  FROM "visits" AS "t0"
) AS "t1"
GROUP BY
  1

-- kind: mutate after
SELECT
  "t1"."region",
  "t1"."n",
  "t1"."smokers" / "t1"."n" AS "share"
FROM (
  SELECT
    "t0"."region",
    COUNT(*) AS "n",
    SUM(CAST("t0"."smoker" AS BIGINT)) AS "smokers"
  FROM "visits" AS "t0"
  GROUP BY
    1
) AS "t1"

-- kind: filtered reduction
SELECT
  COUNT(*) FILTER(WHERE "t0"."smoker") AS "smokers",
  AVG("t0"."age") FILTER(WHERE "t0"."region" = 'north') AS "age"
FROM "visits" AS "t0"

-- kind: nunique
SELECT
  COUNT(DISTINCT "t0"."patient_id") AS "people"
FROM "visits" AS "t0"

-- kind: truncate
SELECT
  DATE_TRUNC('MONTH', "t0"."day") AS "month",
  COUNT(*) AS "n"
FROM "visits" AS "t0"
GROUP BY
  1
ORDER BY
  1 ASC

-- kind: parts of dates
SELECT
  EXTRACT(year FROM "t0"."day") AS "year",
  EXTRACT(month FROM "t0"."day") AS "month",
  SUM("t0"."income") AS "total"
FROM "visits" AS "t0"
WHERE
  "t0"."day" BETWEEN MAKE_DATE(2024, 1, 1) AND MAKE_DATE(2024, 6, 30)
GROUP BY
  1,
  2

-- kind: dates as constants
SELECT
  COUNT(*) AS "n"
FROM "events" AS "t0"
WHERE
  "t0"."seen" >= MAKE_TIMESTAMP(2024, 1, 1, 0, 0, 0.0)
  AND "t0"."seen" < CAST('2024-02-01' AS TIMESTAMP)

-- kind: quantiles
SELECT
  QUANTILE_CONT("t0"."age", CAST(0.25 AS DOUBLE)) AS "q1",
  MEDIAN("t0"."age") AS "q2",
  QUANTILE_CONT("t0"."age", CAST(0.75 AS DOUBLE)) AS "q3"
FROM "visits" AS "t0"

-- kind: join with a lookup
SELECT
  "t3"."title",
  SUM("t2"."nights") AS "nights"
FROM "stays" AS "t2"
INNER JOIN "codes" AS "t3"
  ON "t2"."code" = "t3"."code"
GROUP BY
  1

-- kind: join, then aggregate outside
SELECT
  "t4"."region",
  AVG("t4"."nights") AS "nights"
FROM (
  SELECT
    "t2"."patient_id",
    "t2"."region",
    "t3"."nights"
  FROM "visits" AS "t2"
  INNER JOIN "stays" AS "t3"
    ON "t2"."patient_id" = "t3"."patient_id"
) AS "t4"
GROUP BY
  1

-- kind: aggregate of people
SELECT
  AVG("t1"."n") AS "Mean(n)"
FROM (
  SELECT
    "t0"."patient_id",
    COUNT(*) AS "n"
  FROM "visits" AS "t0"
  GROUP BY
    1
) AS "t1"

-- kind: window after
SELECT
  "t1"."month",
  SUM("t1"."n") OVER (ORDER BY "t1"."month" ASC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS "running"
FROM (
  SELECT
    DATE_TRUNC('MONTH', "t0"."day") AS "month",
    COUNT(*) AS "n"
  FROM "visits" AS "t0"
  GROUP BY
    1
) AS "t1"

-- kind: first of each person
SELECT
  AVG("t2"."income") AS "income"
FROM (
  SELECT
    *
  FROM (
    SELECT
      "t0"."patient_id",
      "t0"."income",
      ROW_NUMBER() OVER (PARTITION BY "t0"."patient_id" ORDER BY "t0"."day" ASC) - 1 AS "rank"
    FROM "visits" AS "t0"
  ) AS "t1"
  WHERE
    "t1"."rank" = CAST(0 AS TINYINT)
) AS "t2"

-- kind: union
SELECT
  *
FROM (
  SELECT
    'visits' AS "source",
    COUNT(*) AS "n"
  FROM "visits" AS "t0"
) AS "t2"
UNION ALL
SELECT
  *
FROM (
  SELECT
    'stays' AS "source",
    COUNT(*) AS "n"
  FROM "stays" AS "t1"
) AS "t3"

-- kind: semi join
SELECT
  COUNT(*) AS "n"
FROM "visits" AS "t0"
SEMI JOIN "stays" AS "t1"
  ON "t0"."patient_id" = "t1"."patient_id"

-- kind: cases
SELECT
  CASE
    WHEN "t0"."income" < 20000
    THEN 'low'
    WHEN "t0"."income" BETWEEN 20000 AND 60000
    THEN 'middle'
    ELSE 'high'
  END AS "bracket",
  COUNT(*) AS "n"
FROM "visits" AS "t0"
GROUP BY
  1

-- kind: fill_null
SELECT
  SUM(COALESCE("t0"."income", CAST(0 AS TINYINT))) AS "total"
FROM "visits" AS "t0"

-- kind: describe
SELECT
  COUNT(*) AS "count",
  SUM(CAST("t0"."age" IS NULL AS INTEGER)) AS "nulls",
  COUNT(DISTINCT "t0"."age") AS "unique",
  MIN("t0"."age") AS "min",
  MAX("t0"."age") AS "max",
  STDDEV_SAMP("t0"."age") AS "std"
FROM "visits" AS "t0"

-- kind: distinct
SELECT DISTINCT
  "t0"."region"
FROM "visits" AS "t0"

-- kind: head
-- forbidden: rows of people, with their units
SELECT
  *
FROM "visits" AS "t0"
LIMIT 5

-- kind: cut into quarters
-- forbidden: order of different people's rows
SELECT
  "t1"."quarter",
  AVG("t1"."income") AS "income"
FROM (
  SELECT
    "t0"."income",
    NTILE(4) OVER (ORDER BY "t0"."income" ASC) - 1 AS "quarter"
  FROM "visits" AS "t0"
) AS "t1"
GROUP BY
  1
