"""Windows over the rows of one unit, DISTINCT ON and QUALIFY: what they become, and refusals."""
# ruff: noqa: E501

import time

import pytest

from discreet.errors import UnsafeQuery
from discreet.query.algebra import (
    Arithmetic,
    Expression,
    Field,
    Join,
    Junction,
    Order,
    PerUnit,
    Rows,
    Scan,
    Window,
    Windowed,
)
from support.questions import AGE, DAY, INCOME, REGION, ask, compare

SCAN = Scan("visits")
BY_DAY = (Order(DAY, "ascending"),)
FIRST = Window("row_number", None, (), BY_DAY)
NUMBER = Field("row_number")
FULL = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
BY_UNIT = "OVER (PARTITION BY patient_id ORDER BY day"

CALLS = [
    (f"ROW_NUMBER() {BY_UNIT})", FIRST),
    ("ROW_NUMBER() OVER (PARTITION BY patient_id)", Window("row_number", None, (), ())),
    (f"RANK() {BY_UNIT} DESC)", Window("rank", None, (), (Order(DAY, "descending"),))),
    ("DENSE_RANK() OVER (PARTITION BY region, v.patient_id ORDER BY age / 2, day NULLS LAST)",
     Window("dense_rank", None, (REGION,), (Order(Arithmetic("/", AGE, compare(AGE, "=", 2).right), "ascending"), *BY_DAY))),
    (f"LAG(region) {BY_UNIT}, patient_id, day DESC)", Window("lag", REGION, (), BY_DAY, offset=1)),
    (f"LEAD(age, 3) {BY_UNIT})", Window("lead", AGE, (), BY_DAY, offset=3)),
    (f"FIRST_VALUE(smoker) {BY_UNIT})", Window("first_value", Field("smoker"), (), BY_DAY, "all")),
    (f"LAST_VALUE(income) {BY_UNIT} {FULL})", Window("last_value", INCOME, (), BY_DAY, "all")),
    ("COUNT(*) OVER (PARTITION BY patient_id)", Window("count", None, (), (), "all")),
    (f"COUNT(income) {BY_UNIT} {FULL})", Window("count", INCOME, (), (), "all")),
    (f"SUM(income) {BY_UNIT})", Window("sum", INCOME, (), BY_DAY)),
    (f"MAX(day) {BY_UNIT} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)", Window("max", DAY, (), BY_DAY)),
    (f"MIN(age) {BY_UNIT} ROWS UNBOUNDED PRECEDING)", Window("min", AGE, (), BY_DAY, "rows")),
]  # fmt: skip


@pytest.mark.parametrize(("call", "window"), CALLS)
def test_windows(call: str, window: Window) -> None:
    question = ask(
        f"SELECT COUNT(*) FROM (SELECT patient_id, {call} AS w FROM visits v WHERE age > 1)"
    )
    name = window.function
    inner = Windowed(SCAN, compare(AGE, ">", 1), ((name, window),))
    assert question.source == Rows(inner, None, (("w", Field(name)),))


def test_windows_in_expressions_and_twice() -> None:
    text = f"LAG(age) {BY_UNIT})"
    question = ask(
        f"SELECT AVG(gap), AVG(lag) FROM (SELECT age - {text} AS gap, {text} FROM visits)"
    )
    window = Window("lag", AGE, (), BY_DAY, offset=1)
    inner = Windowed(SCAN, None, (("lag", window),))
    gap = ("gap", Arithmetic("-", AGE, Field("lag")))
    assert question.source == Rows(inner, None, (gap, ("lag", Field("lag"))))


def test_windows_see_the_rows_that_pass_where() -> None:
    question = ask(
        "SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visits "
        "WHERE patient_id IN (SELECT patient_id FROM stays) AND age > 1) WHERE n > 2"
    )
    members = Join("inner", SCAN, PerUnit(Scan("stays"), None, (), ()), ())
    count = ("count", Window("count", None, (), (), "all"))
    inner = Windowed(members, compare(AGE, ">", 1), (count,))
    assert question.source == Rows(inner, None, (("n", Field("count")),))


