"""Accepted SQL and the question it becomes."""
# ruff: noqa: E501

from fractions import Fraction

import pytest

from discreet.query.algebra import (
    Aggregate,
    Bucket,
    Case,
    DatePart,
    DateTrunc,
    Expression,
    Extreme,
    Field,
    Floor,
    IntervalEnd,
    IsNull,
    Junction,
    Key,
    Literal,
    Member,
    Negation,
    Options,
    Order,
    Output,
    Query,
    Scan,
    Statistic,
)
from support.questions import (
    AGE,
    COUNT,
    DAY,
    INCOME,
    REGION,
    ROWS,
    SMOKER,
    ask,
    combine,
    compare,
    key,
    number,
    on,
    output,
    where,
)

NULL = Literal(None)
CHILD = Case(((compare(AGE, "<", 18), Literal("child")),), Literal("adult"))


def _both(*parts: Expression) -> Junction:
    return Junction("and", parts)


def _regions(*names: str) -> Member:
    return Member(REGION, tuple(Literal(name) for name in names))


CONDITIONS = [
    ("age = 1", compare(AGE, "=", 1)),
    ("age != 1", compare(AGE, "<>", 1)),
    ("age <> 1", compare(AGE, "<>", 1)),
    ("age < 1", compare(AGE, "<", 1)),
    ("age <= 1", compare(AGE, "<=", 1)),
    ("age > -1", compare(AGE, ">", -1)),
    ("age >= 1", compare(AGE, ">=", 1)),
    ("17 < age", compare(AGE, ">", 17)),
    ("17 >= age", compare(AGE, "<=", 17)),
    ("age < income", compare(AGE, "<", INCOME)),
    ("income = .5", compare(INCOME, "=", number("1/2"))),
    ("income = 1.5e2", compare(INCOME, "=", 150)),
    ("income = 1e-3", compare(INCOME, "=", number("1/1000"))),
    ("income = 0.1 + 0.2", compare(INCOME, "=", number("3/10"))),
    ("income = 7 / 2 - 1 * 3", compare(INCOME, "=", number("1/2"))),
    ("age + 1 > 2", compare(combine(AGE, "+", 1), ">", 2)),
    ("age - income * 2 > 2", compare(combine(AGE, "-", combine(INCOME, "*", 2)), ">", 2)),
    ("-age < 2", compare(combine(number(0), "-", AGE), "<", 2)),
    ("income / 2.5 < 2", compare(combine(INCOME, "/", number("5/2")), "<", 2)),
    ("income / (1 + 1) < 2", compare(combine(INCOME, "/", 2), "<", 2)),
    ("age = 1 AND smoker", _both(compare(AGE, "=", 1), SMOKER)),
    ("age = 1 OR smoker", Junction("or", (compare(AGE, "=", 1), SMOKER))),
    ("NOT smoker", Negation(SMOKER)),
    ("NOT NOT smoker", SMOKER),
    ("smoker = TRUE", compare(SMOKER, "=", Literal(True))),
    ("smoker IS TRUE", _both(Negation(IsNull(SMOKER)), SMOKER)),
    ("smoker IS FALSE", _both(Negation(IsNull(SMOKER)), Negation(SMOKER))),
    ("smoker IS NOT TRUE", Negation(_both(Negation(IsNull(SMOKER)), SMOKER))),
    ("income IS NULL", IsNull(INCOME)),
    ("income IS NOT NULL", Negation(IsNull(INCOME))),
    ("region = 'north'", compare(REGION, "=", Literal("north"))),
    ("region = 'atlantis'", compare(REGION, "=", Literal("atlantis"))),
    ("region = 'it''s'", compare(REGION, "=", Literal("it's"))),
    ("region <> home", compare(REGION, "<>", Field("home"))),
    ("region IN ('south', 'north', 'south')", _regions("north", "south")),
    ("region NOT IN ('south')", Negation(_regions("south"))),
    ("age IN (3, 1, 2)", Member(AGE, (number(1), number(2), number(3)))),
    ("day IN ('2024-02-01', DATE '2024-01-01')", Member(DAY, (on(2024, 1, 1), on(2024, 2, 1)))),
    ("age BETWEEN 1 AND 2", _both(compare(AGE, ">=", 1), compare(AGE, "<=", 2))),
    ("age NOT BETWEEN 1 AND 2", Negation(_both(compare(AGE, ">=", 1), compare(AGE, "<=", 2)))),
    ("region LIKE '%th'", _regions("north", "south")),
    ("region LIKE 'n_rth'", _regions("north")),
    ("region LIKE 'west%'", _regions("west%")),
    ("region ILIKE 'west%'", _regions("West_1")),
    ("region NOT LIKE '%th'", Negation(_regions("north", "south"))),
    ("region LIKE '%'", _regions("West_1", "east", "north", "south")),
    ("day >= '2024-03-01'", compare(DAY, ">=", on(2024, 3, 1))),
    ("'2024-03-01' > day", compare(DAY, "<", on(2024, 3, 1))),
    ("day < DATE '2024-03-01'", compare(DAY, "<", on(2024, 3, 1))),
    ("day < CAST('2024-03-01' AS DATE)", compare(DAY, "<", on(2024, 3, 1))),
    ("day < '2024-03-01'::date", compare(DAY, "<", on(2024, 3, 1))),
    ("DATE_TRUNC('month', day) = '2024-03-01'", compare(DateTrunc("month", DAY), "=", on(2024, 3, 1))),
    ("EXTRACT(YEAR FROM day) = 2024", compare(DatePart("year", DAY), "=", 2024)),
    ("FLOOR(income) > 2", compare(Floor(INCOME), ">", 2)),
    ("FLOOR(age) > FLOOR(2.5)", compare(AGE, ">", 2)),
    ("WIDTH_BUCKET(age, 0, 100, 10) = 3", compare(Bucket(AGE, Fraction(0), Fraction(100), 10), "=", 3)),
    ("CASE WHEN age < 18 THEN 'child' ELSE 'adult' END = 'child'", compare(CHILD, "=", Literal("child"))),
    ("CASE WHEN smoker THEN age > 3 ELSE FALSE END", Case(((SMOKER, compare(AGE, ">", 3)),), Literal(False))),
    ("CAST(age AS BIGINT) = CAST(income AS DOUBLE)", compare(AGE, "=", INCOME)),
    ("region::text = 'north' AND smoker::boolean", _both(compare(REGION, "=", Literal("north")), SMOKER)),
    ("day::date = '2024-03-01'", compare(DAY, "=", on(2024, 3, 1))),
    ("format = 1", compare(Field("format"), "=", 1)),
    ("TRUE", None),
    ("1 = 1", None),
    ("1 < 2 AND smoker", SMOKER),
    ("smoker AND smoker", SMOKER),
    ("smoker OR 2 >= 2.0", None),
    ("smoker AND 'a' = 'b'", Literal(False)),
    ("NOT 1 = 1", Literal(False)),
    ("DATE '2024-01-01' <= '2024-01-01'", None),
    ("1 BETWEEN 2 AND 3", Literal(False)),
]  # fmt: skip

