"""docs/sql.md, made from questions that tests/docs asks: run this file to write it again.
The reason of a refusal is what the parser says, so the page cannot tell another story.
"""
# ruff: noqa: E501

from pathlib import Path

from discreet.errors import UnsafeQuery
from discreet.upper.reading.split import read_statement
from support.corpora import table_of_counts
from support.questions import TABLES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sql.md"
COUNT = "SELECT COUNT(*) FROM visits"

Section = tuple[str, str, list[tuple[str, str]]]

ACCEPTED: list[Section] = [
    (
        "Aggregates",
        "Arithmetic with `+ - * /` over numeric aggregates and constants is post-processing. A quantile is chosen by rank among up to 4,096 public values, fewer where there are many groups. A column with more values is chosen from in buckets: the answer is the middle of a bucket, and the error in ranks holds for some value in that bucket (`answer.buckets()`), not for the middle. With an assumed `count` of rows (`session.sql(..., count=30_000)`, `--count 30000`) the plan may take a finer list or smooth noise instead, by public facts alone: [methods for quantiles](robust.md#methods-for-quantiles).",
        [
            ("rows, values, units", "SELECT COUNT(*), COUNT(income), COUNT(DISTINCT patient_id) FROM visits"),
            ("sums and averages", "SELECT SUM(income), AVG(age) FROM visits"),
            ("variances", "SELECT VARIANCE(age), VAR_SAMP(age), VARIANCE_SAMP(age), VAR_POP(age), VARIANCE_POP(age) FROM visits"),
            ("deviations", "SELECT STDDEV(age), STDDEV_SAMP(age), STDDEV_POP(age) FROM visits"),
            ("covariance, correlation", "SELECT COVAR_POP(income, age), COVAR_SAMP(income, age), CORR(income, age) FROM visits"),
            ("regression of the first on the second", "SELECT REGR_SLOPE(income, age), REGR_INTERCEPT(income, age) FROM visits"),
            ("medians and quantiles, of numbers, dates and datetimes", "SELECT MEDIAN(age), QUANTILE(age, 0.1), QUANTILE_CONT(age, 0.25), PERCENTILE_CONT(age, 0.9) FROM visits"),
            ("the same in other spellings", "SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age DESC) FROM visits"),
            ("`_DISC` means the same: every quantile is a value on the column's lattice", "SELECT QUANTILE_DISC(age, 0.5), PERCENTILE_DISC(age, 0.5) FROM visits"),
            ("extremes, answered as extreme quantiles", "SELECT MIN(day), MAX(income) FROM visits"),
            ("the most frequent value of a category, boolean or integer", "SELECT MODE(region), MODE(FLOOR(age/10)) FROM visits"),
            ("the same as PostgreSQL spells it", "SELECT MODE() WITHIN GROUP (ORDER BY region) FROM visits"),
            ("of the rows of a condition", "SELECT COUNT(*) FILTER (WHERE smoker), AVG(income) FILTER (WHERE age > 17), COUNTIF(smoker), COUNT_IF(age > 17) FROM visits"),
            ("sums and shares of booleans", "SELECT SUM(smoker), AVG(age > 17) FROM visits"),
            ("arithmetic", "SELECT 100 * SUM(income) / COUNT(*) - 1 AS x FROM visits"),
            ("results are never missing, and quotients finite: `COALESCE` of an aggregate and `NULLIF(x, 0)` below a fraction change nothing", "SELECT COALESCE(SUM(income), 0) / NULLIF(COUNT(*), 0) AS x FROM visits"),
            ("aliases", 'SELECT COUNT(*) AS n, AVG(age) "mean age" FROM visits'),
            ("harmless casts", "SELECT CAST(AVG(age) AS DOUBLE), SUM(age)::float FROM visits"),
        ],
    ),
    (
        "On rows: `WHERE`, inside aggregates, in keys and in subqueries",
        "Every expression is total: none can fail on a row.",
        [
            ("comparisons", f"{COUNT} WHERE age >= 18 AND income <> 0 OR NOT smoker = TRUE"),
            ("lists and ranges", f"{COUNT} WHERE age IN (1, 2, 3) OR age NOT BETWEEN 10 AND 20"),
            ("categories", f"{COUNT} WHERE region = 'north' OR home IN ('south', 'east')"),
            ("patterns, resolved on the declared keys", f"{COUNT} WHERE region LIKE '%th' OR region ILIKE 'west%'"),
            ("functions of text, resolved on the declared keys", f"{COUNT} WHERE UPPER(region) = 'NORTH' OR LOWER(home) LIKE 'w%' OR STARTS_WITH(region, 'n') OR ENDS_WITH(home, 'th') OR CONTAINS(region, '_')"),
            ("parts of texts", f"{COUNT} WHERE LEFT(region, 2) = 'no' OR RIGHT(region, 2) = 'th' OR SUBSTR(region, 2, 1) = 'o' OR SUBSTRING(region, -2) = 'st'"),
            ("texts put together", f"{COUNT} WHERE region || '!' = 'north!' OR CONCAT('the ', home) = 'the east' OR REPLACE(region, '_', ' ') = 'West 1'"),
            ("spaces and lengths", f"{COUNT} WHERE TRIM(region) = 'north' OR LTRIM(region, 'n') = 'orth' OR RTRIM(region, 'h') = 'nort' OR LENGTH(region) > 4 OR LEN(home) + CHAR_LENGTH(region) > 9 OR UCASE(region) <> LCASE(home)"),
            ("missing values", f"{COUNT} WHERE income IS NOT NULL AND smoker IS TRUE"),
            ("comparisons that are never missing", f"{COUNT} WHERE age IS DISTINCT FROM income OR region IS NOT DISTINCT FROM 'north'"),
            ("a value instead of a missing one, and the other way around", "SELECT SUM(COALESCE(age, income, 0)), SUM(IFNULL(age, 0) + NVL(income, 0)), AVG(NULLIF(age, 0)) FROM visits"),
            ("arithmetic; division by constants", "SELECT SUM(income / 12 - 2 * age + 1) FROM visits"),
            ("rounding down and up", "SELECT AVG(FLOOR(income)), SUM(CEIL(income)), SUM(CEILING(income / 12)) FROM visits"),
            ("rounding to digits (a half away from zero) and towards zero", "SELECT SUM(ROUND(income)), SUM(ROUND(income / 12, 1)), SUM(ROUND(age, -1)), SUM(TRUNC(income / 12)) FROM visits"),
            ("remainders, with the sign of the dividend, and whole quotients of integers, towards zero", f"{COUNT} WHERE age % 10 = 0 OR MOD(income, 0.5) = 0 OR age // 10 = 4 OR age DIV 10 = 5"),
            ("size and sign", "SELECT SUM(ABS(age - 40)), SUM(SIGN(age - 40)) FROM visits"),
            ("the lesser and the greater; NULL if any part is", "SELECT SUM(LEAST(income, 1000)), SUM(GREATEST(age, 18)) FROM visits"),
            ("conditional values", "SELECT AVG(CASE WHEN smoker THEN 1 ELSE 0 END), COUNT(CASE region WHEN 'north' THEN 1 END) FROM visits"),
            ("the same with `IF`", "SELECT AVG(IF(smoker, 1, 0)), COUNT(IIF(age > 17, 1, NULL)) FROM visits"),
            ("casts of numbers and booleans; to an integer a half goes away from zero, as decimals are cast", "SELECT SUM(CAST(income AS INTEGER)), SUM(smoker::INT) FROM visits WHERE CAST(age AS BOOLEAN)"),
            ("buckets", f"{COUNT} WHERE WIDTH_BUCKET(age, 0, 100, 10) = 3"),
            ("dates", f"{COUNT} WHERE day >= '2024-03-01' AND day < DATE '2024-04-01'"),
            ("intervals beside constants; a month ends on its last day", f"{COUNT} WHERE day >= DATE '2024-01-31' + INTERVAL 1 MONTH AND day < DATE '2024-06-01' - INTERVAL '7 days'"),
            ("dates in other spellings", f"{COUNT} WHERE day = MAKE_DATE(2024, 3, 1) OR day = TO_DATE('2024-03-02') OR day = DATE('2024-03-03')"),
            ("days between dates", f"{COUNT} WHERE day - DATE '2024-03-01' > 30"),
            ("starts of a year, quarter, month, day, hour, minute or second between two dates or datetimes", "SELECT AVG(DATE_DIFF('day', DATE '2024-01-01', day)), AVG(DATEDIFF('month', day, DATE '2025-12-31')) FROM visits"),
            ("the day of a datetime", "SELECT COUNT(*) FROM events WHERE CAST(seen AS DATE) = '2024-03-01' OR seen::DATE = '2024-03-02' OR DATE(seen) = '2024-03-03'"),
            ("datetimes, without zones", "SELECT COUNT(*) FROM events WHERE seen > TIMESTAMP '2024-03-01 10:30:00' AND seen < '2024-04-01'"),
            ("parts of dates", f"{COUNT} WHERE EXTRACT(YEAR FROM day) = 2024 AND DATE_PART('month', day) = 3 AND DATEPART('day', day) = 1"),
            ("the same by name", f"{COUNT} WHERE YEAR(day) = 2024 AND QUARTER(day) = 1 AND MONTH(day) = 3 AND WEEK(day) = 9 AND DAY(day) = 1"),
            ("further names", f"{COUNT} WHERE WEEKOFYEAR(day) = 9 AND DAYOFMONTH(day) = 1 AND DAYOFWEEK(day) = 5 AND DAYOFYEAR(day) = 61 AND ISODOW(day) = 5 AND WEEKDAY(day) = 5"),
            ("starts of periods", f"{COUNT} WHERE DATE_TRUNC('month', day) = '2024-03-01'"),
            (
                "times of day, of datetimes",
                "SELECT COUNT(*) FROM events WHERE EXTRACT(HOUR FROM seen) >= 8 AND MINUTE(seen) < "
                "30 AND SECOND(seen) = 0 AND DATE_TRUNC('hour', seen) < '2024-04-01 12:00'",
            ),
            ("private keys: `=`, `<>`, `IN`, `IS NULL` with text", "SELECT COUNT(*) FROM events WHERE city = 'Köln' OR city IS NULL"),
        ],
    ),
    (
        "Groups",
        "Every key that the public bounds allow appears in the answer; private keys appear when enough units hold them.",
        [
            ("by name, alias or position", "SELECT region, YEAR(day) AS y, COUNT(*) FROM visits GROUP BY 1, y"),
            ("by all that is no aggregate", "SELECT region, YEAR(day) AS y, COUNT(*) FROM visits GROUP BY ALL"),
            ("by a function of text", "SELECT UPPER(region) AS name, COALESCE(home, 'none') AS home_or_none, COUNT(*) FROM visits GROUP BY name, home_or_none"),
            ("by an expression", f"{COUNT} GROUP BY FLOOR(age/10), WIDTH_BUCKET(income, 0, 100000, 5), age > 40"),
            ("by a case", f"{COUNT} GROUP BY CASE WHEN age < 18 THEN 'child' ELSE 'adult' END"),
            ("by a period", f"{COUNT} GROUP BY DATE_TRUNC('quarter', day)"),
            (
                "by a period of a datetime, also `hour`, `minute`, `second`",
                "SELECT DATE_TRUNC('day', seen) AS d, HOUR(seen) AS h, COUNT(*) FROM events "
                "GROUP BY d, h",
            ),
            ("by private keys, as a plain column", "SELECT city, COUNT(*) FROM events GROUP BY city"),
        ],
    ),
    (
        "On the noisy result",
        "Post-processing: it costs what its aggregates cost.",
        [
            ("conditions", "SELECT region, COUNT(*) AS n FROM visits GROUP BY region HAVING n > 10 AND AVG(age) < 50 AND region <> 'north'"),
            ("order and limit", "SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC, 1 LIMIT 3"),
            ("ends of the 95% interval", "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n), DP_INTERVAL_HIGH(n) FROM visits"),
        ],
    ),
    (
        "Joins",
        "Two private tables belong to one population and are joined on their unit; further equalities may follow. A column whose name is taken is written with its table or alias.",
        [
            ("schemas: `main` and `public` before the name of a table", "SELECT COUNT(*) FROM main.visits JOIN public.stays ON visits.patient_id = stays.patient_id"),
            ("private tables on their unit", "SELECT AVG(nights) FROM visits v JOIN stays s ON v.patient_id = s.patient_id WHERE v.age > 40"),
            ("with `USING`", "SELECT COUNT(*) FROM visits INNER JOIN stays USING (patient_id, age)"),
            ("units of other names", "SELECT SUM(amount) FROM visits JOIN bills ON patient_id = payer"),
            ("a public lookup table", "SELECT title, COUNT(*) FROM stays JOIN codes ON stays.code = codes.code GROUP BY title"),
            ("rows without a match kept", "SELECT COUNT(*) FROM stays LEFT JOIN codes USING (code) WHERE title IS NULL"),
            ("the same of private tables, on their unit", "SELECT COUNT(*), COUNT(payer), AVG(amount) FROM visits LEFT JOIN bills ON patient_id = payer"),
            ("people without rows there", "SELECT COUNT(DISTINCT patient_id) FROM visits LEFT JOIN bills ON patient_id = payer WHERE payer IS NULL"),
            ("people who also have rows there, or who have none", "SELECT COUNT(*) FROM visits SEMI JOIN stays USING (patient_id) ANTI JOIN bills ON patient_id = payer"),
            ("the same by `IN`", "SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM stays WHERE nights > 3) AND patient_id NOT IN (SELECT payer FROM bills)"),
            ("the same by `EXISTS`, correlated on the unit", "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id AND s.nights > 3)"),
            ("people by aggregates of their rows", "SELECT AVG(age) FROM visits WHERE smoker OR patient_id IN (SELECT patient_id FROM stays GROUP BY patient_id HAVING SUM(nights) > 9)"),
            ("chains", "SELECT COUNT(*) FROM visits JOIN stays USING (patient_id) LEFT OUTER JOIN codes USING (code)"),
            ("a table with itself", "SELECT COUNT(*) FROM stays a JOIN stays b ON a.patient_id = b.patient_id WHERE a.nights < b.nights"),
        ],
    ),
    (
        "Subqueries and `WITH`",
        "They filter and compute rows, or make one row for each unit (and each further key). Their columns have names of 1 to 63 bytes, in double quotes where they are no plain words.",
        [
            ("one row for each unit", "WITH p AS (SELECT patient_id, SUM(income) AS s FROM visits GROUP BY patient_id) SELECT AVG(s) FROM p"),
            ("bounds for it", "SELECT AVG(s) FROM (SELECT LEAST(GREATEST(SUM(income), 0), 5000) AS s FROM visits GROUP BY patient_id)"),
            ("further keys", "SELECT region, AVG(n) FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY patient_id, region) AS p GROUP BY region"),
            ("averages of one unit, rounded to a step of the column", "SELECT AVG(m) FROM (SELECT AVG(income) AS m FROM visits GROUP BY patient_id HAVING AVG(age) > 17)"),
            ("`COUNT`, `SUM`, `MIN`, `MAX`, and expressions over them", "SELECT AVG(often) FROM (SELECT CASE WHEN COUNT(*) > 3 THEN 1 ELSE 0 END AS often, MAX(day) AS last FROM visits GROUP BY patient_id)"),
            ("those of some units only", "SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) >= 3)"),
            ("each unit, or each of its keys, once", "SELECT region, COUNT(*) FROM (SELECT DISTINCT patient_id, region FROM visits) GROUP BY region"),
            ("gaps between the rows of a unit", "SELECT AVG(gap) FROM (SELECT DATE_DIFF('day', LAG(day) OVER (PARTITION BY patient_id ORDER BY day), day) AS gap FROM visits)"),
            ("first rows of each unit", "SELECT region, COUNT(*) FROM (SELECT region, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS place FROM visits) WHERE place = 1 GROUP BY region"),
            ("the same", "SELECT region, COUNT(*) FROM (SELECT DISTINCT ON (patient_id) region FROM visits ORDER BY day) GROUP BY region"),
            ("the same", "SELECT region, COUNT(*) FROM (SELECT region FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) = 1) GROUP BY region"),
            ("other rows of the unit", "SELECT AVG(age - young), AVG(later) FROM (SELECT age, FIRST_VALUE(age) OVER (PARTITION BY patient_id ORDER BY day) AS young, LEAD(income, 2) OVER (PARTITION BY patient_id ORDER BY day) AS later, LAST_VALUE(age) OVER (PARTITION BY patient_id ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS old FROM visits)"),
            ("ranks, and running totals", "SELECT AVG(spent) FROM (SELECT RANK() OVER (PARTITION BY patient_id ORDER BY income DESC) AS high, DENSE_RANK() OVER (PARTITION BY patient_id, region ORDER BY age) AS old, SUM(income) OVER (PARTITION BY patient_id ORDER BY day) AS spent FROM visits) WHERE high < 3"),
            ("totals of the unit beside its rows", "SELECT AVG(age) FROM (SELECT age, COUNT(*) OVER (PARTITION BY patient_id) AS n, MAX(day) OVER (PARTITION BY patient_id) AS last FROM visits) WHERE n > 3"),
            ("cohorts", "SELECT DATE_TRUNC('month', began) AS cohort, COUNT(*) FROM (SELECT patient_id, MIN(day) AS began FROM visits GROUP BY patient_id) GROUP BY cohort"),
            ("filtered and computed rows", "WITH adults AS (SELECT patient_id, income / 12 AS monthly FROM visits WHERE age > 17) SELECT AVG(monthly), COUNT(DISTINCT patient_id) FROM adults"),
            ("all columns", "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE smoker)"),
            ("several, used more than once", "WITH a AS (SELECT patient_id, nights FROM stays), b AS (SELECT patient_id FROM a WHERE nights > 3) SELECT COUNT(*) FROM a JOIN b USING (patient_id)"),
            ("joined with tables", "SELECT AVG(s.n) FROM visits v JOIN (SELECT patient_id, COUNT(*) AS n FROM stays GROUP BY patient_id) s ON v.patient_id = s.patient_id"),
            ("of public tables", "SELECT COUNT(*) FROM stays JOIN (SELECT code FROM codes WHERE title = 'flu') c USING (code)"),
        ],
    ),
    (
        "Price and bounds in the text",
        "BigQuery's clause, in the outermost SELECT.",
        [
            ("a price", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5, delta=1e-9) COUNT(*) FROM visits"),
            ("the most groups of one unit", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=2) region, COUNT(*) FROM visits GROUP BY region"),
            ("the most rows of one unit, after joins", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=5) COUNT(*) FROM visits JOIN stays USING (patient_id)"),
            ("the unit, if it is the custodian's", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column=patient_id) COUNT(*) FROM visits"),
        ],
    ),
]  # fmt: skip