def one(test: Expression, *names: str) -> Rows:
    """The first rows of each unit."""
    inner = Windowed(SCAN, None, (("row_number", FIRST),))
    return Rows(inner, test, tuple((name, Field(name)) for name in names))


def test_the_first_row_of_each_unit_in_three_spellings() -> None:
    firsts = one(compare(NUMBER, "=", 1), "region")
    for inner in (
        "SELECT DISTINCT ON (patient_id) patient_id, region FROM visits ORDER BY patient_id, day",
        "SELECT DISTINCT ON (patient_id) region FROM visits ORDER BY day",
        f"SELECT region FROM visits QUALIFY ROW_NUMBER() {BY_UNIT}) = 1",
    ):
        assert ask(f"SELECT region, COUNT(*) FROM ({inner}) GROUP BY region").source == firsts


def test_qualify_knows_aliases() -> None:
    question = ask(
        f"SELECT COUNT(*) FROM (SELECT region, ROW_NUMBER() {BY_UNIT}) AS n FROM visits QUALIFY n < 3 AND age > 1)"
    )
    both = Junction("and", (compare(NUMBER, "<", 3), compare(AGE, ">", 1)))
    assert question.source == Rows(
        Windowed(SCAN, None, (("row_number", FIRST),)), both, (("region", REGION), ("n", NUMBER))
    )


def test_distinct_on_further_keys() -> None:
    question = ask(
        "SELECT COUNT(*) FROM (SELECT DISTINCT ON (patient_id, region) region FROM visits "
        "ORDER BY patient_id, region DESC, day)"
    )
    window = Window("row_number", None, (REGION,), BY_DAY)
    assert question.source == Rows(
        Windowed(SCAN, None, (("row_number", window),)),
        compare(NUMBER, "=", 1),
        (("region", REGION),),
    )


def test_a_window_of_a_joined_subquery_keeps_its_name_apart() -> None:
    question = ask(
        f"SELECT COUNT(*) FROM stays s JOIN (SELECT patient_id, age, ROW_NUMBER() {BY_UNIT}) AS nights FROM visits) v "
        "ON v.patient_id = s.patient_id WHERE v.nights = 1"
    )
    assert isinstance(question.source, Join)
    assert question.source.right == Rows(
        Windowed(SCAN, None, (("row_number", FIRST),)),
        None,
        (("visits_age", AGE), ("visits_nights", NUMBER)),
    )


