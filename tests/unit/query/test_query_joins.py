"""Joins: the source they become, which names they show, and which are refused."""
# ruff: noqa: E501

from dataclasses import replace

import pytest

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Aggregate, Field, Join, Key, Output, Scan, Source, Statistic
from support.questions import AGE, ask, compare

VISITS, BILLS = Scan("visits"), Scan("bills")
STAYS = Scan("stays", (("age", "stays_age"),))
CODES = Scan("codes", (("code", "codes_code"), ("age", "codes_age")))
WITH_STAYS = Join("inner", VISITS, STAYS, ())
LOOKED_UP = Join("inner", Scan("stays"), CODES, (("code", "codes_code"),))
TWICE = Scan("stays", tuple((name, f"stays_{name}") for name in ("age", "nights", "code", "ward")))

ACCEPTED: list[tuple[str, Source]] = [
    ("visits JOIN stays ON visits.patient_id = stays.patient_id", WITH_STAYS),
    ("visits v JOIN stays AS s ON (s.patient_id = v.PATIENT_ID)", WITH_STAYS),
    ("visits INNER JOIN stays USING (patient_id)", WITH_STAYS),
    (
        "visits v JOIN stays s ON v.patient_id = s.patient_id AND v.age = s.age AND s.age = v.age",
        Join("inner", VISITS, STAYS, (("age", "stays_age"),)),
    ),
    (
        "visits JOIN stays USING (patient_id, age)",
        Join("inner", VISITS, STAYS, (("age", "stays_age"),)),
    ),
    ("visits v JOIN bills b ON v.patient_id = b.payer", Join("inner", VISITS, BILLS, ())),
    ("visits JOIN bills ON patient_id = payer", Join("inner", VISITS, BILLS, ())),
    ("stays JOIN codes ON stays.code = codes.code", LOOKED_UP),
    ("stays JOIN codes USING (code)", LOOKED_UP),
    ("stays LEFT JOIN codes USING (code)", replace(LOOKED_UP, kind="left")),
    ("stays LEFT OUTER JOIN codes c ON c.code = stays.code", replace(LOOKED_UP, kind="left")),
    (
        "codes JOIN stays USING (code)",
        Join(
            "inner",
            Scan("codes"),
            Scan("stays", (("age", "stays_age"), ("code", "stays_code"))),
            (("code", "stays_code"),),
        ),
    ),
    (
        "people JOIN codes ON people.age = codes.age",
        Join(
            "inner", Scan("people"), Scan("codes", (("age", "codes_age"),)), (("age", "codes_age"),)
        ),
    ),
    (
        "stays a JOIN stays b ON a.patient_id = b.patient_id",
        Join("inner", Scan("stays"), TWICE, ()),
    ),
    (
        "stays a JOIN stays b USING (patient_id) JOIN stays c ON c.patient_id = b.patient_id",
        Join(
            "inner",
            Join("inner", Scan("stays"), TWICE, ()),
            Scan(
                "stays",
                tuple((name, f"stays_{name}_2") for name in ("age", "nights", "code", "ward")),
            ),
            (),
        ),
    ),
    (
        "visits JOIN stays USING (patient_id) LEFT JOIN codes ON stays.code = codes.code",
        Join("left", WITH_STAYS, CODES, (("code", "codes_code"),)),
    ),
    (
        "stays JOIN codes USING (code) JOIN bills b ON b.payer = stays.patient_id",
        Join("inner", LOOKED_UP, BILLS, ()),
    ),
    (
        "codes c JOIN codes d USING (code) JOIN stays ON stays.code = d.code",
        Join(
            "inner",
            Join(
                "inner",
                Scan("codes"),
                Scan(
                    "codes",
                    (("code", "codes_code"), ("title", "codes_title"), ("age", "codes_age")),
                ),
                (("code", "codes_code"),),
            ),
            Scan("stays", (("age", "stays_age"), ("code", "stays_code"))),
            (("codes_code", "stays_code"),),
        ),
    ),
]


@pytest.mark.parametrize(("text", "expected"), ACCEPTED)
def test_joins(text: str, expected: Source) -> None:
    assert ask(f"SELECT COUNT(*) FROM {text}").source == expected