ABOVE: list[tuple[str, str]] = [
    (
        "a query around a question, as tools write it",
        "SELECT * FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) AS q ORDER BY n DESC LIMIT 10",
    ),
    (
        "shares of the total, ranks, running sums",
        "SELECT region, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM visits GROUP BY region",
    ),
    (
        "change from one month to the next",
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', day)) AS change FROM visits GROUP BY 1 ORDER BY 1",
    ),
    (
        "several questions in one row",
        "SELECT (SELECT COUNT(*) FROM visits WHERE smoker) AS smokers, (SELECT COUNT(*) FROM stays) AS stays",
    ),
    (
        "steps with names",
        "WITH by_region AS (SELECT region, COUNT(*) AS n FROM visits GROUP BY region), whole AS (SELECT SUM(n) AS n FROM by_region) SELECT region, by_region.n / whole.n AS share FROM by_region CROSS JOIN whole",
    ),
    (
        "joins of released numbers",
        "SELECT region, a.n, b.n FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) AS a LEFT JOIN (SELECT region, COUNT(*) AS n FROM visits WHERE smoker GROUP BY region) AS b USING (region)",
    ),
    (
        "sets of rows",
        "SELECT 'all' AS region, COUNT(*) AS n FROM visits UNION ALL SELECT region, COUNT(*) AS n FROM visits GROUP BY region",
    ),
    (
        "functions of numbers, texts and dates",
        "SELECT UPPER(region) AS name, ROUND(AVG(income), 2) AS income, CASE WHEN COUNT(*) > 100 THEN 'many' ELSE 'few' END AS size FROM visits GROUP BY region",
    ),
    (
        "groups of groups",
        "SELECT EXTRACT(QUARTER FROM m) AS quarter, MAX(n) AS busiest FROM (SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY 1) AS q GROUP BY ALL",
    ),
    (
        "DISTINCT, QUALIFY, FETCH, OFFSET, TOP",
        "SELECT region, COUNT(*) AS n FROM visits GROUP BY region QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 3",
    ),
]