KEYS = [
    ("region", Key("region", REGION)),
    ("smoker", Key("smoker", SMOKER)),
    ("age", Key("age", AGE)),
    ("income", Key("income", INCOME)),
    ("day", Key("day", DAY)),
    ("age > 40", Key("value", compare(AGE, ">", 40))),
    ("FLOOR(age/10)", Key("floor_age", Floor(combine(AGE, "/", 10)))),
    ("FLOOR(income)", Key("floor_income", Floor(INCOME))),
    ("WIDTH_BUCKET(age, 0, 100, 10)", Key("bucket_age", Bucket(AGE, Fraction(0), Fraction(100), 10))),
    ("CASE WHEN age < 18 THEN 'child' ELSE 'adult' END", Key("case", CHILD)),
    ("CASE region WHEN 'north' THEN 1 WHEN 'south' THEN 2 END",
     Key("case", Case(((compare(REGION, "=", Literal("north")), number(1)),
                       (compare(REGION, "=", Literal("south")), number(2))), NULL))),
    ("CASE day WHEN '2024-03-01' THEN TRUE ELSE FALSE END",
     Key("case", Case(((compare(DAY, "=", on(2024, 3, 1)), Literal(True)),), Literal(False)))),
    ("DATE_TRUNC('year', day)", Key("year_day", DateTrunc("year", DAY))),
    ("date_trunc('QUARTER', day)", Key("quarter_day", DateTrunc("quarter", DAY))),
    ("DATE_TRUNC('month', day)", Key("month_day", DateTrunc("month", DAY))),
    ("DATE_TRUNC('week', day)", Key("week_day", DateTrunc("week", DAY))),
    ("DATE_TRUNC('day', day)", Key("day_day", DateTrunc("day", DAY))),
    ("EXTRACT(QUARTER FROM day)", Key("quarter_day", DatePart("quarter", DAY))),
    ("EXTRACT(DOW FROM day)", Key("dayofweek_day", DatePart("dayofweek", DAY))),
    ("EXTRACT(doy FROM day)", Key("dayofyear_day", DatePart("dayofyear", DAY))),
    ("YEAR(day)", Key("year_day", DatePart("year", DAY))),
    ("QUARTER(day)", Key("quarter_day", DatePart("quarter", DAY))),
    ("MONTH(day)", Key("month_day", DatePart("month", DAY))),
    ("WEEK(day)", Key("week_day", DatePart("week", DAY))),
    ("WEEKOFYEAR(day)", Key("week_day", DatePart("week", DAY))),
    ("DAY(day)", Key("day_day", DatePart("day", DAY))),
    ("DAYOFMONTH(day)", Key("day_day", DatePart("day", DAY))),
    ("DAYOFWEEK(day)", Key("dayofweek_day", DatePart("dayofweek", DAY))),
    ("DAYOFYEAR(day)", Key("dayofyear_day", DatePart("dayofyear", DAY))),
    ("DATE_PART('month', day)", Key("month_day", DatePart("month", DAY))),
    ("DATEPART('month', day)", Key("month_day", DatePart("month", DAY))),
]  # fmt: skip


