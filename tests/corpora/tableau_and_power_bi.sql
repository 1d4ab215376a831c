-- kind: Tableau: one measure
SELECT SUM("visits"."income") AS "sum:income:ok"
FROM "public"."visits" "visits"
HAVING (COUNT(1) > 0)

-- kind: Tableau: dimension and measure
SELECT "visits"."region" AS "region",
  SUM(1) AS "sum:Number of Records:ok"
FROM "public"."visits" "visits"
GROUP BY 1

-- kind: Tableau: truncated month
SELECT DATE_TRUNC('MONTH', CAST("visits"."day" AS TIMESTAMP)) AS "tmn:day:ok",
  AVG(CAST("visits"."income" AS DOUBLE PRECISION)) AS "avg:income:ok"
FROM "public"."visits" "visits"
GROUP BY 1

-- kind: Tableau: date part
SELECT CAST(EXTRACT(YEAR FROM "visits"."day") AS BIGINT) AS "yr:day:ok",
  COUNT(DISTINCT "visits"."patient_id") AS "ctd:patient_id:ok"
FROM "public"."visits" "visits"
GROUP BY 1

-- kind: Tableau: filter on a list
SELECT "visits"."region" AS "region", COUNT("visits"."age") AS "cnt:age:ok"
FROM "public"."visits" "visits"
WHERE (("visits"."region" IN ('north', 'south')) AND ("visits"."age" >= 18) AND ("visits"."age" <= 65))
GROUP BY 1

-- kind: Tableau: keep a range of an aggregate
SELECT "visits"."region" AS "region", SUM("visits"."income") AS "sum:income:ok"
FROM "public"."visits" "visits"
GROUP BY 1
HAVING ((SUM("visits"."income") >= 99999.99) AND (SUM("visits"."income") <= 9999999.99))

-- kind: Tableau: top n by a join
SELECT "visits"."region" AS "region", AVG("visits"."age") AS "avg:age:ok"
FROM "public"."visits" "visits"
  INNER JOIN (
  SELECT "visits"."region" AS "region", SUM("visits"."income") AS "$__alias__0"
  FROM "public"."visits" "visits"
  GROUP BY 1
  ORDER BY 2 DESC
  LIMIT 3
) "t0" ON ("visits"."region" = "t0"."region")
GROUP BY 1

-- kind: Tableau: level of detail, each person
SELECT AVG("t0"."__measure__0") AS "avg:Calculation_1:ok"
FROM (
  SELECT "visits"."patient_id" AS "patient_id", COUNT(1) AS "__measure__0"
  FROM "public"."visits" "visits"
  GROUP BY 1
) "t0"
HAVING (COUNT(1) > 0)

-- kind: Tableau: level of detail, a group beside the total
SELECT "t0"."region" AS "region", "t0"."n" / "t1"."n" AS "share"
FROM (SELECT "visits"."region" AS "region", COUNT(1) AS "n" FROM "public"."visits" "visits" GROUP BY 1) "t0"
  CROSS JOIN (SELECT COUNT(1) AS "n" FROM "public"."visits" "visits") "t1"

-- kind: Tableau: bins
SELECT FLOOR("visits"."income" / 10000.0) AS "income (bin)", COUNT(1) AS "cnt:ok"
FROM "public"."visits" "visits"
GROUP BY 1

-- kind: Tableau: a calculated field
SELECT (CASE WHEN ("visits"."smoker" = TRUE) THEN 'smoker' WHEN NOT ("visits"."smoker" = TRUE) THEN 'other' ELSE NULL END) AS "Calculation_2",
  COUNT(1) AS "cnt:ok"
FROM "public"."visits" "visits"
GROUP BY 1

-- kind: Tableau: custom SQL
SELECT "Custom SQL Query"."ward" AS "ward", SUM("Custom SQL Query"."n") AS "sum:n:ok"
FROM (
  SELECT ward, code, COUNT(*) AS n FROM stays GROUP BY ward, code
) "Custom SQL Query"
GROUP BY 1