REFUSED: list[tuple[str, list[str]]] = [
    (
        "Statements",
        [
            "DELETE FROM visits",
            "WITH d AS (DELETE FROM visits RETURNING *) SELECT COUNT(*) FROM visits",
            f"{COUNT}; DROP TABLE visits",
            "SELECT 1",
        ],
    ),
    (
        "People and rows",
        [
            "SELECT age FROM visits UNION SELECT nights FROM stays",
            "SELECT age FROM visits EXCEPT SELECT nights FROM stays",
            "SELECT age FROM visits INTERSECT SELECT nights FROM stays",
            "SELECT AVG(age) FROM (SELECT age FROM visits FETCH FIRST 3 ROWS ONLY)",
            "SELECT AVG(age) FROM (SELECT age FROM visits LIMIT 5 OFFSET 2)",
            "SELECT SUM(age) OVER (ORDER BY day) FROM visits",
            "SELECT COUNT(*) FROM visits WHERE age > ALL (1)",
            "SELECT * FROM visits",
            "SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id",
            f"{COUNT} WHERE patient_id = 3",
            "SELECT age FROM visits",
            "SELECT COUNT(DISTINCT age) FROM visits",
            "SELECT COUNT(*) FROM codes",
        ],
    ),
    (
        "Joins",
        [
            "SELECT COUNT(*) FROM visits, stays",
            "SELECT COUNT(*) FROM visits JOIN stays",
            "SELECT COUNT(*) FROM visits CROSS JOIN stays",
            "SELECT COUNT(*) FROM visits NATURAL JOIN stays",
            "SELECT COUNT(*) FROM codes RIGHT JOIN stays USING (code)",
            "SELECT COUNT(*) FROM stays FULL JOIN codes USING (code)",
            "SELECT COUNT(*) FROM visits SEMI JOIN codes ON visits.age = codes.code",
            "SELECT COUNT(*) FROM visits v SEMI JOIN stays s ON v.patient_id = s.patient_id AND v.age = s.age",
            "SELECT COUNT(*) FROM visits ASOF JOIN stays USING (patient_id)",
            "SELECT COUNT(*) FROM codes LEFT JOIN stays USING (code)",
            "SELECT COUNT(*) FROM visits LEFT JOIN stays USING (age)",
            "SELECT COUNT(*) FROM visits v LEFT JOIN stays s USING (patient_id) WHERE s.patient_id > 3",
            "SELECT COUNT(*) FROM visits v JOIN stays s ON v.age = s.age",
            "SELECT COUNT(*) FROM visits v JOIN stays s ON v.patient_id = s.patient_id AND v.age > s.age",
            "SELECT COUNT(*) FROM visits v JOIN codes c ON v.patient_id = c.code",
            "SELECT COUNT(*) FROM visits JOIN trips ON patient_id = person",
            "SELECT COUNT(*) FROM visits JOIN people USING (age)",
            "SELECT COUNT(*) FROM visits JOIN codes ON region = code",
            "SELECT COUNT(*) FROM visits JOIN visits ON patient_id = patient_id",
            "SELECT AVG(age) FROM visits v JOIN stays s USING (patient_id)",
            "SELECT COUNT(*) FROM (visits JOIN stays USING (patient_id))",
        ],
    ),
    (
        "Subqueries",
        [
            "SELECT AVG(m) FROM (SELECT MEDIAN(age) AS m FROM visits GROUP BY patient_id)",
            "SELECT COUNT(*) FROM (SELECT patient_id FROM visits HAVING COUNT(*) > 1)",
            "SELECT COUNT(*) FROM (SELECT age FROM visits ORDER BY age)",
            "SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT 5)",
            "SELECT COUNT(*) FROM (SELECT 1 AS one FROM visits)",
            "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY day) AS n FROM visits)",
            "SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY region ORDER BY day) AS n FROM visits)",
            "SELECT COUNT(*) FROM (SELECT LAG(age) OVER (PARTITION BY patient_id) AS n FROM visits)",
            'SELECT COUNT(*) FROM (SELECT age AS "the `age`" FROM visits)',
            "SELECT COUNT(*) FROM (VALUES (1))",
            "WITH RECURSIVE p AS (SELECT age FROM visits) SELECT COUNT(*) FROM p",
            f"{COUNT} WHERE age = (SELECT MAX(age) FROM visits)",
            f"{COUNT} WHERE age IN (SELECT age FROM stays)",
            f"{COUNT} WHERE patient_id IN (SELECT person FROM trips)",
            f"{COUNT} WHERE EXISTS (SELECT 1 FROM stays)",
            f"{COUNT} v WHERE EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id AND s.age < v.age)",
            f"{COUNT} GROUP BY patient_id IN (SELECT patient_id FROM stays)",
        ],
    ),
    (
        "Aggregates and results",
        [
            "SELECT SUM(region) FROM visits",
            "SELECT MIN(region) FROM visits",
            "SELECT MODE(income) FROM visits",
            "SELECT QUANTILE_CONT(age, 1.5) FROM visits",
            "SELECT MEDIAN(age) AS m, DP_INTERVAL_LOW(m) FROM visits",
            "SELECT AVG(SUM(age)) FROM visits",
            "SELECT COUNT(DISTINCT patient_id) FILTER (WHERE smoker) FROM visits",
            "SELECT COUNT(*) FROM clinic.visits",
            "SELECT region, COUNT(*) FROM visits GROUP BY ALL, age",
            "SELECT COUNT(*) OVER () FROM visits",
            f"{COUNT} WHERE COUNT(*) > 5",
            f"{COUNT} ORDER BY age",
            f"{COUNT} TABLESAMPLE (10 PERCENT)",
        ],
    ),
    (
        "Expressions",
        [
            f"{COUNT} WHERE income / age > 1",
            f"{COUNT} WHERE age = NULL",
            f"{COUNT} WHERE region < 'north'",
            f"{COUNT} WHERE region = 3",
            f"{COUNT} WHERE region LIKE ANY ('a', 'b')",
            f"{COUNT} WHERE region LIKE 'a' ESCAPE 'b'",
            f"{COUNT} WHERE region || home = 'b'",
            f"{COUNT} WHERE UPPER(region) = 'North'",
            "SELECT COUNT(*) FROM events WHERE UPPER(city) = 'ROM'",
            "SELECT COUNT(*) FROM events WHERE COALESCE(city, 'none') = 'Rom'",
            f"{COUNT} WHERE smoker XOR age > 40",
            f"{COUNT} WHERE age % income = 0",
            f"{COUNT} WHERE income // 2 = 0",
            f"{COUNT} WHERE CAST(income / 2 AS INT) = 1",
            f"{COUNT} WHERE CAST(day AS TIMESTAMP) > '2024-01-31'",
            f"{COUNT} WHERE day + INTERVAL 1 DAY > '2024-01-31'",
            f"{COUNT} WHERE DATE_DIFF('week', day, day) = 1",
            f"{COUNT} WHERE DATE(DATE(day)) = '2024-01-31'",
            f"{COUNT} WHERE day > CURRENT_TIMESTAMP",
            f"{COUNT} WHERE day > '2024-01-31' - INTERVAL '1' DAY",
            f"{COUNT} WHERE day = '31.1.2024'",
            "SELECT COUNT(*) FROM events WHERE seen > DATETIME '2024-01-31 12:00'",
            "SELECT COUNT(*) FROM events WHERE seen > TIMESTAMPTZ '2024-01-31 12:00'",
            "SELECT COUNT(*) FROM events WHERE EXTRACT(MILLISECOND FROM seen) = 3",
            "SELECT COUNT(*) FROM events WHERE city LIKE 'a%'",
            "SELECT COUNT(*) FROM events WHERE city = born_in",
            "SELECT MODE(city) FROM events",
            f"{COUNT} WHERE region = `north",
            "SELECT COUNT(*) FROM events GROUP BY CASE WHEN day > '2024-03-01' THEN city END",
        ],
    ),
]  # fmt: skip

