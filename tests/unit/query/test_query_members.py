"""Semi-joins, anti-joins and left joins of private tables: the sources they become, and refusals."""
# ruff: noqa: E501

import time

import pytest

from discreet.errors import UnsafeQuery
from discreet.query.algebra import (
    Aggregate,
    Expression,
    Field,
    IsNull,
    Join,
    Junction,
    Literal,
    Negation,
    Output,
    PerUnit,
    Rows,
    Scan,
    Source,
    Statistic,
)
from support.questions import AGE, ROWS, VISITS, ask, compare

SCAN, STAYS = Scan("visits"), Scan("stays")
LONG = compare(Field("nights"), ">", 3)
PRESENT = ("present", Literal(True))
ABSENT = IsNull(Field("present"))


def members(where: Expression | None = None, *columns: tuple[str, Expression]) -> PerUnit:
    """One row for each unit with stays."""
    return PerUnit(STAYS, where, (), columns)


def semi(where: Expression | None = None) -> Source:
    """Visits of units with stays."""
    return Join("inner", SCAN, members(where), ())


def anti(where: Expression | None = None) -> Source:
    """All visits, and whether the unit has stays."""
    return Join("left", SCAN, members(where, PRESENT), ())


ACCEPTED = [
    ("patient_id IN (SELECT patient_id FROM stays)", semi(), None),
    ("(patient_id IN (SELECT patient_id AS p FROM stays WHERE nights > 3))", semi(LONG), None),
    ("v.patient_id IN (SELECT patient_id FROM stays GROUP BY patient_id, ward)", semi(), None),
    ("patient_id IN (SELECT DISTINCT patient_id FROM stays) AND age > 1", semi(), compare(AGE, ">", 1)),
    ("EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id)", semi(), None),
    ("EXISTS (SELECT * FROM stays WHERE 3 < nights AND (v.patient_id = stays.patient_id))", semi(LONG), None),
    ("EXISTS (SELECT s.nights AS n, NULL, s.* FROM stays s WHERE patient_id = v.patient_id AND nights > 3)", semi(LONG), None),
    ("EXISTS (SELECT 1 FROM bills WHERE payer = patient_id)", Join("inner", SCAN, PerUnit(Scan("bills"), None, (), ()), ()), None),
    ("patient_id NOT IN (SELECT patient_id FROM stays)", anti(), ABSENT),
    ("NOT EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id AND nights > 3) AND age > 1", anti(LONG),
     Junction("and", (ABSENT, compare(AGE, ">", 1)))),
    ("age > 1 OR patient_id IN (SELECT patient_id FROM stays)", anti(), Junction("or", (compare(AGE, ">", 1), Negation(ABSENT)))),
    ("patient_id NOT IN (SELECT patient_id FROM stays) AND patient_id NOT IN (SELECT payer FROM bills)",
     Join("left", anti(), PerUnit(Scan("bills"), None, (), (("present_2", Literal(True)),)), ()),
     Junction("and", (ABSENT, IsNull(Field("present_2"))))),
    ("patient_id IN (SELECT patient_id FROM stays GROUP BY patient_id HAVING COUNT(*) > 3)",
     Join("inner", SCAN, PerUnit(members(None, ("having", compare(ROWS, ">", 3))), Field("having"), (), ()), ()), None),
    ("EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id AND s.patient_id NOT IN (SELECT payer FROM bills))",
     Join("inner", SCAN, PerUnit(Join("left", STAYS, PerUnit(Scan("bills"), None, (), (PRESENT,)), ()), ABSENT, (), ()), ()), None),
]  # fmt: skip


@pytest.mark.parametrize(("where", "source", "kept"), ACCEPTED)
def test_tests_of_membership(where: str, source: Source, kept: Expression | None) -> None:
    question = ask(f"SELECT COUNT(*) FROM visits v WHERE {where}")
    assert (question.source, question.where) == (source, kept)
    inside = ask(f"SELECT AVG(age) FROM (SELECT age FROM visits v WHERE {where})")
    assert inside.source == Rows(source, kept, (("age", AGE),))
    grouped = ask(
        f"SELECT COUNT(*) FROM (SELECT patient_id FROM visits v WHERE {where} GROUP BY 1)"
    )
    assert grouped.source == PerUnit(source, kept, (), ())


