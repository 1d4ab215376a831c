"""Spellings that are read as others: the same question, so the same answer and the same charge."""
# ruff: noqa: E501

import duckdb
import pytest

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Aggregate, Case, Extreme, Field, Literal, Member, Statistic
from discreet.query.readers.texts import lower_case, upper_case
from discreet.query.written import written
from support.questions import ask, where

SAME_CONDITIONS = [
    ("COALESCE(age, 0) = 1", "CASE WHEN age IS NOT NULL THEN age ELSE 0 END = 1"),
    ("IFNULL(age, 0) = 1", "COALESCE(age, 0) = 1"),
    ("NVL(age, 0) = 1", "COALESCE(age, 0) = 1"),
    ("COALESCE(NULL, age, NULL, 3, income) = 1", "COALESCE(age, 3) = 1"),
    ("COALESCE(4, age) = 4", "1 = 1"),
    ("COALESCE(day, '2024-03-01') = day", "COALESCE(day, DATE '2024-03-01') = day"),
    ("NULLIF(age, 3) = 1", "CASE WHEN age = 3 THEN NULL ELSE age END = 1"),
    ("IF(smoker, 1, 2) = 1", "CASE WHEN smoker THEN 1 ELSE 2 END = 1"),
    ("IIF(smoker, age, NULL) = 1", "CASE WHEN smoker THEN age END = 1"),
    ("IF(smoker, 1) = 1", "CASE WHEN smoker THEN 1 END = 1"),
    ("age IS NOT DISTINCT FROM 3", "age IS NOT NULL AND age = 3"),
    ("age IS DISTINCT FROM 3", "NOT (age IS NOT NULL AND age = 3)"),
    ("3 IS NOT DISTINCT FROM age", "age IS NOT NULL AND age = 3"),
    ("age IS DISTINCT FROM NULL", "age IS NOT NULL"),
    ("NULL IS NOT DISTINCT FROM age", "age IS NULL"),
    (
        "age IS NOT DISTINCT FROM income",
        "age IS NULL AND income IS NULL OR age IS NOT NULL AND income IS NOT NULL AND age = income",
    ),
    ("age IS NOT DISTINCT FROM age OR smoker", "1 = 1"),
    ("CEIL(income) = 3", "-FLOOR(-income) = 3"),
    ("CEILING(age) = 3", "age = 3"),
    ("ROUND(age) = 3", "age = 3"),
    ("ROUND(age, 2) = 3", "age = 3"),
    ("TRUNC(age) = 3", "age = 3"),
    ("MOD(age, 3) = 1", "age % 3 = 1"),
    ("age // 3 = 1", "age DIV 3 = 1"),
    ("age // 3 = 1", "TRUNC(age / 3) = 1"),
    ("CAST(income AS INT) = 3", "ROUND(income) = 3"),
    ("income::BIGINT = 3", "ROUND(income) = 3"),
    ("age::BOOLEAN", "age <> 0"),
    ("smoker::INT = 1", "CASE WHEN smoker THEN 1 WHEN NOT smoker THEN 0 END = 1"),
    ("TRUE::INT = age", "1 = age"),
    ("age = ABS(-3) + SIGN(-2) + ROUND(2.5) + ROUND(-2.5) + TRUNC(-1.5) + CEIL(0.5)", "age = 2"),
    ("age = ROUND(12.345, 2) * 100 AND age = -7 % 3 + 8", "age = 1235 AND age = 7"),
    ("day < DATE '2024-01-31' + INTERVAL 1 MONTH", "day < DATE '2024-02-29'"),
    ("day < INTERVAL '1' MONTH + DATE '2024-01-31'", "day < DATE '2024-02-29'"),
    ("day < DATE '2024-03-31' - INTERVAL '1 month'", "day < DATE '2024-02-29'"),
    ("day < DATE '2024-02-29' + INTERVAL (1) YEAR", "day < DATE '2025-02-28'"),
    ("day < DATE '2024-01-31' + INTERVAL '7 days'", "day < DATE '2024-02-07'"),
    ("day < DATE '2024-01-31' + INTERVAL '-7 days'", "day < DATE '2024-01-24'"),
    ("day < DATE '2024-01-31' + INTERVAL 1 QUARTER", "day < DATE '2024-04-30'"),
    ("day < DATE '2024-01-31' + 3 - 1", "day < DATE '2024-02-02'"),
    ("day < DATE '2024-01-31' + INTERVAL 2 WEEKS", "day < DATE '2024-02-14'"),
    ("day BETWEEN DATE '2024-03-01' AND DATE '2024-03-01' + INTERVAL 1 MONTH",
     "day BETWEEN '2024-03-01' AND '2024-04-01'"),
    ("DATE '2024-03-31' - DATE '2024-03-01' = age", "30 = age"),
    ("day = MAKE_DATE(2024, 3, 1)", "day = '2024-03-01'"),
    ("day = TO_DATE('2024-03-01')", "day = '2024-03-01'"),
    ("day = DATE('2024-03-01')", "day = '2024-03-01'"),
    ("DATE(day) = '2024-03-01'", "day = '2024-03-01'"),
    ("DATE_DIFF('day', DATE '2024-03-01', day) = 3", "day - DATE '2024-03-01' = 3"),
    ("DATEDIFF('day', '2024-03-01', day) = 3", "day - DATE '2024-03-01' = 3"),
    ("DATE_DIFF('year', '2024-03-01', day) = 3", "YEAR(day) - 2024 = 3"),
    ("WEEKDAY(day) = 1", "DAYOFWEEK(day) = 1"),
    ("DATE_PART('isodow', day) = 1", "ISODOW(day) = 1"),
    ("UPPER(region) = 'NORTH'", "region IN ('north')"),
    ("'NORTH' = UCASE((region))", "region IN ('north')"),
    ("UPPER(region) <> 'NORTH'", "region NOT IN ('north')"),
    ("(LOWER(region)) IN ('west_1', 'north')", "region IN ('West_1', 'north')"),
    ("LCASE(region) LIKE 'w%'", "region IN ('West_1')"),
    ("UPPER(region) NOT LIKE '%TH'", "region NOT IN ('north', 'south')"),
    ("LEFT(region, 1) = 'n'", "region IN ('north')"),
    ("RIGHT(region, 2) = 'th'", "region IN ('north', 'south')"),
    ("RIGHT(region, -3) = 'th'", "region IN ('north', 'south')"),
    ("SUBSTR(region, 2, 2) = 'or'", "region IN ('north')"),
    ("SUBSTRING(region, -2) = 'th'", "region IN ('north', 'south')"),
    ("TRIM(region) = 'north'", "region = 'north'"),
    ("TRIM(region, 'n') = 'orth'", "region IN ('north')"),
    ("LTRIM(region, 'no') = 'rth'", "region IN ('north')"),
    ("RTRIM(region, 'h') = 'nort'", "region IN ('north')"),
    ("REPLACE(region, 'o', '0') = 'n0rth'", "region IN ('north')"),
    ("REPLACE(region, '', '0') = 'north'", "region = 'north'"),
    ("region || '!' = 'north!'", "region IN ('north')"),
    ("'a' || region || '!' = 'anorth!'", "region IN ('north')"),
    ("STARTS_WITH(region, 'n')", "region IN ('north')"),
    ("ENDS_WITH(region, 'th')", "region IN ('north', 'south')"),
    ("CONTAINS(region, '_')", "region IN ('West_1')"),
    ("CONTAINS(UPPER(region), 'TH')", "region IN ('north', 'south')"),
    ("LEN(region) = LENGTH(region)", "CHAR_LENGTH(region) = LENGTH(region)"),
    (
        "LENGTH(region) = 4",
        "CASE WHEN region IN ('north', 'south') THEN 5 WHEN region IN ('east') THEN 4 "
        "WHEN region IN ('West_1') THEN 6 END = 4",
    ),
    (
        "UPPER(CASE WHEN age < 18 THEN 'child' ELSE region END) = 'CHILD'",
        "UPPER(IF(age < 18, 'child', region)) = 'CHILD'",
    ),
    ("age IN (-1, 2)", "age IN (0 - 1, 2)"),
]  # fmt: skip