REFUSED = [
    ("ROW_NUMBER() OVER (ORDER BY day)", "without the unit mixes people before noise is added. Write PARTITION BY patient_id"),
    ("ROW_NUMBER() OVER (PARTITION BY region ORDER BY day)", "without the unit mixes people"),
    ("COUNT(*) OVER ()", "without the unit mixes people"),
    ("RANK() OVER (PARTITION BY patient_id)", "needs an order"),
    ("LAG(age) OVER (PARTITION BY patient_id)", "needs an order"),
    ("SUM(age) OVER (PARTITION BY patient_id ROWS UNBOUNDED PRECEDING)", "needs an order"),
    (f"LAST_VALUE(age) {BY_UNIT})", "is the row itself unless it sees all rows"),
    (f"LAG(age, 0) {BY_UNIT})", "a constant number of rows"),
    (f"LAG(age, income) {BY_UNIT})", "a constant number of rows"),
    (f"LAG(age, 1, 0) {BY_UNIT})", "DEFAULT in"),
    (f"LAG(3) {BY_UNIT})", "does not take a constant"),
    (f"LAG(patient_id) {BY_UNIT})", "is the privacy unit"),
    (f"SUM(region) {BY_UNIT})", "needs a number"),
    (f"MAX(region) {BY_UNIT})", "needs a number or a date"),
    (f"AVG(age) {BY_UNIT})", "Over the rows of one unit there are ROW_NUMBER"),
    (f"NTILE(4) {BY_UNIT})", "NTILE()"),
    (f"COUNT(DISTINCT age) {BY_UNIT})", "DISTINCT"),
    (f"SUM(SUM(age)) {BY_UNIT})", "an aggregate inside another"),
    (f"SUM(LAG(age) {BY_UNIT})) {BY_UNIT})", "a window function (OVER) is not supported"),
    (f"LAG(age IGNORE NULLS) {BY_UNIT})", "IGNORE"),
    (f"SUM(age) FILTER (WHERE smoker) {BY_UNIT})", "Over the rows of one unit there are"),
    (f"SUM(age) {BY_UNIT} NULLS FIRST)", "NULLS FIRST (line 1) is not supported beside a window"),
    (f"SUM(age) {BY_UNIT} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", "a frame is ROWS or RANGE BETWEEN"),
    (f"RANK() {BY_UNIT} ROWS UNBOUNDED PRECEDING)", "takes no ROWS or RANGE"),
    ("RANK() OVER (PARTITION BY patient_id ORDER BY region)", "ORDER BY takes numbers, dates and datetimes"),
    ("RANK() OVER (PARTITION BY patient_id ORDER BY 1)", "not a constant"),
    ("RANK() OVER (PARTITION BY patient_id, 3 ORDER BY day)", "PARTITION BY a constant"),
    ("RANK() OVER w", "not supported"),
    ("ROW_NUMBER()", "not supported"),
    ("LAG(age)", "not supported"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refused_windows(call: str, message: str) -> None:
    with pytest.raises(UnsafeQuery) as caught:
        ask(f"SELECT COUNT(*) FROM (SELECT age, {call} AS w FROM visits)")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


QUESTIONS = [
    (f"SELECT RANK() {BY_UNIT}) FROM visits", "it stands in a subquery"),
    (f"SELECT SUM(RANK() {BY_UNIT})) FROM visits", "it stands in a subquery"),
    (f"SELECT COUNT(*) FROM visits WHERE RANK() {BY_UNIT}) = 1", "it stands in a subquery"),
    (f"SELECT COUNT(*) FROM visits QUALIFY RANK() {BY_UNIT}) = 1", "It stands in a subquery"),
    (f"SELECT COUNT(*) FROM (SELECT age FROM visits WHERE RANK() {BY_UNIT}) = 1)", "it stands in a subquery"),
    (f"SELECT COUNT(*) FROM (SELECT COUNT(*) AS n, RANK() {BY_UNIT}) AS r FROM visits GROUP BY patient_id)", "it stands in a subquery"),
    ("SELECT COUNT(*) FROM (SELECT age FROM visits QUALIFY age > 3)", "QUALIFY without a window"),
    ("SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY patient_id QUALIFY n > 3)", "with GROUP BY"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT ON (region) region FROM visits)", "DISTINCT ON (line 1) without the unit"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT ON (patient_id) COUNT(*) AS n FROM visits)", "without GROUP BY"),
    ("SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY code ORDER BY age) AS n, code FROM codes) c JOIN stays USING (code)", "no row belongs to one"),
    ("SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY age ORDER BY age) AS n FROM people)", "no row belongs to one"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), QUESTIONS)
def test_refused_places(text: str, message: str) -> None:
    with pytest.raises(UnsafeQuery) as caught:
        ask(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("call", ["SUM", "LAG", "RANK", "FIRST_VALUE"])
def test_nested_windows_are_refused_in_no_time(call: str) -> None:
    text = "age"
    for _ in range(30):
        text = f"{call}({text}) OVER (PARTITION BY patient_id)"
    nested = "age"
    for _ in range(15):
        nested = f"{call}(age) OVER (PARTITION BY patient_id, {nested})"
    begin = time.monotonic()
    for window in (text, nested):
        with pytest.raises(UnsafeQuery):
            ask(f"SELECT COUNT(*) FROM (SELECT {window} AS w FROM visits)")
    assert time.monotonic() - begin < 2