def _quantile(share: str) -> Aggregate:
    return Aggregate(Statistic.QUANTILE, INCOME, fraction=Fraction(share))


def _of_two(name: str, statistic: Statistic) -> Output:
    return Output(f"{name}_age_income", Aggregate(statistic, AGE, INCOME))


SUM_INCOME = Aggregate(Statistic.SUM, INCOME)
OUTPUTS = [
    ("COUNT(*)", Output("count", ROWS)),
    ("COUNT(1)", Output("count", ROWS)),
    ("COUNT('a')", Output("count", ROWS)),
    ("COUNT(income)", Output("count_income", Aggregate(Statistic.VALUES, INCOME))),
    ("COUNT(region)", Output("count_region", Aggregate(Statistic.VALUES, REGION))),
    ("COUNT(DISTINCT patient_id)", Output("count_units", Aggregate(Statistic.UNITS, None))),
    ("COUNT(DISTINCT visits.PATIENT_ID)", Output("count_units", Aggregate(Statistic.UNITS, None))),
    ("SUM(income)", Output("sum_income", SUM_INCOME)),
    ("AVG(income)", Output("avg_income", Aggregate(Statistic.AVERAGE, INCOME))),
    ("VAR_SAMP(age)", Output("var_samp_age", Aggregate(Statistic.VARIANCE_SAMPLE, AGE))),
    ("VARIANCE(age)", Output("var_samp_age", Aggregate(Statistic.VARIANCE_SAMPLE, AGE))),
    ("VAR_POP(age)", Output("var_pop_age", Aggregate(Statistic.VARIANCE_POPULATION, AGE))),
    ("STDDEV(age)", Output("stddev_samp_age", Aggregate(Statistic.DEVIATION_SAMPLE, AGE))),
    ("STDDEV_SAMP(age)", Output("stddev_samp_age", Aggregate(Statistic.DEVIATION_SAMPLE, AGE))),
    ("STDDEV_POP(age)", Output("stddev_pop_age", Aggregate(Statistic.DEVIATION_POPULATION, AGE))),
    ("MIN(income)", Output("min_income", Aggregate(Statistic.MINIMUM, INCOME))),
    ("MAX(day)", Output("max_day", Aggregate(Statistic.MAXIMUM, DAY))),
    ("MODE(region)", Output("mode_region", Aggregate(Statistic.MODE, REGION))),
    ("MODE(smoker) AS m", Output("m", Aggregate(Statistic.MODE, SMOKER))),
    ("MODE() WITHIN GROUP (ORDER BY age)", Output("mode_age", Aggregate(Statistic.MODE, AGE))),
    ("MODE(FLOOR(age/10))", Output("mode_floor_age", Aggregate(Statistic.MODE, Floor(combine(AGE, "/", 10))))),
    ("MEDIAN(income)", Output("median_income", _quantile("1/2"))),
    ("MEDIAN(day)", Output("median_day", Aggregate(Statistic.QUANTILE, DAY, fraction=Fraction(1, 2)))),
    ("QUANTILE(income, 0.25)", Output("p25_income", _quantile("1/4"))),
    ("QUANTILE_CONT(income, 0.5)", Output("median_income", _quantile("1/2"))),
    ("quantile_disc(income, 1 - 0.001)", Output("p99_9_income", _quantile("999/1000"))),
    ("PERCENTILE_CONT(income, 0)", Output("p0_income", _quantile("0"))),
    ("PERCENTILE_DISC(income, 1)", Output("p100_income", _quantile("1"))),
    ("PERCENTILE_CONT(1/3) WITHIN GROUP (ORDER BY income)", Output("p33_33333333_income", _quantile("1/3"))),
    ("PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY income DESC)", Output("p90_income", _quantile("9/10"))),
    ("PERCENTILE_DISC(0.1) WITHIN GROUP (ORDER BY income ASC)", Output("p10_income", _quantile("1/10"))),
    ("COVAR_POP(age, income)", _of_two("covar_pop", Statistic.COVARIANCE_POPULATION)),
    ("COVAR_SAMP(age, income)", _of_two("covar_samp", Statistic.COVARIANCE_SAMPLE)),
    ("CORR(age, income)", _of_two("corr", Statistic.CORRELATION)),
    ("REGR_SLOPE(age, income)", _of_two("regr_slope", Statistic.SLOPE)),
    ("REGR_INTERCEPT(age, income)", _of_two("regr_intercept", Statistic.INTERCEPT)),
    ("MAX(age) - MIN(age) AS spread",
     Output("spread", combine(Aggregate(Statistic.MAXIMUM, AGE), "-", Aggregate(Statistic.MINIMUM, AGE)))),
    ("SUM(LEAST(income, 1000))",
     Output("sum_least_income", Aggregate(Statistic.SUM, Extreme("least", (INCOME, number(1000)))))),
    ("SUM(GREATEST(age, income, age, 3 * 4))",
     Output("sum_greatest_age", Aggregate(Statistic.SUM, Extreme("greatest", (AGE, INCOME, number(12)))))),
    ("SUM(GREATEST(age) + LEAST(3, 2))", Output("sum", Aggregate(Statistic.SUM, combine(AGE, "+", 2)))),
    ("SUM(age * income)", Output("sum", Aggregate(Statistic.SUM, combine(AGE, "*", INCOME)))),
    ("AVG(CASE WHEN smoker THEN 1 ELSE 0 END) AS share",
     Output("share", Aggregate(Statistic.AVERAGE, Case(((SMOKER, number(1)),), number(0))))),
    ("COUNT(CASE WHEN smoker THEN 1 END)",
     Output("count_case", Aggregate(Statistic.VALUES, Case(((SMOKER, number(1)),), NULL)))),
    ("SUM(income) / COUNT(*) AS mean", Output("mean", combine(SUM_INCOME, "/", ROWS))),
    ("100 * SUM(income)::float / CAST(COUNT(*) AS FLOAT) - 1",
     Output("value", combine(combine(combine(number(100), "*", SUM_INCOME), "/", ROWS), "-", 1))),
    ('-COUNT(*) AS "minus n"', Output("minus n", combine(number(0), "-", ROWS))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CONDITIONS)
def test_conditions(text: str, expected: Expression | None) -> None:
    assert where(text) == expected


@pytest.mark.parametrize(("text", "expected"), KEYS)
def test_keys(text: str, expected: Key) -> None:
    assert key(text) == expected


@pytest.mark.parametrize(("text", "expected"), OUTPUTS)
def test_outputs(text: str, expected: Output) -> None:
    assert output(text) == expected


def test_a_whole_question() -> None:
    question = ask(
        "SELECT region AS r, COUNT(*) AS n, AVG(income) FROM visits AS v WHERE v.age >= 18 "
        "GROUP BY region HAVING COUNT(*) > 10 AND AVG(income) < 5 AND region <> 'north' "
        "ORDER BY n DESC, SUM(age), 1 LIMIT 3"
    )
    assert question == Query(
        Scan("visits"),
        compare(AGE, ">=", 18),
        (Key("r", REGION),),
        (Output("n", ROWS), Output("avg_income", Aggregate(Statistic.AVERAGE, INCOME))),
        ("r", "n", "avg_income"),
        _both(
            compare(Field("n"), ">", 10),
            compare(Field("avg_income"), "<", 5),
            compare(Field("r"), "<>", Literal("north")),
        ),
        (
            Order(Field("n"), "descending"),
            Order(Aggregate(Statistic.SUM, AGE), "ascending"),
            Order(Field("r"), "ascending"),
        ),
        3,
    )


def test_the_smallest_question() -> None:
    assert ask("SELECT COUNT(*) FROM people;") == Query(Scan("people"), None, (), COUNT, ("count",))


@pytest.mark.parametrize(
    ("group", "columns"),
    [
        ("1", ("floor_age", "count")),
        ("FLOOR(age / 10)", ("floor_age", "count")),
        ("1, FLOOR(age/10)", ("floor_age", "count")),
    ],
)
def test_keys_by_position_and_by_expression(group: str, columns: tuple[str, ...]) -> None:
    question = ask(f"SELECT FLOOR(age/10), COUNT(*) FROM visits GROUP BY {group} ORDER BY {group}")
    assert question.columns == columns
    assert question.keys == (Key("floor_age", Floor(combine(AGE, "/", 10))),)
    assert question.order[0] == Order(Field("floor_age"), "ascending")


def test_keys_by_alias() -> None:
    question = ask("SELECT COUNT(*), YEAR(day) y FROM visits GROUP BY Y HAVING y > 2024 ORDER BY y")
    assert question.keys == (Key("y", DatePart("year", DAY)),)
    assert question.columns == ("count", "y")
    assert question.having == compare(Field("y"), ">", 2024)
    assert question.order == (Order(Field("y"), "ascending"),)


def test_a_key_that_is_not_selected() -> None:
    question = ask("SELECT COUNT(*) FROM visits GROUP BY region, age ORDER BY region")
    assert question.columns == ("count",)
    assert [each.name for each in question.keys] == ["region", "age"]
    assert question.order == (Order(REGION, "ascending"),)


def test_an_alias_may_be_the_name_of_a_column_that_is_not_grouped() -> None:
    question = ask("SELECT AVG(income) AS income FROM visits HAVING income > 5")
    assert question.having == compare(INCOME, ">", 5)
    assert question.outputs[0].name == "income"


def test_names_are_made_unique() -> None:
    text = "SELECT COUNT(*), COUNT(1), SUM(age), age AS count_2, SUM(age) FROM visits GROUP BY age"
    assert ask(text).columns == ("count", "count_3", "sum_age", "count_2", "sum_age_2")


def test_having_understands_in_between_like_and_arithmetic() -> None:
    question = ask(
        "SELECT region, COUNT(*) n, SUM(age) s, SUM(age) / COUNT(*) m FROM visits GROUP BY region "
        "HAVING region LIKE '%th' AND n BETWEEN 1 AND 5 AND SUM(age) / COUNT(*) > 2 "
        "AND NOT n IN (7, 8) AND VAR_POP(age) + n > 3"
    )
    spread = combine(Aggregate(Statistic.VARIANCE_POPULATION, AGE), "+", Field("n"))
    assert question.having == _both(
        _regions("north", "south"),
        compare(Field("n"), ">=", 1),
        compare(Field("n"), "<=", 5),
        compare(Field("m"), ">", 2),
        Negation(Member(Field("n"), (number(7), number(8)))),
        compare(spread, ">", 3),
    )


def test_intervals_of_an_alias() -> None:
    question = ask(
        "SELECT DP_INTERVAL_LOW(N) AS low, COUNT(*) AS n, dp_interval_high(n) FROM visits "
        "ORDER BY low"
    )
    assert question.columns == ("low", "n", "dp_interval_high_n")
    assert [each.expression for each in question.outputs] == [
        IntervalEnd("low", "n"),
        ROWS,
        IntervalEnd("high", "n"),
    ]
    assert question.order == (Order(Field("low"), "ascending"),)


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("WITH DIFFERENTIAL_PRIVACY", Options()),
        ("WITH DIFFERENTIAL_PRIVACY OPTIONS()", Options()),
        ("with differential_privacy options(epsilon=0.5)", Options(epsilon=Fraction(1, 2))),
        (
            "WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = 1e-7, /* two */"
            " max_groups_contributed = 2, privacy_unit_column = patient_id)",
            Options(epsilon=Fraction(1), delta=Fraction(1, 10**7), max_groups_contributed=2),
        ),
        (
            'WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column="patient_id", delta=0)',
            Options(delta=Fraction(0)),
        ),
        (
            "WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=3)",
            Options(max_rows_contributed=3),
        ),
        ("WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column=v.patient_id)", Options()),
    ],
)
def test_options(clause: str, expected: Options) -> None:
    question = ask(f"SELECT {clause} COUNT(*) FROM visits v")
    assert question == Query(Scan("visits"), None, (), COUNT, ("count",), options=expected)


