-- kind: count of everything
-- Metabase:: userID: 7 queryType: MBQL queryHash: 4be1
SELECT COUNT(*) AS "count" FROM "public"."visits"

-- kind: one breakout
SELECT
  "public"."visits"."region" AS "region",
  COUNT(*) AS "count"
FROM
  "public"."visits"
GROUP BY
  "public"."visits"."region"
ORDER BY
  "public"."visits"."region" ASC

-- kind: month breakout
SELECT
  CAST(DATE_TRUNC('month', "public"."visits"."day") AS date) AS "day",
  COUNT(*) AS "count",
  AVG("public"."visits"."income") AS "avg"
FROM "public"."visits"
GROUP BY CAST(DATE_TRUNC('month', "public"."visits"."day") AS date)
ORDER BY CAST(DATE_TRUNC('month', "public"."visits"."day") AS date) ASC

-- kind: week from Sunday
SELECT
  CAST((CAST(DATE_TRUNC('week', ("public"."visits"."day" + INTERVAL '1 day')) AS date) + INTERVAL '-1 day') AS date) AS "day",
  COUNT(*) AS "count"
FROM "public"."visits"
GROUP BY CAST((CAST(DATE_TRUNC('week', ("public"."visits"."day" + INTERVAL '1 day')) AS date) + INTERVAL '-1 day') AS date)
ORDER BY CAST((CAST(DATE_TRUNC('week', ("public"."visits"."day" + INTERVAL '1 day')) AS date) + INTERVAL '-1 day') AS date) ASC

-- kind: histogram bins
SELECT
  ((FLOOR((("public"."visits"."age" - 0.0) / 12.5)) * 12.5) + 0.0) AS "age",
  COUNT(*) AS "count"
FROM "public"."visits"
GROUP BY ((FLOOR((("public"."visits"."age" - 0.0) / 12.5)) * 12.5) + 0.0)
ORDER BY ((FLOOR((("public"."visits"."age" - 0.0) / 12.5)) * 12.5) + 0.0) ASC

-- kind: distinct people
SELECT COUNT(DISTINCT "public"."stays"."patient_id") AS "count"
FROM "public"."stays"
WHERE ("public"."stays"."ward" = 'a') OR ("public"."stays"."ward" = 'b')

-- kind: relative date filter
SELECT COUNT(*) AS "count"
FROM "public"."visits"
WHERE ("public"."visits"."day" >= CAST(DATE_TRUNC('month', (NOW() + INTERVAL '-12 month')) AS date))
  AND ("public"."visits"."day" < CAST(DATE_TRUNC('month', NOW()) AS date))

-- kind: timestamp filter
SELECT COUNT(*) AS "count"
FROM "public"."events"
WHERE ("public"."events"."seen" >= timestamp '2024-06-01 00:00:00.000')
  AND ("public"."events"."seen" < timestamp '2024-07-01 00:00:00.000')

-- kind: lookup join
SELECT "Codes"."title" AS "Codes__title", SUM("public"."stays"."nights") AS "sum"
FROM "public"."stays"
LEFT JOIN "public"."codes" AS "Codes" ON "public"."stays"."code" = "Codes"."code"
GROUP BY "Codes"."title"
ORDER BY "sum" DESC, "Codes"."title" ASC

-- kind: question on a question
SELECT AVG("source"."count") AS "avg"
FROM (
  SELECT CAST(DATE_TRUNC('month', "public"."visits"."day") AS date) AS "day", COUNT(*) AS "count"
  FROM "public"."visits"
  GROUP BY CAST(DATE_TRUNC('month', "public"."visits"."day") AS date)
  ORDER BY CAST(DATE_TRUNC('month', "public"."visits"."day") AS date) ASC
) AS "source"

-- kind: filter after summarize
SELECT "source"."region" AS "region", "source"."count" AS "count"
FROM (
  SELECT "public"."visits"."region" AS "region", COUNT(*) AS "count"
  FROM "public"."visits"
  GROUP BY "public"."visits"."region"
) AS "source"
WHERE "source"."count" > 100
LIMIT 1048575