FUNCTIONS = {
    "ANY_VALUE": "ANY_VALUE(age)", "APPROX_COUNT_DISTINCT": "APPROX_COUNT_DISTINCT(age)",
    "APPROX_PERCENTILE": "APPROX_PERCENTILE(age, 0.5)",
    "APPROX_QUANTILE": "APPROX_QUANTILE(age, 0.5)", "APPROX_QUANTILES": "APPROX_QUANTILES(age, 4)",
    "ARG_MAX": "ARG_MAX(age, income)", "ARG_MIN": "ARG_MIN(age, income)", "DATE": "MAX(DATE(2024, 1, 31))",
    "DATE_ADD": "MAX(DATE_ADD(day, INTERVAL 1 DAY))", "DATE_SUB": "MAX(DATE_SUB(day, INTERVAL 1 DAY))",
    "DAYNAME": "MODE(DAYNAME(day))", "EPOCH": "SUM(EPOCH(day))", "MONTHNAME": "MODE(MONTHNAME(day))",
    "NOW": "MAX(NOW())", "PERCENTILE": "PERCENTILE(age, 0.5)", "POSITION": "SUM(POSITION('n' IN region))",
    "POWER": "SUM(POWER(age, 2))", "RAND": "SUM(RAND())", "RANDOM": "SUM(RANDOM())",
    "REGEXP_MATCHES": "COUNTIF(REGEXP_MATCHES(region, 'n.*'))", "SAFE_CAST": "SUM(SAFE_CAST(age AS INT))",
    "SQRT": "SUM(SQRT(age))", "STRFTIME": "MODE(STRFTIME(day, '%Y'))", "TRY_CAST": "SUM(TRY_CAST(age AS INT))",
}  # fmt: skip
"""A use of every function that is refused with its own advice."""