-- kind: Tableau: domain of a filter
SELECT "visits"."region" AS "region"
FROM "public"."visits" "visits"
GROUP BY 1
ORDER BY 1 ASC

-- kind: Tableau: range of a filter
SELECT MIN("visits"."day") AS "TEMP(none:day:min)", MAX("visits"."day") AS "TEMP(none:day:max)", COUNT(1) AS "cnt"
FROM "public"."visits" "visits"
HAVING (COUNT(1) > 0)

-- kind: Tableau: probe of a connection
SELECT 1 AS "COL"

-- kind: Tableau: probe of a table
SELECT * FROM "public"."visits" LIMIT 0

-- kind: Tableau: probe of custom SQL
SELECT TOP 1 * FROM (SELECT "region", COUNT(*) AS "n" FROM "public"."visits" GROUP BY "region") AS "subquery" WHERE 0 = 1

-- kind: Tableau: temporary table
-- forbidden: a write
CREATE LOCAL TEMPORARY TABLE "Tableau_1_Connect_CheckCreateTempTableCap" ("COL" INTEGER) ON COMMIT PRESERVE ROWS

-- kind: Tableau: set in a temporary table
-- forbidden: a write
SELECT "visits"."region" AS "region", SUM("visits"."income") AS "X__alias__0"
INTO TEMPORARY TABLE "Tableau_5_Filter"
FROM "public"."visits" "visits"
GROUP BY 1 ORDER BY 2 DESC LIMIT 10

-- kind: Tableau: view data
-- forbidden: rows of people
SELECT "visits"."age" AS "age", "visits"."income" AS "income" FROM "public"."visits" "visits" LIMIT 10000

-- kind: Power BI: card
SELECT COUNT_BIG(*) AS [a0]
FROM ((SELECT [t0].[patient_id], [t0].[age], [t0].[income] FROM [dbo].[visits] AS [t0])) AS [t0]

-- kind: Power BI: bar chart
SELECT TOP (1000001) [t0].[region], SUM([t0].[income]) AS [a0]
FROM [dbo].[visits] AS [t0]
GROUP BY [t0].[region]

-- kind: Power BI: bar chart on PostgreSQL
select "rows"."region" as "region", sum("rows"."income") as "a0"
from
(
    select "region", "income" from "public"."visits" "$Table"
) "rows"
group by "region"
limit 1000001

-- kind: Power BI: distinct and blank
SELECT TOP (1000001) "region", COUNT(DISTINCT "patient_id") + MAX(CASE WHEN "patient_id" IS NULL THEN 1 ELSE 0 END) AS "a0"
FROM "public"."visits"
GROUP BY "region"

-- kind: Power BI: related table
SELECT TOP (1000001) "t1"."title", AVG(CAST("t0"."nights" AS DOUBLE PRECISION)) AS "a0"
FROM ("stays" AS "t0" LEFT OUTER JOIN "codes" AS "t1" ON ("t0"."code" = "t1"."code"))
GROUP BY "t1"."title"

-- kind: Power BI: top n in an outer query
SELECT TOP (502) "semijoin1"."region", "semijoin1"."a0"
FROM (SELECT "region", COUNT(*) AS "a0" FROM "visits" GROUP BY "region") AS "semijoin1"
WHERE NOT ("semijoin1"."a0" IS NULL)
ORDER BY "semijoin1"."a0" DESC, "semijoin1"."region"

-- kind: Power BI: slicer
SELECT "t0"."ward" FROM "stays" AS "t0" GROUP BY "t0"."ward" ORDER BY "t0"."ward" FETCH FIRST 101 ROWS ONLY

-- kind: Power BI: preview
-- forbidden: rows of people
SELECT TOP 1000 [$Table].[patient_id] AS [patient_id], [$Table].[age] AS [age] FROM [dbo].[visits] AS [$Table]

-- kind: Power BI: column profile
SELECT COUNT(*) AS "rows", COUNT("age") AS "valid", MIN("age") AS "min", MAX("age") AS "max", AVG("age") AS "mean", STDDEV("age") AS "deviation"
FROM "visits"