def test_names_are_found_by_their_table() -> None:
    question = ask(
        "SELECT s.age, AVG(v.age), AVG(s.age), AVG(nights), SUM(income) FROM visits v JOIN stays s "
        "USING (patient_id) WHERE s.age > 3 AND v.age > 4 GROUP BY s.age HAVING s.age > 5"
    )
    other = Field("stays_age")
    assert question.keys == (Key("age", other),)
    assert question.columns == ("age", "avg_age", "avg_age_2", "avg_nights", "sum_income")
    assert question.outputs[:2] == (
        Output("avg_age", Aggregate(Statistic.AVERAGE, AGE)),
        Output("avg_age_2", Aggregate(Statistic.AVERAGE, other)),
    )
    assert question.where is not None
    assert question.having == compare(Field("age"), ">", 5)
    assert question.tables == ("visits", "stays")


def test_the_columns_of_using_need_no_table() -> None:
    question = ask(
        "SELECT code, COUNT(*) FROM stays JOIN codes USING (code) WHERE codes.code > 1 GROUP BY code"
    )
    assert question.keys == (Key("code", Field("code")),)
    assert question.where == compare(Field("codes_code"), ">", 1)


@pytest.mark.parametrize("unit", ["patient_id", "v.patient_id", "s.patient_id", "b.payer", "payer"])
def test_units_are_counted_under_any_of_their_names(unit: str) -> None:
    question = ask(
        f"SELECT COUNT(DISTINCT {unit}) FROM visits v JOIN stays s ON v.patient_id = s.patient_id "
        "JOIN bills b ON b.payer = s.patient_id"
    )
    assert question.outputs == (Output("count_units", Aggregate(Statistic.UNITS, None)),)


SAME = [
    "SELECT s.ward, AVG(v.age) AS m FROM visits v JOIN stays s ON v.patient_id = s.patient_id "
    "WHERE s.age > 1 GROUP BY s.ward",
    "select ward, avg(visits.age) m from visits join stays using (patient_id) where stays.age > 1 "
    "group by 1",
    "SELECT WARD, AVG(x.age) AS m FROM visits AS x\n INNER JOIN stays AS y ON "
    "((y.patient_id = x.patient_id)) WHERE (y.AGE > 1) GROUP BY y.ward",
]


@pytest.mark.parametrize("text", SAME)
def test_equal_joins_are_equal_values(text: str) -> None:
    assert ask(text) == ask(SAME[0])


def test_options_know_the_units_of_a_join() -> None:
    clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column={}, max_rows_contributed=2)"
    for unit in ("patient_id", "v.patient_id", "payer"):
        question = ask(
            f"SELECT {clause.format(unit)} COUNT(*) FROM visits v JOIN bills ON patient_id = payer"
        )
        assert question.options.max_rows_contributed == 2