SAME_QUESTIONS = [
    ("SELECT COUNT(*) FROM main.visits", "SELECT COUNT(*) FROM visits"),
    ('SELECT AVG(public.visits.age) FROM "public"."Visits"', "SELECT AVG(age) FROM visits"),
    (
        "SELECT COUNT(*) FROM main.visits v JOIN public.stays s ON v.patient_id = s.patient_id",
        "SELECT COUNT(*) FROM visits v JOIN stays s ON v.patient_id = s.patient_id",
    ),
    (
        "SELECT region, age > 3 AS old, COUNT(*) AS n, DP_INTERVAL_LOW(n) FROM visits GROUP BY ALL",
        "SELECT region, age > 3 AS old, COUNT(*) AS n, DP_INTERVAL_LOW(n) FROM visits GROUP BY 1, 2",
    ),
    ("SELECT COUNT(*) FROM visits GROUP BY ALL", "SELECT COUNT(*) FROM visits"),
    (
        "SELECT region, COUNT(*) FROM visits GROUP BY ALL HAVING COUNT(*) > 3 ORDER BY 2 LIMIT 1",
        "SELECT region, COUNT(*) FROM visits GROUP BY region HAVING COUNT(*) > 3 ORDER BY 2 LIMIT 1",
    ),
    (
        "SELECT AVG(s) FROM (SELECT patient_id, region, SUM(age) AS s FROM visits GROUP BY ALL)",
        "SELECT AVG(s) FROM (SELECT patient_id, region, SUM(age) AS s FROM visits "
        "GROUP BY patient_id, region)",
    ),
    (
        "SELECT AVG(s) FROM (SELECT SUM(smoker) AS s FROM visits GROUP BY patient_id)",
        "SELECT AVG(s) FROM (SELECT SUM(smoker::INT) AS s FROM visits GROUP BY patient_id)",
    ),
    (
        "SELECT AVG(s) FROM (SELECT SUM(age) FILTER (WHERE smoker) AS s FROM visits GROUP BY patient_id)",
        "SELECT AVG(s) FROM (SELECT SUM(CASE WHEN smoker THEN age END) AS s FROM visits GROUP BY patient_id)",
    ),
    (
        "SELECT COUNT(*) FILTER (WHERE smoker), COUNT(1) FILTER (WHERE age > 3) FROM visits",
        "SELECT COUNT(CASE WHEN smoker THEN 1 END), COUNT(CASE WHEN age > 3 THEN 1 END) FROM visits",
    ),
    (
        "SELECT COUNTIF(smoker), COUNT_IF(age > 3) FROM visits",
        "SELECT COUNT(CASE WHEN smoker THEN 1 END), COUNT(CASE WHEN age > 3 THEN 1 END) FROM visits",
    ),
    (
        "SELECT COUNTIF(smoker) FILTER (WHERE age > 3) FROM visits",
        "SELECT COUNT(CASE WHEN age > 3 THEN CASE WHEN smoker THEN 1 END END) FROM visits",
    ),
    (
        "SELECT MEDIAN(age) FILTER (WHERE smoker), QUANTILE_CONT(age, 0.1) FILTER (WHERE smoker), "
        "PERCENTILE_CONT(0.2) WITHIN GROUP (ORDER BY age DESC) FILTER (WHERE smoker) FROM visits",
        "SELECT MEDIAN(CASE WHEN smoker THEN age END), "
        "QUANTILE_CONT(CASE WHEN smoker THEN age END, 0.1), PERCENTILE_CONT(0.2) WITHIN GROUP "
        "(ORDER BY CASE WHEN smoker THEN age END DESC) FROM visits",
    ),
    (
        "SELECT CORR(age, income) FILTER (WHERE smoker), MODE(region) FILTER (WHERE smoker) FROM visits",
        "SELECT CORR(CASE WHEN smoker THEN age END, income), "
        "MODE(CASE WHEN smoker THEN region END) FROM visits",
    ),
    ("SELECT SUM(smoker), AVG(age > 3) FROM visits", "SELECT SUM(smoker::INT), AVG((age > 3)::INT) FROM visits"),
    (
        "SELECT COALESCE(SUM(age), 0) AS s, SUM(age) / NULLIF((COUNT(*)), 0) AS a FROM visits",
        "SELECT SUM(age) AS s, SUM(age) / COUNT(*) AS a FROM visits",
    ),
    (
        "SELECT SUM(age) AS s FROM visits HAVING SUM(age) / NULLIF(COUNT(*) FILTER (WHERE smoker), 0) > 3",
        "SELECT SUM(age) AS s FROM visits HAVING SUM(age) / COUNTIF(smoker) > 3",
    ),
    (
        "SELECT MAX(day) AS m FROM visits HAVING m > DATE '2024-03-01' + INTERVAL 1 MONTH",
        "SELECT MAX(day) AS m FROM visits HAVING m > DATE '2024-04-01'",
    ),
    (
        "SELECT CAST(seen AS DATE) AS d, COUNT(*) FROM events WHERE DATE(seen) > seen::DATE GROUP BY d",
        "SELECT DATE_TRUNC('day', seen) AS d, COUNT(*) FROM events "
        "WHERE DATE_TRUNC('day', seen) > DATE_TRUNC('day', seen) GROUP BY 1",
    ),
    (
        "SELECT DATE_DIFF('hour', e.seen, seen) AS h, COUNT(*) FROM events e GROUP BY h",
        "SELECT DATE_DIFF('hours', seen, e.seen) AS h, COUNT(*) FROM events e GROUP BY h",
    ),
    (
        "SELECT LOWER(region) AS low, COUNT(*) AS n FROM visits GROUP BY LOWER(region) HAVING n > 1",
        "SELECT LOWER(region) AS low, COUNT(*) AS n FROM visits GROUP BY low HAVING COUNT(*) > 1",
    ),
    (
        "SELECT COUNT(*) FROM events WHERE city IS NOT DISTINCT FROM 'Rom'",
        "SELECT COUNT(*) FROM events WHERE city IS NOT NULL AND city = 'Rom'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("short", "long"), SAME_CONDITIONS)
def test_a_condition_is_read_as_another(short: str, long: str) -> None:
    assert where(short) == where(long)


@pytest.mark.parametrize(("short", "long"), SAME_QUESTIONS)
def test_a_question_is_read_as_another(short: str, long: str) -> None:
    assert ask(short) == ask(long)


@pytest.mark.parametrize("short", [short for short, _ in SAME_CONDITIONS])
def test_what_is_offered_for_a_condition_is_the_condition(short: str) -> None:
    expression = where(short)
    if expression is not None:
        assert where(written(expression)) == expression


def test_a_value_is_told_apart_from_its_neighbours() -> None:
    """The comparison can fail."""
    assert where("ROUND(income) = 3") != where("TRUNC(income) = 3")
    assert where("UPPER(region) = 'NORTH'") != where("UPPER(region) = 'SOUTH'")
    assert ask("SELECT SUM(smoker) FROM visits") != ask("SELECT COUNT(smoker) FROM visits")


def test_remainders_and_absolute_values_say_their_bounds() -> None:
    absolute = where("ABS(age) = 1")
    assert isinstance(absolute.left, Extreme)
    assert len(absolute.left.parts) == 3
    remainder = where("age % 10 = 1")
    assert isinstance(remainder.left, Extreme)
    assert remainder.left.side == "least"


def test_concat_leaves_null_out() -> None:
    condition = where("CONCAT('a', region) = 'anorth'")
    assert isinstance(condition.left, Case)
    assert condition.left.otherwise == Literal("a")
    piped = ask("SELECT COUNT(*) FROM visits GROUP BY 'a' || region").keys[0].expression
    assert isinstance(piped, Case)
    assert piped.otherwise == Literal(None)


def test_a_column_of_a_subquery_keeps_its_texts() -> None:
    query = ask(
        "SELECT COUNT(*) FROM (SELECT UPPER(region) AS up FROM visits) WHERE LOWER(up) = 'north'"
    )
    assert query.where == Member(Field("up"), (Literal("NORTH"),))
    with pytest.raises(UnsafeQuery, match="Did you mean 'north'"):
        ask(
            "SELECT COUNT(*) FROM (SELECT UPPER(region) AS up FROM visits) WHERE LOWER(up) = 'nort'"
        )


def test_overlapping_conditions_are_not_mistaken_for_texts() -> None:
    """The first branch holds for north, so that its second says nothing of it."""
    case = "CASE WHEN region IN ('north') THEN 'a' WHEN region IN ('north', 'south') THEN 'b' END"
    assert not isinstance(where(f"UPPER({case}) = 'B'"), Member)


def test_sums_of_truths_in_subqueries_are_integers() -> None:
    query = ask("SELECT MODE(s) FROM (SELECT SUM(smoker) AS s FROM visits GROUP BY patient_id)")
    assert query.outputs[0].expression == Aggregate(Statistic.MODE, Field("s"))


def test_letters_have_the_case_that_duckdb_gives_them() -> None:
    """Every letter up to the symbols, among them the few that Python makes two of."""
    letters = [chr(code) for code in range(1, 0x2100)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE letters (letter VARCHAR)")
        connection.executemany("INSERT INTO letters VALUES (?)", [(each,) for each in letters])
        rows = connection.execute("SELECT letter, upper(letter), lower(letter) FROM letters")
        found = rows.fetchall()
    assert [row for row in found if row != (row[0], upper_case(row[0]), lower_case(row[0]))] == []
    assert len(found) == len(letters)
