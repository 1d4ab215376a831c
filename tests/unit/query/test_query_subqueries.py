"""Subqueries and WITH: the sources they become, and those that are refused."""
# ruff: noqa: E501

import pytest

from discreet.errors import UnsafeQuery
from discreet.query.algebra import (
    Aggregate,
    Case,
    Compare,
    DatePart,
    DateTrunc,
    Expression,
    Extreme,
    Field,
    Join,
    Junction,
    Key,
    Literal,
    Output,
    PerUnit,
    Rows,
    Scan,
    Source,
    Statistic,
)
from support.questions import (
    AGE,
    DAY,
    INCOME,
    REGION,
    ROWS,
    SMOKER,
    VISITS,
    ask,
    combine,
    compare,
    number,
)

SCAN = Scan("visits")
TOTAL = Aggregate(Statistic.SUM, INCOME)
SPENT = PerUnit(SCAN, None, (), (("s", TOTAL),))
MONTH = DateTrunc("month", DAY)


def _rows(*columns: tuple[str, Expression], where: Expression | None = None) -> Rows:
    return Rows(SCAN, where, columns)


ACCEPTED: list[tuple[str, Source]] = [
    ("SELECT age FROM visits", _rows(("age", AGE))),
    ("SELECT patient_id FROM visits", _rows()),
    ("SELECT patient_id, age, income AS i FROM visits WHERE smoker", _rows(("age", AGE), ("i", INCOME), where=SMOKER)),
    ("SELECT v.AGE FROM visits v WHERE TRUE", _rows(("age", AGE))),
    ("SELECT income / 12 AS monthly FROM visits", _rows(("monthly", combine(INCOME, "/", 12)))),
    ("SELECT FLOOR(age/10), age > 40 FROM visits",
     _rows(("floor_age", ask("SELECT COUNT(*) FROM visits GROUP BY FLOOR(age/10)").keys[0].expression), ("value", compare(AGE, ">", 40)))),
    ("SELECT LEAST(income, 1000) AS capped FROM visits", _rows(("capped", Extreme("least", (INCOME, number(1000)))))),
    ("SELECT * FROM visits", _rows(*((each.name, Field(each.name)) for each in VISITS.columns))),
    ("SELECT v.*, age + 1 AS older FROM visits v",
     _rows(*((each.name, Field(each.name)) for each in VISITS.columns), ("older", combine(AGE, "+", 1)))),
    ("SELECT age FROM (SELECT age, smoker FROM visits) WHERE smoker",
     Rows(_rows(("age", AGE), ("smoker", SMOKER)), SMOKER, (("age", AGE),))),
    ("SELECT patient_id, SUM(income) AS s FROM visits GROUP BY patient_id", SPENT),
    ("SELECT patient_id AS p, SUM(income) AS s FROM visits GROUP BY p", SPENT),
    ("SELECT patient_id, SUM(income) AS s FROM visits GROUP BY 1", SPENT),
    ("SELECT SUM(income) AS s FROM visits v GROUP BY v.patient_id", SPENT),
    ("SELECT patient_id, SUM(income) AS s FROM visits WHERE smoker GROUP BY patient_id", PerUnit(SCAN, SMOKER, (), (("s", TOTAL),))),
    ("SELECT SUM(income) FROM visits GROUP BY patient_id", PerUnit(SCAN, None, (), (("sum_income", TOTAL),))),
    ("SELECT patient_id, region, COUNT(*) AS n FROM visits GROUP BY patient_id, region",
     PerUnit(SCAN, None, (("region", REGION),), (("region", REGION), ("n", ROWS)))),
    ("SELECT region AS r, COUNT(*) AS n FROM visits GROUP BY patient_id, r", PerUnit(SCAN, None, (("region", REGION),), (("r", REGION), ("n", ROWS)))),
    ("SELECT region AS age, SUM(age) AS s FROM visits GROUP BY patient_id, region",
     PerUnit(SCAN, None, (("region", REGION),), (("age", REGION), ("s", Aggregate(Statistic.SUM, AGE))))),
    ("SELECT YEAR(day) AS age, SUM(age) AS s FROM visits GROUP BY patient_id, 1",
     PerUnit(SCAN, None, (("year_day", DatePart("year", DAY)),), (("age", Field("year_day")), ("s", Aggregate(Statistic.SUM, AGE))))),
    ("SELECT s.age, SUM(v.age) AS t FROM visits v JOIN stays s USING (patient_id) GROUP BY v.patient_id, s.age",
     PerUnit(Join("inner", SCAN, Scan("stays", (("age", "stays_age"),)), ()), None, (("stays_age", Field("stays_age")),),
             (("age", Field("stays_age")), ("t", Aggregate(Statistic.SUM, AGE))))),
    ("SELECT COUNT(*) AS n FROM visits GROUP BY DATE_TRUNC('month', day), patient_id, region",
     PerUnit(SCAN, None, (("month_day", MONTH), ("region", REGION)), (("n", ROWS),))),
    ("SELECT COUNT(*) + 1 FROM visits GROUP BY age > 40, patient_id",
     PerUnit(SCAN, None, (("value", compare(AGE, ">", 40)),), (("value", combine(ROWS, "+", 1)),))),
    ("SELECT LEAST(SUM(income), 500) AS s FROM visits GROUP BY patient_id",
     PerUnit(SCAN, None, (), (("s", Extreme("least", (TOTAL, number(500)))),))),
    ("SELECT MAX(day) AS last, MIN(age) AS young, COUNT(income) AS n FROM visits GROUP BY patient_id",
     PerUnit(SCAN, None, (), (("last", Aggregate(Statistic.MAXIMUM, DAY)), ("young", Aggregate(Statistic.MINIMUM, AGE)),
                              ("n", Aggregate(Statistic.VALUES, INCOME))))),
    ("SELECT CASE WHEN COUNT(*) > 3 THEN 1 ELSE 0 END AS often FROM visits GROUP BY patient_id",
     PerUnit(SCAN, None, (), (("often", Case(((compare(ROWS, ">", 3), number(1)),), number(0))),))),
    ("SELECT age * COUNT(*) AS years FROM visits GROUP BY patient_id, age",
     PerUnit(SCAN, None, (("age", AGE),), (("years", combine(AGE, "*", ROWS)),))),
    ("SELECT patient_id FROM visits GROUP BY patient_id", PerUnit(SCAN, None, (), ())),
    ("SELECT AVG(income) AS m FROM visits GROUP BY patient_id", PerUnit(SCAN, None, (), (("m", Aggregate(Statistic.AVERAGE, INCOME)),))),
    ("SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) >= 3",
     Rows(PerUnit(SCAN, None, (), (("having", compare(ROWS, ">=", 3)),)), Field("having"), ())),
    ("SELECT region, SUM(income) AS \"having\" FROM visits GROUP BY patient_id, region HAVING \"having\" > 5 AND region = 'north'",
     Rows(PerUnit(SCAN, None, (("region", REGION),), (("region", REGION), ("having", TOTAL), ("having_2", Junction("and", (
         compare(TOTAL, ">", 5), Compare("=", REGION, Literal("north"))))))), Field("having_2"), (("region", REGION), ("having", Field("having"))))),
    ("SELECT COUNT(*) AS n FROM visits GROUP BY patient_id HAVING 1 = 2",
     Rows(PerUnit(SCAN, None, (), (("n", ROWS),)), Literal(False), (("n", Field("n")),))),
    ("SELECT COUNT(*) AS n FROM visits GROUP BY patient_id HAVING TRUE", PerUnit(SCAN, None, (), (("n", ROWS),))),
    ("SELECT DISTINCT patient_id FROM visits WHERE age > 1", PerUnit(SCAN, compare(AGE, ">", 1), (), ())),
    ("SELECT DISTINCT region AS r, patient_id FROM visits", PerUnit(SCAN, None, (("region", REGION),), (("r", REGION),))),
    ("SELECT DISTINCT patient_id, DATE_TRUNC('month', day) AS m FROM visits",
     PerUnit(SCAN, None, (("month_day", MONTH),), (("m", Field("month_day")),))),
    ("SELECT patient_id, MAX(n) AS most FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id, day) GROUP BY patient_id",
     PerUnit(PerUnit(SCAN, None, (("day", DAY),), (("n", ROWS),)), None, (), (("most", Aggregate(Statistic.MAXIMUM, Field("n"))),))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ACCEPTED)
def test_subqueries(text: str, expected: Source) -> None:
    assert ask(f"SELECT COUNT(*) FROM ({text}) AS p").source == expected
    assert ask(f"SELECT COUNT(*) FROM ({text})").source == expected
    assert ask(f"WITH p AS ({text}) SELECT COUNT(*) FROM p").source == expected
    assert ask(f"WITH q AS ({text}) SELECT COUNT(*) FROM Q AS p").source == expected


def test_the_outer_question_sees_only_what_the_subquery_shows() -> None:
    question = ask(
        "WITH p AS (SELECT patient_id AS who, region, SUM(income) AS s FROM visits v WHERE v.age > 1 "
        "GROUP BY patient_id, region) SELECT p.region, AVG(s), COUNT(DISTINCT who) FROM p "
        "WHERE s BETWEEN 0 AND 9 GROUP BY region"
    )
    assert question.source == PerUnit(
        SCAN, compare(AGE, ">", 1), (("region", REGION),), (("region", REGION), ("s", TOTAL))
    )
    assert question.keys == (Key("region", REGION),)
    assert question.outputs == (
        Output("avg_s", Aggregate(Statistic.AVERAGE, Field("s"))),
        Output("count_units", Aggregate(Statistic.UNITS, None)),
    )


def test_a_sum_of_integers_is_an_integer() -> None:
    text = "SELECT MODE(s) FROM (SELECT SUM({}) AS s FROM visits GROUP BY patient_id)"
    assert ask(text.format("age")).outputs[0].name == "mode_s"
    with pytest.raises(UnsafeQuery, match="needs a category, a boolean or an integer"):
        ask(text.format("income"))


def test_subqueries_are_joined_on_the_unit() -> None:
    question = ask(
        "WITH p AS (SELECT patient_id AS who, SUM(income) AS s FROM visits GROUP BY patient_id), "
        "q AS (SELECT who, s FROM p WHERE s > 5) "
        "SELECT AVG(p.s), AVG(q.s), AVG(nights) FROM p JOIN q USING (who) JOIN stays ON who = patient_id"
    )
    second = Rows(SPENT, compare(Field("s"), ">", 5), (("visits_s", Field("s")),))
    assert question.source == Join("inner", Join("inner", SPENT, second, ()), Scan("stays"), ())
    assert question.columns == ("avg_s", "avg_s_2", "avg_nights")
    assert question.outputs[1].expression == Aggregate(Statistic.AVERAGE, Field("visits_s"))


def test_a_grouped_subquery_whose_names_are_taken_is_renamed() -> None:
    question = ask(
        "SELECT AVG(p.age), AVG(v.age) FROM visits v JOIN (SELECT patient_id, region, SUM(age) AS age, "
        "COUNT(*) AS n FROM visits GROUP BY patient_id, region, day) p ON p.patient_id = v.patient_id"
    )
    assert isinstance(question.source, Join)
    total = Aggregate(Statistic.SUM, AGE)
    assert question.source.right == PerUnit(
        SCAN,
        None,
        (("region", REGION), ("day", DAY)),
        (("visits_region", REGION), ("visits_age", total), ("n", ROWS)),
    )
    assert question.columns == ("avg_age", "avg_age_2")


def test_the_same_subquery_twice() -> None:
    question = ask(
        "WITH p AS (SELECT patient_id, nights FROM stays WHERE nights > 1) "
        "SELECT COUNT(*) FROM p a JOIN p b ON a.patient_id = b.patient_id WHERE a.nights < b.nights"
    )
    kept = compare(Field("nights"), ">", 1)
    assert question.source == Join(
        "inner",
        Rows(Scan("stays"), kept, (("nights", Field("nights")),)),
        Rows(Scan("stays"), kept, (("stays_nights", Field("nights")),)),
        (),
    )
    assert question.where == compare(Field("nights"), "<", Field("stays_nights"))


def test_public_tables_are_filtered_and_looked_up() -> None:
    question = ask(
        "SELECT title, COUNT(*) FROM stays JOIN (SELECT code AS k, title FROM codes WHERE age > 3) c "
        "ON stays.code = c.k GROUP BY title"
    )
    lookup = Rows(
        Scan("codes"),
        compare(AGE, ">", 3),
        (("k", Field("code")), ("title", Field("title"))),
    )
    assert question.source == Join("inner", Scan("stays"), lookup, (("code", "k"),))


def test_a_join_inside_a_subquery() -> None:
    question = ask(
        "SELECT AVG(n) FROM (SELECT v.patient_id, COUNT(*) AS n FROM visits v JOIN stays s "
        "USING (patient_id) WHERE s.age > 2 GROUP BY v.patient_id) p"
    )
    join = Join("inner", SCAN, Scan("stays", (("age", "stays_age"),)), ())
    assert question.source == PerUnit(join, compare(Field("stays_age"), ">", 2), (), (("n", ROWS),))


def test_a_star_shows_the_columns_of_using_once() -> None:
    question = ask(
        "SELECT AVG(nights), COUNT(DISTINCT patient_id) FROM "
        "(SELECT * FROM stays JOIN (SELECT code, title FROM codes) c USING (code))"
    )
    assert isinstance(question.source, Rows)
    assert [name for name, _ in question.source.columns] == [
        "age",
        "nights",
        "code",
        "ward",
        "title",
    ]


def test_rows_without_a_selected_unit_still_belong_to_it() -> None:
    clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column=patient_id)"
    assert ask(f"SELECT {clause} AVG(age) FROM (SELECT age FROM visits)").source == _rows(
        ("age", AGE)
    )