-- kind: share by custom expression
SELECT
  "public"."visits"."region" AS "region",
  CAST(SUM(CASE WHEN "public"."visits"."smoker" = TRUE THEN 1 ELSE 0.0 END) AS double precision) / NULLIF(COUNT(*), 0) AS "Share of smokers"
FROM "public"."visits"
GROUP BY "public"."visits"."region"

-- kind: cumulative count
SELECT
  CAST(DATE_TRUNC('month', "public"."visits"."day") AS date) AS "day",
  SUM(COUNT(*)) OVER (ORDER BY CAST(DATE_TRUNC('month', "public"."visits"."day") AS date) ASC ROWS UNBOUNDED PRECEDING) AS "count"
FROM "public"."visits"
GROUP BY CAST(DATE_TRUNC('month', "public"."visits"."day") AS date)
ORDER BY CAST(DATE_TRUNC('month', "public"."visits"."day") AS date) ASC

-- kind: compare with the previous period
SELECT
  DATE_TRUNC('year', "public"."visits"."day") AS "day",
  SUM("public"."visits"."income") AS "sum",
  LAG(SUM("public"."visits"."income"), 1) OVER (ORDER BY DATE_TRUNC('year', "public"."visits"."day") ASC) AS "previous year"
FROM "public"."visits"
GROUP BY DATE_TRUNC('year', "public"."visits"."day")
ORDER BY DATE_TRUNC('year', "public"."visits"."day") ASC

-- kind: percentile
SELECT "public"."visits"."home" AS "home",
  PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY "public"."visits"."age") AS "percentile",
  PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "public"."visits"."age") AS "median"
FROM "public"."visits"
GROUP BY "public"."visits"."home"

-- kind: custom column on rows
SELECT "source"."Age group" AS "Age group", COUNT(*) AS "count"
FROM (
  SELECT "public"."visits"."age" AS "age",
    CASE WHEN "public"."visits"."age" < 18 THEN 'minor' WHEN "public"."visits"."age" < 65 THEN 'adult' ELSE 'senior' END AS "Age group"
  FROM "public"."visits"
) AS "source"
GROUP BY "source"."Age group"
ORDER BY "source"."Age group" ASC

-- kind: hour of the day
SELECT CAST(extract(hour from "public"."events"."seen") AS integer) AS "seen", COUNT(*) AS "count"
FROM "public"."events"
GROUP BY CAST(extract(hour from "public"."events"."seen") AS integer)
ORDER BY CAST(extract(hour from "public"."events"."seen") AS integer) ASC

-- kind: text filter
SELECT COUNT(*) AS "count"
FROM "public"."visits"
WHERE LOWER("public"."visits"."region") LIKE '%north%'

-- kind: empty or not
SELECT COUNT(*) AS "count"
FROM "public"."events"
WHERE ("public"."events"."city" IS NOT NULL) AND (("public"."events"."city" <> '') OR ("public"."events"."city" IS NULL))

-- kind: values of a filter widget
SELECT "public"."visits"."region" AS "region"
FROM "public"."visits"
GROUP BY "public"."visits"."region"
ORDER BY "public"."visits"."region" ASC
LIMIT 1000

-- kind: distinct values of a field
SELECT COUNT(DISTINCT "public"."visits"."age") AS "count" FROM "public"."visits"

-- kind: date ranges of a field
SELECT MIN("public"."visits"."day") AS "min", MAX("public"."visits"."day") AS "max" FROM "public"."visits"

-- kind: rows of a table
-- forbidden: rows of people
SELECT "public"."visits"."age" AS "age", "public"."visits"."income" AS "income", "public"."visits"."region" AS "region"
FROM "public"."visits"
LIMIT 2000

-- kind: sample for fingerprints
-- forbidden: rows of people
SELECT SUBSTRING("public"."events"."city", 1, 1234) AS "substring1", "public"."events"."ward" AS "ward"
FROM "public"."events"
LIMIT 10000

-- kind: drill to the records
-- forbidden: rows of people, with their units
SELECT * FROM "public"."stays" WHERE "public"."stays"."ward" = 'a' ORDER BY "public"."stays"."nights" DESC LIMIT 2000

-- kind: rows of a public table
SELECT "public"."codes"."code" AS "code", "public"."codes"."title" AS "title" FROM "public"."codes" LIMIT 2000