def test_semi_and_anti_joins() -> None:
    for join in (
        "SEMI JOIN stays USING (patient_id)",
        "LEFT SEMI JOIN stays s ON s.patient_id = v.patient_id",
    ):
        question = ask(f"SELECT AVG(age) FROM visits v {join} WHERE age > 1")
        assert (question.source, question.where) == (semi(), compare(AGE, ">", 1))
    every = tuple((column.name, Field(column.name)) for column in VISITS.columns)
    for join in (
        "ANTI JOIN stays USING (patient_id)",
        "LEFT ANTI JOIN stays s ON s.patient_id = v.patient_id",
    ):
        question = ask(f"SELECT AVG(age), COUNT(DISTINCT patient_id) FROM visits v {join}")
        assert question.source == Rows(anti(), ABSENT, every)


def test_a_left_join_of_a_private_table() -> None:
    question = ask(
        "SELECT COUNT(*), COUNT(payer), AVG(amount) FROM visits LEFT JOIN bills ON patient_id = payer "
        "WHERE payer IS NOT NULL OR amount IS NULL"
    )
    amount = Field("amount")
    right = Rows(Scan("bills"), None, (("amount", amount), PRESENT))
    assert question.source == Join("left", SCAN, right, ())
    assert question.where == Junction("or", (Negation(ABSENT), IsNull(amount)))
    assert question.outputs[1] == Output(
        "count_payer", Aggregate(Statistic.VALUES, Field("present"))
    )


def test_a_left_join_of_one_row_for_each_unit() -> None:
    question = ask(
        "SELECT COUNT(*) FROM visits v LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM stays "
        "GROUP BY patient_id) s ON s.patient_id = v.patient_id WHERE s.patient_id IS NULL"
    )
    assert question.source == Join("left", SCAN, members(None, ("n", ROWS), PRESENT), ())
    assert question.where == ABSENT


def test_the_unit_of_a_left_join_goes_through_subqueries() -> None:
    question = ask(
        "SELECT COUNT(*) FROM (SELECT v.patient_id, s.patient_id AS p FROM visits v LEFT JOIN "
        "bills b ON b.payer = v.patient_id LEFT JOIN stays s ON s.patient_id = v.patient_id) "
        "WHERE p IS NULL"
    )
    assert isinstance(question.source, Rows)
    assert question.source.columns == (("p", Field("present_2")),)
    assert question.where == IsNull(Field("p"))