def test_results_know_their_kind() -> None:
    question = ask(
        "SELECT smoker, MAX(day) AS last, MODE(region) AS usual, MODE(smoker) AS s FROM visits "
        "GROUP BY smoker HAVING last > '2024-03-01' AND usual LIKE '%th' AND s "
        "AND MIN(day) < DATE '2024-02-01' ORDER BY usual"
    )
    assert question.having == _both(
        compare(Field("last"), ">", on(2024, 3, 1)),
        Member(Field("usual"), (Literal("north"), Literal("south"))),
        Field("s"),
        compare(Aggregate(Statistic.MINIMUM, DAY), "<", on(2024, 2, 1)),
    )


SAME = [
    "SELECT region, COUNT(*) AS n FROM visits WHERE age > 17 AND smoker AND NOT region = 'north' "
    "GROUP BY region HAVING COUNT(*) > 5 ORDER BY n DESC LIMIT 7",
    "select\n\tREGION,count( * )n from VISITS where age>17 and smoker and not region='north' "
    "group by 1 having n>5 order by 2 desc limit 7 ;",
    "SELECT v.region, COUNT(*) AS n FROM visits v WHERE ((v.age) > (17)) AND (v.smoker AND "
    "(NOT (region = 'north'))) GROUP BY v.region HAVING (COUNT(*)) > 5 ORDER BY COUNT(*) DESC "
    "LIMIT 7 -- the end",
    'SELECT "visits"."region", COUNT(1) AS n /* all */ FROM "visits" WHERE 17 < age AND smoker '
    "AND NOT 'north' = region GROUP BY region, 1 HAVING 5.0 < n ORDER BY n DESC, n LIMIT 7",
]


@pytest.mark.parametrize("text", SAME)
def test_equal_questions_are_equal_values(text: str) -> None:
    assert ask(text) == ask(SAME[0])
    assert hash(ask(text)) == hash(ask(SAME[0]))


def test_different_questions_differ() -> None:
    conditions = [text for text, _ in CONDITIONS[:11]] + [
        "CASE WHEN smoker THEN 1 ELSE 0 END = 1",
        "CASE WHEN smoker THEN TRUE ELSE FALSE END = TRUE",
    ]
    assert len({where(text) for text in conditions}) == len(conditions) - 1  # <> and != agree