HEAD = """# SQL that the curator answers

<!-- Written by tests/support/sql_page.py from the questions that the tests ask; edit it there. -->

One question: a SELECT with aggregates over registered tables. The text is parsed and translated; it never reaches an engine. Whatever is not on this page is refused before any data is touched and without a charge; the message names the construct and what to write instead.

The examples are about these tables; `patient_id`, `payer` and `person` are units, and `codes` and `cities` are public.
"""

STATEMENTS = """## Statements above several questions

A statement may hold several **private blocks**, questions as above, and anything that SQL does with their results: outer queries, common tables, joins, sets, windows, `CASE`, text, number and date functions, `DISTINCT`, `HAVING`, `ORDER BY`, `LIMIT`. What stands above the blocks sees released numbers only; it runs in an in-memory DuckDB in a process of its own that holds no private row and reaches no file, network or setting, and means what DuckDB means by it.
"""

ABOVE_TAIL = """- **One price.** `epsilon` (or `rho`) is the price of the whole statement, in equal shares for its blocks; equal blocks are paid once. `explain` shows every block with its price and its error. `error=` buys each block the error that is wanted: of every column, or of named columns that are sums of counts and sums.
- **One charge, before anything runs.** All blocks are released together or not at all. Each is kept by itself: asked again, alone or under another outer query at the same price, it is free. A statement whose blocks are all known is an entry of the ledger that costs nothing. If the part above fails, nothing is lost.
- **Intervals.** A column that is a sum of counts and sums with known factors has its exact interval. Of any other the interval is *simulated*: the noise of the blocks is drawn again 1,999 times (at least 1,000), and the outer query runs once on all draws together. Answers with more than about 10,000 noisy values, rows that nothing but noise tells apart, and what is computed from quantiles, extremes and modes have none, and a note says so. Where noise decides which rows are shown (the top three), a note says that too.
- **Functions** are those of their arguments alone; what asks the clock, a setting, a file or chance (`NOW()`, `RANDOM()`, `READ_CSV()`) is refused. Missing values sort last, as in DuckDB.
- `SELECT DATE_TRUNC('month', day)` of a date is a date here and midnight of it in DuckDB. Public groups without rows are shown, with their noise.
"""