REFUSED = [
    ("WHERE age IN (SELECT age FROM stays)", "tests only the privacy unit, as in patient_id IN"),
    ("WHERE 3 IN (SELECT patient_id FROM stays)", "tests only the privacy unit"),
    ("WHERE (patient_id, age) IN (SELECT patient_id, age FROM stays)", "tests only the privacy unit"),
    ("WHERE patient_id IN (SELECT nights FROM stays)", "must show the privacy unit and nothing else"),
    ("WHERE patient_id IN (SELECT patient_id, age FROM stays)", "Write IN (SELECT patient_id FROM ...)"),
    ("WHERE patient_id IN (SELECT code FROM codes)", "is public and has no unit. Write a JOIN"),
    ("WHERE patient_id IN (SELECT person FROM trips)", "the populations 'visits' and 'trips' differ"),
    ("WHERE patient_id IN (SELECT age FROM people)", "people has no unit"),
    ("WHERE patient_id IN (SELECT patient_id FROM stays LIMIT 3)", "LIMIT in a subquery"),
    ("WHERE EXISTS (SELECT 1 FROM stays)", "it would ask whether anybody has rows"),
    ("WHERE EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = patient_id)", "without the unit"),
    ("WHERE EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id OR s.age > 3)", "without the unit"),
    ("WHERE EXISTS (SELECT 1 FROM stays s WHERE s.age = v.age)", "without the unit"),
    ("WHERE EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id AND s.age < v.age)", "v.age (line 1) is a column outside of EXISTS"),
    ("WHERE EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id AND s.patient_id = 3)", "is the privacy unit"),
    ("WHERE EXISTS (SELECT COUNT(*) FROM stays s WHERE s.patient_id = v.patient_id)", "only at whether there are rows"),
    ("WHERE EXISTS (SELECT s.nothing FROM stays s WHERE s.patient_id = v.patient_id)", "no column 'nothing'"),
    ("WHERE EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id GROUP BY s.age)", "GROUP in SELECT is not supported here"),
    ("WHERE EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id LIMIT 1)", "LIMIT in SELECT is not supported here"),
    ("WHERE EXISTS (SELECT 1 FROM trips t WHERE t.person = v.patient_id)", "the populations"),
    ("WHERE EXISTS (SELECT 1 FROM codes WHERE codes.code = v.age)", "is public and has no unit"),
    ("WHERE EXISTS (stays)", "EXISTS (line 1) takes a SELECT"),
    ("WHERE EXISTS ((SELECT 1 FROM stays))", "EXISTS (line 1) takes a SELECT"),
    ("WHERE age = (SELECT MAX(age) FROM stays)", "a second SELECT"),
    ("WHERE age > ANY (SELECT age FROM stays)", "ANY"),
    ("GROUP BY patient_id IN (SELECT patient_id FROM stays)", "It stands in WHERE"),
    ("HAVING EXISTS (SELECT 1 FROM stays)", "It stands in WHERE"),
    ("SEMI JOIN stays s ON v.age = s.age", "without the unit"),
    ("SEMI JOIN stays s ON v.patient_id = s.patient_id AND v.age = s.age", "takes two private tables and their unit alone"),
    ("ANTI JOIN codes ON codes.code = v.age", "takes two private tables and their unit alone"),
    ("RIGHT JOIN stays s USING (patient_id)", "RIGHT"),
    ("LEFT JOIN stays s ON s.age = v.age", "without the unit"),
    ("LEFT JOIN trips t ON t.person = v.patient_id", "the populations"),
    ("LEFT JOIN stays s USING (patient_id) WHERE s.patient_id = 3", "on the right of a LEFT JOIN"),
    ("LEFT JOIN stays s USING (patient_id) WHERE s.patient_id = s.patient_id", "on the right of a LEFT JOIN"),
    ("LEFT JOIN stays s USING (patient_id) GROUP BY s.patient_id", "on the right of a LEFT JOIN"),
    ("LEFT JOIN stays s USING (patient_id) WHERE CASE WHEN v.age > 3 THEN s.patient_id END IS NULL", "on the right of a LEFT JOIN"),
    ("LEFT JOIN stays s USING (patient_id) HAVING COUNT(DISTINCT s.patient_id) > 3", "counts only the unit"),
    ("LEFT JOIN stays s USING (patient_id) JOIN bills b ON b.payer = s.patient_id", "is the privacy unit: ON may equate it only"),
    ("LEFT JOIN stays s USING (patient_id) JOIN (SELECT a.payer AS q, b.payer AS p FROM bills a LEFT JOIN bills b ON a.payer = b.payer) c "
     "ON v.patient_id = c.q AND s.patient_id = c.p", "the unit of its right side can be missing"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused_tests_of_membership(text: str, message: str) -> None:
    with pytest.raises(UnsafeQuery) as caught:
        ask(f"SELECT COUNT(*) FROM visits v {text}")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 330


def test_a_public_table_keeps_no_rows_of_nobody() -> None:
    with pytest.raises(UnsafeQuery, match="are nobody's"):
        ask("SELECT COUNT(*) FROM codes LEFT JOIN stays USING (code)")
    with pytest.raises(UnsafeQuery, match="two private tables"):
        ask("SELECT COUNT(*) FROM codes SEMI JOIN stays USING (code)")


@pytest.mark.parametrize("negated", ["", "NOT "])
@pytest.mark.parametrize("form", ["IN", "EXISTS"])
def test_nested_tests_are_read_in_no_time(form: str, negated: str) -> None:
    text = "SELECT 1 FROM visits WHERE age > 3"
    for _ in range(14):
        test = f"patient_id {negated}IN" if form == "IN" else f"{negated}EXISTS"
        text = f"SELECT patient_id FROM visits WHERE (({test} ({text})))"
    begin = time.monotonic()
    with pytest.raises(UnsafeQuery):
        ask(f"SELECT COUNT(*) FROM visits WHERE patient_id IN ({text})")
    assert time.monotonic() - begin < 2