def test_options_stand_in_the_outer_select() -> None:
    question = ask(
        "WITH p AS (SELECT patient_id, age FROM visits) "
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_rows_contributed=4) AVG(age) FROM p"
    )
    assert question.options.max_rows_contributed == 4


SAME = [
    "WITH p AS (SELECT patient_id, SUM(income) AS s FROM visits WHERE age > 1 GROUP BY patient_id) SELECT AVG(s) FROM p",
    "with Q as (select SUM(x.income) s, x.patient_id from VISITS x where (x.age)>1 group by 2) select avg(z.s) from q z",
    "SELECT AVG(p.s) FROM (SELECT patient_id AS u, SUM(income) AS s FROM visits WHERE 1 < age GROUP BY u) p",
]  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_equal_questions_are_equal_values(text: str) -> None:
    assert ask(text) == ask(SAME[0])


REFUSED = [
    ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region", "a subquery grouped without the unit (line 1) mixes people"),
    ("SELECT COUNT(*) AS n FROM visits", "without GROUP BY (line 1) mixes people before noise"),
    ("SELECT age, MAX(day) AS d FROM visits", "without GROUP BY"),
    ("SELECT MEDIAN(age) AS m FROM visits GROUP BY patient_id", "Only COUNT, SUM, AVG, MIN and MAX are computed"),
    ("SELECT VARIANCE(age) AS m FROM visits GROUP BY patient_id", "Only COUNT, SUM, AVG, MIN and MAX"),
    ("SELECT COUNT(DISTINCT patient_id) AS m FROM visits GROUP BY patient_id", "It is 1 for every unit"),
    ("SELECT SUM(income) / COUNT(*) AS m FROM visits GROUP BY patient_id", "division by a column"),
    ("SELECT patient_id, age FROM visits GROUP BY patient_id", "'age' (line 1) is neither grouped nor aggregated in the subquery"),
    ("SELECT SUM(MAX(age)) AS m FROM visits GROUP BY patient_id", "an aggregate inside another"),
    ("SELECT patient_id FROM visits HAVING COUNT(*) > 1", "HAVING in a subquery without GROUP BY (line 1) mixes people"),
    ("SELECT patient_id FROM visits GROUP BY patient_id HAVING age > 1", "'age' (line 1) is neither grouped nor aggregated in the subquery"),
    ("SELECT MAX(income) AS age FROM visits GROUP BY patient_id HAVING age > 1", "neither grouped nor aggregated"),
    ("SELECT patient_id FROM visits GROUP BY patient_id HAVING patient_id = 1", "is the privacy unit"),
    ("SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*)", "HAVING needs a condition, not an integer"),
    ("SELECT patient_id FROM visits GROUP BY patient_id HAVING MEDIAN(age) > 1", "Only COUNT, SUM, AVG"),
    ("SELECT AVG(day) AS m FROM visits GROUP BY patient_id", "AVG (line 1) needs a number"),
    ("SELECT region FROM visits GROUP BY region HAVING COUNT(*) > 1", "a subquery grouped without the unit"),
    ("SELECT age FROM visits ORDER BY age", "ORDER BY in a subquery"),
    ("SELECT age FROM visits LIMIT 5", "LIMIT in a subquery"),
    ("SELECT DISTINCT age FROM visits", "DISTINCT in a subquery without the unit (line 1) mixes people before noise is added. Add patient_id to its SELECT list"),
    ("SELECT DISTINCT patient_id, COUNT(*) AS n FROM visits", "without GROUP BY (line 1) mixes people"),
    ("SELECT DISTINCT patient_id, 3 FROM visits", "GROUP BY a constant, or DISTINCT with one"),
    ("SELECT DISTINCT patient_id FROM visits GROUP BY patient_id", "DISTINCT and GROUP BY in one subquery"),
    ("SELECT DISTINCT code FROM codes", "Leave GROUP BY and DISTINCT out"),
    ("SELECT DISTINCT *, age FROM visits", "* is not supported"),
    ("SELECT age FROM visits UNION SELECT age FROM visits", "UNION (line 1)"),
    ("SELECT age, ROW_NUMBER() OVER () AS r FROM visits", "ROW_NUMBER OVER (line 1) without the unit"),
    ("SELECT 1 AS one FROM visits", "a constant as a column"),
    ("SELECT NULL AS one FROM visits", "a constant as a column"),
    ("SELECT 1 + 1 AS one FROM visits GROUP BY patient_id", "a constant as a column"),
    ("SELECT age, income AS age FROM visits", "two columns called 'age'"),
    ("SELECT age, patient_id AS age FROM visits", "two columns called 'age'"),
    ("SELECT patient_id AS region, region FROM visits GROUP BY patient_id, visits.region", "two columns called 'region'"),
    ("SELECT * FROM visits v JOIN stays s USING (patient_id)", "two columns called 'age'"),
    ("SELECT w.* FROM visits v", "Name the columns"),
    ("SELECT *, COUNT(*) AS n FROM visits GROUP BY patient_id", "* is not supported"),
    ('SELECT age AS "the `age`" FROM visits', "a subquery's column cannot be called 'the `age`'"),
    ('SELECT age AS "$unit" FROM visits', "cannot be called '$unit'"),
    (f"SELECT age AS {'a' * 64} FROM visits", "use 1 to 63 bytes"),
    ('SELECT region AS "the `region`", COUNT(*) AS n FROM visits GROUP BY patient_id, region', "cannot be called 'the `region`'"),
    ("SELECT patient_id + 1 AS p FROM visits", "is the privacy unit"),
    ("SELECT age FROM visits WHERE patient_id = 3", "is the privacy unit"),
    ("SELECT SUM(age) AS s FROM people GROUP BY age", "each row is one person, so there is nothing to add up"),
    ("SELECT code, COUNT(*) AS n FROM codes GROUP BY code", "a public table has none"),
    ("SELECT COUNT(*) AS n FROM visits GROUP BY patient_id, 'a'", "GROUP BY a constant"),
    ("SELECT COUNT(*) AS n FROM visits GROUP BY ALL", "without the unit"),
    ("SELECT COUNT(*) AS n FROM visits GROUP BY ROLLUP (patient_id)", "not supported"),
    ("SELECT COUNT(*) AS age FROM visits GROUP BY patient_id, age", "both a column and the alias"),
    ("SELECT age", "names no table"),
    ("SELECT age FROM nowhere", "there is no table 'nowhere'"),
    ("VALUES (1)", "VALUES (line 1)"),
    ("(SELECT age FROM visits)", "A subquery stands after FROM or JOIN"),
    ("SELECT WITH DIFFERENTIAL_PRIVACY age FROM visits", "a second WITH"),
    ("WITH q AS (SELECT age FROM visits) SELECT age FROM q", "a second WITH (line 1) is not supported"),
    ("SELECT age FROM codes", "reads only public tables"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused_subqueries(text: str, message: str) -> None:
    for question in (
        f"SELECT COUNT(*) FROM ({text}) AS p",
        f"WITH p AS ({text}) SELECT COUNT(*) FROM p",
    ):
        with pytest.raises(UnsafeQuery) as caught:
            ask(question)
        assert message in str(caught.value)
        assert len(str(caught.value)) < 300


CHAIN = ", ".join(
    f"p{n} AS (SELECT a.patient_id FROM p{n - 1} a JOIN p{n - 1} b USING (patient_id))"
    for n in range(1, 9)
)
QUESTIONS = [
    ("WITH RECURSIVE p AS (SELECT age FROM visits) SELECT COUNT(*) FROM p", "RECURSIVE (line 1)"),
    ("WITH p AS (SELECT age FROM p) SELECT COUNT(*) FROM p", "there is no table 'p'"),
    ("WITH p AS (SELECT age FROM q), q AS (SELECT age FROM visits) SELECT COUNT(*) FROM p", "there is no table 'q'"),
    ("WITH p AS (SELECT age FROM visits), P AS (SELECT age FROM visits) SELECT COUNT(*) FROM p", "already the name of a table"),
    ("WITH visits AS (SELECT age FROM people) SELECT COUNT(*) FROM visits", "already the name of a table"),
    ("WITH p (a) AS (SELECT age FROM visits) SELECT COUNT(*) FROM p", "P() (line 1)"),
    ("WITH p AS MATERIALIZED (SELECT age FROM visits) SELECT COUNT(*) FROM p", "MATERIALIZED"),
    ("WITH p AS (SELECT age FROM visits)", "cannot be read"),
    ("WITH p AS (SELECT age FROM visits) SELECT COUNT(*) FROM p SELECT 1", "a second SELECT"),
    ("WITH p AS (SELECT age FROM visits) DELETE FROM p", "DELETE"),
    ("WITH p AS (SELECT income FROM visits) SELECT AVG(age) FROM p", "the subquery has no column 'age'"),
    ("WITH p AS (SELECT income FROM visits) SELECT COUNT(DISTINCT patient_id) FROM p", "Select patient_id in the subquery"),
    ("WITH p AS (SELECT age FROM visits) SELECT COUNT(*) FROM p JOIN stays USING (age)", "Select patient_id in the subquery, and join on it"),
    ("WITH p AS (SELECT age AS patient_id FROM visits) SELECT COUNT(*) FROM p JOIN stays USING (patient_id)", "is the privacy unit"),
    ("WITH p AS (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id, region) SELECT AVG(n) FROM p GROUP BY region", "has no column 'region'"),
    ("SELECT COUNT(*) FROM (SELECT age FROM visits) p (a)", "not supported"),
    ("SELECT COUNT(*) FROM (SELECT age FROM visits), people", "a comma in FROM"),
    ("SELECT COUNT(*) FROM visits WHERE age = (SELECT MAX(age) FROM visits)", "A subquery stands after FROM"),
    ("SELECT COUNT(*), (SELECT COUNT(*) FROM visits) FROM visits", "a second SELECT"),
    ("SELECT COUNT(*) FROM visits JOIN (SELECT patient_id FROM stays LIMIT 3) s USING (patient_id)", "LIMIT in a subquery"),
    (f"WITH p0 AS (SELECT patient_id FROM visits), {CHAIN} SELECT COUNT(*) FROM p8", "more than 16 tables"),
    ("SELECT COUNT(*) FROM " + "(SELECT age FROM " * 16 + "visits" + ")" * 16, "17 SELECTs; the limit is 16"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), QUESTIONS, ids=range(len(QUESTIONS)))
def test_refused_questions(text: str, message: str) -> None:
    with pytest.raises(UnsafeQuery) as caught:
        ask(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


def test_deep_but_allowed_questions_are_read() -> None:
    text = "SELECT COUNT(*) FROM " + "(SELECT age FROM " * 15 + "visits" + ")" * 15
    assert ask(text).tables == ("visits",)