CORPORA = """## SQL of other tools

`tests/corpora` holds statements in the shape that dashboards, query builders, data-frame libraries, other systems with differential privacy and people write, about the tables above. Privacy forbids some of them, whatever the curator learns to read: rows and units of people, pairs of different people, the order of their rows, files, writes. The last column counts those of the others that are taken as they stand.
"""

TAIL = """## Limits

16 kB of text, 3,000 words and signs, 32 levels of nesting, 64 operations deep, 16 SELECTs, 16 tables read, 100 columns, 1,000 values in a list, numbers of 40 digits, 100,000 groups unless the custodian set another limit (`Curator.open(most_groups=...)`).

A join gives one person at most 1,000 rows (`joined_rows_per_unit` in the schema), or as many as one of its sides has already: how long a question takes must not depend on one person. With `max_rows_contributed` both sides are cut to so many rows of each person first, where all of them would be too many. A join with a public table equates all columns of its declared key.

## Meaning

Values are clamped to their declared bounds and rounded half to even to their step before `WHERE`, `GROUP BY`, joins and aggregates see them. A category value that is not declared belongs to no group unless the schema says `other = true`. Names are matched without regard to case. Sunday is day 0 of the week; weeks begin on Monday. Two questions that differ only in spacing, capitals, parentheses or table aliases are the same question. So are two spellings of one expression, such as `COUNT(*) FILTER (WHERE x)` and `COUNT(CASE WHEN x THEN 1 END)`: the second is given again for free.

Functions have DuckDB's meaning on the bounded values, which are exact decimals, dates and texts: `ROUND` and casts to integers take a half away from zero, `TRUNC` and `//` go towards zero, `%` has the sign of its dividend, `CONCAT` leaves NULL out where `||` is NULL. `GREATEST` and `LEAST` are NULL if any part is. A date plus an interval of days or more is a date. `DATE_DIFF` counts the starts of a unit between two moments. It is computed from years and days of the year, so that its bounds can be up to a year wider at either end than those of the columns: `LEAST(DATE_DIFF('day', a, b), 60)` has less noise where fewer days are enough.

Every answer states what it cuts, clamps and leaves out: `answer.notes`, from the schema and the question alone. A note about rows or values offers the question that says, noisily and for a price, how many there are.

## Constants

A column is compared with values that it can have. `=`, `<>`, `IN`, `LIKE` and `CASE x WHEN` with a text that is no declared key, and `=`, `<>` and `IN` with a number or date outside of the bounds, are refused with the nearest value that there is, and so are `<`, `<=`, `>`, `>=` and `BETWEEN` with a constant more than one step outside of the bounds (`day < '2026-01-01'` is one step beyond 2025-12-31). A column with private keys is compared with any text, and what is computed from columns with any constant. These refusals depend on the schema alone and cost nothing; an answer that was released before is still given again.

## Limits of one question

`max_groups_contributed` and `max_rows_contributed` lower, for one question, how many groups and rows of one unit are used. They stand in the clause `OPTIONS`, or beside the question: `--max-rows-contributed` on the command line, `session.sql(..., max_rows_contributed=2)` in Python, a field of the same name over HTTP. Both ways are the same question with the same answer. `explain` suggests a limit where it would at least halve the noise.
"""