REFUSED = [
    ("visits, stays", "a comma in FROM (line 1) pairs every row with every row"),
    ("visits JOIN stays", "JOIN (line 1) without ON or USING pairs every row"),
    ("visits" + " a JOIN visits" * 200, "JOIN (line 1) without ON or USING"),
    ("visits CROSS JOIN stays", "CROSS (line 1) is not supported here. It pairs rows"),
    ("visits NATURAL JOIN stays", "Write JOIN ... USING (columns)"),
    ("visits RIGHT JOIN codes USING (age)", "Put the private table first"),
    ("visits FULL JOIN codes USING (age)", "LEFT JOIN with a public table"),
    ("visits FULL OUTER JOIN stays USING (patient_id)", "LEFT JOIN with a public table"),
    ("visits SEMI JOIN stays USING (age)", "without the unit"),
    ("visits ANTI JOIN stays USING (patient_id, age)", "their unit alone"),
    ("visits ASOF JOIN stays USING (patient_id)", "ON with equalities"),
    ("visits OUTER JOIN stays USING (patient_id)", "OUTER"),
    ("codes LEFT JOIN stays USING (code)", "its rows without a match are nobody's"),
    ("visits JOIN stays ON TRUE", "takes equalities of plain columns"),
    ("visits v JOIN stays s ON v.patient_id = s.patient_id OR v.age = s.age", "equalities of plain"),
    ("visits v JOIN stays s ON v.patient_id = s.patient_id AND v.age > s.age", "equalities of plain"),
    ("visits v JOIN stays s ON v.patient_id = s.patient_id AND v.age = 3", "equalities of plain"),
    ("visits v JOIN stays s ON v.patient_id = s.patient_id + 0", "equalities of plain"),
    ("visits v JOIN stays s ON NOT v.patient_id = s.patient_id", "equalities of plain"),
    ("visits v JOIN stays s ON v.patient_id IN (s.patient_id)", "equalities of plain"),
    ("visits v JOIN stays s ON v.age = v.format", "a column of the joined table"),
    ("visits v JOIN stays s ON s.age = s.nights", "a column of the joined table"),
    ("visits v JOIN stays s ON patient_id = patient_id", "Write v.patient_id or s.patient_id"),
    ("visits v JOIN stays s ON v.age = s.age", "Add ON v.patient_id = s.patient_id"),
    ("visits JOIN stays USING (age)", "rows of different people would meet"),
    ("visits JOIN stays USING (region)", "USING (region) (line 1): in stays the column is not there"),
    ("visits JOIN stays USING (patient_id) JOIN codes USING (age)", "is in several tables"),
    ("visits v JOIN trips t ON v.patient_id = t.person", "populations 'visits' and 'trips' differ"),
    ("visits v JOIN people p ON v.age = p.age", "people has no unit (line 1): each row is one person"),
    ("people p JOIN people q ON p.age = q.age", "people has no unit"),
    ("visits v JOIN codes c ON v.patient_id = c.code", "'v.patient_id' (line 1) is the privacy unit"),
    ("visits v JOIN stays s ON v.patient_id = s.age", "is the privacy unit"),
    ("visits v JOIN codes c ON v.region = c.age", "a category cannot be compared with a number"),
    ("visits v JOIN codes c ON v.region = c.code", "v.region = c.code"),
    ("codes", "only public tables: there is nothing to protect"),
    ("codes c JOIN codes d USING (code)", "only public tables"),
    ("visits JOIN visits ON visits.patient_id = visits.patient_id", "two tables are called 'visits'"),
    ("visits v JOIN stays V USING (patient_id)", "two tables are called 'V'"),
    ("visits JOIN nowhere USING (age)", "there is no table 'nowhere'"),
    ("(visits JOIN stays USING (patient_id))", "without parentheses around the join"),
    ("visits JOIN (stays JOIN codes USING (code)) USING (patient_id)", "without parentheses"),
    ("visits JOIN stays JOIN bills ON patient_id = payer ON visits.patient_id = payer", "without ON or USING"),
    ("visits v JOIN stays s (a, b) USING (patient_id)", "S() (line 1)"),
    ("visits JOIN LATERAL stays USING (patient_id)", "LATERAL"),
    ("stays a" + "".join(f" JOIN stays b{n} USING (patient_id)" for n in range(16)), "more than 16"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "message"), REFUSED)
def test_refused_joins(source: str, message: str) -> None:
    with pytest.raises(UnsafeQuery) as caught:
        ask(f"SELECT COUNT(*) FROM {source}")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT AVG(age) FROM {}", "'age' (line 1) is in several tables. Write v.age or s.age."),
        ("SELECT AVG(visits.age) FROM {}", "is not the table asked about. Write v.age or s.age."),
        ("SELECT AVG(v.nights) FROM {}", "the join has no column 'nights'"),
        ("SELECT COUNT(DISTINCT nights) FROM {}", "counts only the unit 'patient_id'"),
        ("SELECT s.patient_id, COUNT(*) FROM {} GROUP BY 1", "is the privacy unit"),
        ("SELECT COUNT(*) FROM {} WHERE s.patient_id = 3", "is the privacy unit"),
        ("SELECT nights, COUNT(*) FROM {}", "'nights' (line 1) is neither grouped"),
        ("SELECT s.age, COUNT(*) FROM {}", "write AVG(age)"),
    ],
)
def test_refused_names_in_joins(text: str, message: str) -> None:
    with pytest.raises(UnsafeQuery) as caught:
        ask(text.format("visits v JOIN stays s USING (patient_id)"))
    assert message in str(caught.value)
