-- kind: count
SELECT COUNT(*) AS "__count" FROM "visits"

-- kind: filter and count
SELECT COUNT(*) AS "__count" FROM "visits" WHERE ("visits"."age" >= 18 AND "visits"."region" = 'north')

-- kind: exclude
SELECT COUNT(*) AS "__count" FROM "visits" WHERE NOT ("visits"."smoker" AND "visits"."age" < 30)

-- kind: several aggregates
SELECT AVG("visits"."age") AS "age__avg", MIN("visits"."age") AS "age__min", MAX("visits"."age") AS "age__max", STDDEV_POP("visits"."income") AS "income__stddev" FROM "visits"

-- kind: values and annotate
SELECT "visits"."region" AS "region", COUNT("visits"."age") AS "n" FROM "visits" GROUP BY 1 ORDER BY 2 DESC

-- kind: values and annotate with an older grouping
SELECT "visits"."region", SUM("visits"."income") AS "total" FROM "visits" GROUP BY "visits"."region" ORDER BY "total" DESC LIMIT 5

-- kind: distinct count
SELECT COUNT(DISTINCT "stays"."patient_id") AS "people" FROM "stays" WHERE "stays"."nights" > 3

-- kind: count of distinct values
SELECT COUNT(*) FROM (SELECT DISTINCT "visits"."region" AS "col1" FROM "visits") subquery

-- kind: aggregate over annotate, people
SELECT AVG("__col1") FROM (SELECT COUNT(*) AS "__col1" FROM "visits" GROUP BY "visits"."patient_id") subquery

-- kind: aggregate over annotate, groups
SELECT MAX("n"), AVG("n") FROM (SELECT "visits"."region" AS "col1", COUNT("visits"."age") AS "n" FROM "visits" GROUP BY 1) subquery

-- kind: conditional aggregation
SELECT SUM(CASE WHEN "visits"."smoker" THEN 1 ELSE 0 END) AS "smokers", COUNT(CASE WHEN "visits"."age" > 64 THEN 1 ELSE NULL END) AS "seniors" FROM "visits"

-- kind: filter argument
SELECT COUNT("visits"."age") FILTER (WHERE "visits"."age" > 64) AS "seniors", AVG("visits"."income") FILTER (WHERE "visits"."smoker") AS "income" FROM "visits"

-- kind: default of an aggregate
SELECT COALESCE(SUM("bills"."amount"), 0) AS "total" FROM "bills"

-- kind: TruncMonth
SELECT DATE_TRUNC('month', "visits"."day")::date AS "month", COUNT("visits"."age") AS "n" FROM "visits" GROUP BY 1 ORDER BY 1 ASC

-- kind: TruncDate
SELECT ("events"."seen" AT TIME ZONE 'UTC')::date AS "date", COUNT("events"."ward") AS "n" FROM "events" GROUP BY 1

-- kind: ExtractWeekDay
SELECT EXTRACT(dow FROM "visits"."day") + 1 AS "weekday", COUNT(*) AS "n" FROM "visits" GROUP BY 1 ORDER BY 1

-- kind: year lookup
SELECT COUNT(*) AS "__count" FROM "visits" WHERE "visits"."day" BETWEEN '2024-01-01' AND '2024-12-31'

-- kind: icontains
SELECT COUNT(*) AS "__count" FROM "visits" WHERE UPPER("visits"."region"::text) LIKE UPPER('%nor%')

-- kind: isnull and in
SELECT COUNT(*) AS "__count" FROM "events" WHERE ("events"."ward" IN ('a', 'b') AND "events"."city" IS NOT NULL)

-- kind: foreign key
SELECT "codes"."title", AVG("stays"."nights") AS "nights__avg" FROM "stays" INNER JOIN "codes" ON ("stays"."code" = "codes"."code") GROUP BY "codes"."title" ORDER BY "codes"."title" ASC

-- kind: reverse foreign key
SELECT "visits"."region", COUNT("stays"."nights") AS "stays" FROM "visits" LEFT OUTER JOIN "stays" ON ("visits"."patient_id" = "stays"."patient_id") GROUP BY "visits"."region"

-- kind: Exists
SELECT COUNT(*) AS "__count" FROM "visits" WHERE EXISTS(SELECT 1 AS "a" FROM "stays" U0 WHERE (U0."patient_id" = ("visits"."patient_id") AND U0."ward" = 'a') LIMIT 1)

-- kind: subquery in IN
SELECT COUNT(*) AS "__count" FROM "visits" WHERE "visits"."patient_id" IN (SELECT DISTINCT U0."patient_id" FROM "stays" U0 WHERE U0."nights" > 10)

-- kind: F expressions
SELECT SUM(("visits"."income" / 12)) AS "monthly", AVG(("visits"."age" * "visits"."age")) AS "square" FROM "visits"

-- kind: Case and When
SELECT CASE WHEN "visits"."age" < 18 THEN 'young' WHEN "visits"."age" < 65 THEN 'middle' ELSE 'old' END AS "stage", COUNT("visits"."age") AS "n" FROM "visits" GROUP BY 1

-- kind: union
(SELECT "visits"."region" AS "col1", COUNT(*) AS "n" FROM "visits" GROUP BY 1) UNION ALL (SELECT "events"."ward" AS "col1", COUNT(*) AS "n" FROM "events" GROUP BY 1)

-- kind: window
SELECT "visits"."region" AS "region", COUNT(*) AS "n", (COUNT(*) * 100.0 / SUM(COUNT(*)) OVER ()) AS "share" FROM "visits" GROUP BY 1

-- kind: exists()
SELECT 1 AS "a" FROM "visits" WHERE "visits"."age" > 100 LIMIT 1

-- kind: dates()
SELECT DISTINCT DATE_TRUNC('month', "visits"."day")::date AS "datefield" FROM "visits" WHERE "visits"."day" IS NOT NULL ORDER BY 1 ASC

-- kind: get
-- forbidden: the row of one person
SELECT "visits"."patient_id", "visits"."age", "visits"."income" FROM "visits" WHERE "visits"."patient_id" = 17 LIMIT 21

-- kind: latest
-- forbidden: the row of one person
SELECT "visits"."age", "visits"."region", "visits"."day" FROM "visits" ORDER BY "visits"."day" DESC LIMIT 1

-- kind: update
-- forbidden: a write
UPDATE "visits" SET "smoker" = false WHERE "visits"."age" < 12