def refusal(text: str) -> str:
    """What is said to a statement that is refused."""
    try:
        read_statement(text, TABLES)
    except UnsafeQuery as refused:
        return str(refused)
    raise AssertionError(f"accepted: {text}")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code(text: str) -> str:
    return _cell(f"`` {text} ``" if "`" in text else f"`{text}`")


def _tables() -> list[str]:
    lines = ["| table | unit | columns |", "|---|---|---|"]
    for table in TABLES.values():
        columns = ", ".join(
            f"{each.name} ({'category, private keys' if each.private_keys else each.kind})"
            for each in table.columns
        )
        unit = table.unit or ("public" if table.kind == "public" else "each row")
        lines.append(f"| {table.name} | {unit} | {columns} |")
    return lines


def rendered() -> str:
    """The page."""
    lines = [HEAD, *_tables(), "", "## Accepted", ""]
    for title, note, cases in ACCEPTED:
        lines += [f"### {title}", "", note, "", "| what | example |", "|---|---|"]
        lines += [f"| {_cell(what)} | {_code(text)} |" for what, text in cases]
        lines.append("")
    lines += [STATEMENTS, "| what | example |", "|---|---|"]
    lines += [f"| {_cell(what)} | {_code(text)} |" for what, text in ABOVE]
    lines += ["", ABOVE_TAIL, "", "## Refused", ""]
    for title, texts in REFUSED:
        lines += [f"### {title}", "", "| question | refusal |", "|---|---|"]
        lines += [f"| {_code(text)} | {_cell(refusal(text))} |" for text in texts]
        lines.append("")
    lines += [
        "### Functions",
        "",
        "Every function that is not above. Some have advice of their own:",
    ]
    lines += ["", "| call | refusal |", "|---|---|"]
    lines += [
        f"| {_code(call)} | {_cell(refusal(f'SELECT {call} FROM visits'))} |"
        for call in FUNCTIONS.values()
    ]
    return "\n".join([*lines, "", CORPORA, *table_of_counts(), "", TAIL])


if __name__ == "__main__":
    PAGE.write_text(rendered())
