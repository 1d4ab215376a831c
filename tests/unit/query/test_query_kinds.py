"""Datetimes, and categories whose keys are not known in advance."""
# ruff: noqa: E501

from datetime import datetime

import pytest

from discreet.errors import UnsafeQuery
from discreet.query.algebra import (
    Aggregate,
    DatePart,
    DateTrunc,
    Expression,
    Field,
    IsNull,
    Join,
    Junction,
    Key,
    Literal,
    Member,
    Output,
    Query,
    Rows,
    Scan,
    Statistic,
)
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.questions import DAY, ROWS, ask, compare

SEEN, CITY = Field("seen"), Field("city")
COUNT = "SELECT COUNT(*) FROM events"


def _at(*parts: int) -> Literal:
    return Literal(datetime(*parts))


CONDITIONS: list[tuple[str, Expression]] = [
    ("seen > TIMESTAMP '2024-03-01 10:30:00'", compare(SEEN, ">", _at(2024, 3, 1, 10, 30))),
    ("seen > '2024-03-01 10:30:05.25'", compare(SEEN, ">", _at(2024, 3, 1, 10, 30, 5, 250_000))),
    ("seen >= '2024-03-01T10:30'", compare(SEEN, ">=", _at(2024, 3, 1, 10, 30))),
    ("'2024-03-01' <= seen", compare(SEEN, ">=", _at(2024, 3, 1))),
    ("seen < DATE '2024-03-01'", compare(SEEN, "<", _at(2024, 3, 1))),
    ("seen < CAST('2024-03-01' AS TIMESTAMP)", compare(SEEN, "<", _at(2024, 3, 1))),
    ("seen < '2024-03-01'::timestamp", compare(SEEN, "<", _at(2024, 3, 1))),
    ("seen::timestamp > day", compare(SEEN, ">", DAY)),
    ("seen IN ('2024-03-02', DATE '2024-03-01')", Member(SEEN, (_at(2024, 3, 1), _at(2024, 3, 2)))),
    ("seen BETWEEN '2024-03-01' AND '2024-03-02'",
     Junction("and", (compare(SEEN, ">=", _at(2024, 3, 1)), compare(SEEN, "<=", _at(2024, 3, 2))))),
    ("TIMESTAMP '2024-03-01' > DATE '2024-03-01'", Literal(False)),
    ("YEAR(seen) = 2024", compare(DatePart("year", SEEN), "=", 2024)),
    ("DATE_TRUNC('month', seen) = '2024-03-01'", compare(DateTrunc("month", SEEN), "=", Literal(datetime(2024, 3, 1).date()))),
    ("HOUR(seen) = 3", compare(DatePart("hour", SEEN), "=", 3)),
    ("EXTRACT(MINUTE FROM seen) = 3", compare(DatePart("minute", SEEN), "=", 3)),
    ("DATE_PART('second', seen) = 3", compare(DatePart("second", SEEN), "=", 3)),
    ("DATE_TRUNC('hour', seen) > '2024-03-01 10:30'", compare(DateTrunc("hour", SEEN), ">", _at(2024, 3, 1, 10, 30))),
    ("city = 'Köln'", compare(CITY, "=", Literal("Köln"))),
    ("'Köln' <> city", compare(CITY, "<>", Literal("Köln"))),
    ("city IN ('b', 'a', 'b')", Member(CITY, (Literal("a"), Literal("b")))),
    ("city IS NULL", IsNull(CITY)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CONDITIONS)
def test_conditions(text: str, expected: Expression) -> None:
    assert ask(f"{COUNT} WHERE {text}").where == expected


def test_a_key_that_is_not_known_in_advance() -> None:
    question = ask(
        "SELECT e.city AS c, COUNT(*) AS n FROM events e GROUP BY c HAVING city <> 'x' ORDER BY n DESC"
    )
    assert isinstance(question, Query)
    assert question.keys == (Key("c", CITY),)
    assert question.having == compare(Field("c"), "<>", Literal("x"))


def test_such_keys_pass_through_subqueries_and_joins() -> None:
    question = ask(
        "SELECT town, COUNT(*) FROM (SELECT patient_id, city AS town FROM events) JOIN cities "
        "ON town = cities.city WHERE coast GROUP BY town"
    )
    inner = Rows(Scan("events"), None, (("town", CITY),))
    assert question.source == Join("inner", inner, Scan("cities"), (("town", "city"),))
    assert question.keys == (Key("town", Field("town")),)
    grouped = ask(
        "SELECT city, AVG(n) FROM (SELECT city, COUNT(*) AS n FROM events GROUP BY patient_id, city) GROUP BY city"
    )
    assert grouped.keys == (Key("city", CITY),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MAX(seen)", Output("max_seen", Aggregate(Statistic.MAXIMUM, SEEN))),
        ("COUNT(seen)", Output("count_seen", Aggregate(Statistic.VALUES, SEEN))),
        ("COUNT(CASE WHEN city = 'x' THEN 1 END) + COUNT(*) AS n", None),
    ],
)
def test_outputs(text: str, expected: Output | None) -> None:
    (found,) = ask(f"SELECT {text} FROM events").outputs
    assert expected is None or found == expected
    assert found.expression != ROWS


REFUSED = [
    (f"{COUNT} WHERE city LIKE 'a%'", "LIKE (line 1) needs a category column with declared keys, not a category with private keys"),
    (f"{COUNT} WHERE city < 'a'", "has no fixed meaning"),
    (f"{COUNT} WHERE city = born_in", "is compared only with text in quotes"),
    (f"{COUNT} WHERE city = ward", "is compared only with text in quotes"),
    (f"{COUNT} WHERE city = 3", "is compared only with text in quotes"),
    (f"{COUNT} WHERE city = NULL", "Write IS NULL"),
    (f"{COUNT} WHERE city || 'a' = 'b'", "its keys are not known here"),
    (f"{COUNT} WHERE UPPER(city) = 'B'", "UPPER (line 1) of a category with private keys"),
    (f"{COUNT} WHERE LENGTH(city) = 3", "its keys are not known here"),
    (f"{COUNT} WHERE STARTS_WITH(city, 'a')", "its keys are not known here"),
    (f"{COUNT} WHERE COALESCE(city, 'a') = 'a'", "cannot be a result of CASE"),
    (f"{COUNT} WHERE NULLIF(city, 'a') = 'a'", "cannot be a result of CASE"),
    (f"{COUNT} WHERE IF(day > '2024-03-01', city, 'a') = 'a'", "cannot be a result of CASE"),
    (f"{COUNT} WHERE city IS DISTINCT FROM born_in", "is compared only with text in quotes"),
    (f"{COUNT} GROUP BY CASE WHEN day > '2024-03-01' THEN city END", "cannot be a result of CASE"),
    (f"{COUNT} GROUP BY CAST(city AS TEXT)", "CAST of a category with private keys"),
    ("SELECT MODE(city) FROM events", "GROUP BY the column with ORDER BY COUNT(*) DESC LIMIT 1"),
    ("SELECT COUNT(city) FROM events", "Write COUNT(*) with WHERE x IS NOT NULL"),
    ("SELECT MIN(city) FROM events", "needs a number or a date"),
    ("SELECT SUM(city) FROM events", "needs a number"),
    (f"{COUNT} JOIN cities ON events.ward = cities.city", "a category cannot be compared with a category with private keys"),
    (f"{COUNT} WHERE seen = 3", "a datetime cannot be compared with an integer"),
    (f"{COUNT} WHERE seen > '2024-03-01 10:30:00+01'", "is not a date and time (line 1). Write it as"),
    (f"{COUNT} WHERE seen > '2024-03-01 25:00'", "is not a date and time"),
    (f"{COUNT} WHERE seen > '10:30'", "is not a date and time"),
    (f"{COUNT} WHERE seen > '２０２４-03-01'", "is not a date and time"),
    (f"{COUNT} WHERE day > TIMESTAMP '2024-03-01 10:30'", "a date cannot be compared with a datetime"),
    (f"{COUNT} WHERE day IN (TIMESTAMP '2024-03-01')", "a date cannot be compared with a datetime"),
    (f"{COUNT} WHERE seen > TIMESTAMPTZ '2024-03-01'", "without a zone"),
    (f"{COUNT} WHERE seen > TIMESTAMP('2024-03-01')", "TIMESTAMP( (line 1)"),
    (f"{COUNT} WHERE EXTRACT(MILLISECOND FROM seen) = 3", "the date part MILLISECOND"),
    (f"{COUNT} WHERE MILLISECOND(seen) = 3", "MILLISECOND() (line 1)"),
    (f"{COUNT} GROUP BY DATE_TRUNC('decade', seen)", "DATE_TRUNC to decade"),
    (f"{COUNT} WHERE CAST(seen AS INT) = 3", "CAST of a datetime to INT"),
    (f"{COUNT} WHERE seen - seen > 3", "Write DATE_DIFF('day', start, end)"),
    ("SELECT MODE(seen) FROM events", "MODE (line 1) needs a category"),
    ("SELECT SUM(seen) FROM events", "needs a number, not a datetime"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(UnsafeQuery) as caught:
        ask(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("pattern", "found"), [("%", ("ash", "other")), ("oth%", ("other",)), ("a%", ("ash",))]
)
def test_like_sees_the_group_of_undeclared_values(pattern: str, found: tuple[str, ...]) -> None:
    """As = and GROUP BY do: it was left out of every pattern."""
    tree = Column("tree", "category", upper=1, keys=("ash",), other=True)
    query = parse(
        f"SELECT COUNT(*) FROM t WHERE tree LIKE '{pattern}'", {"t": Table("t", columns=(tree,))}
    )
    assert query.where == Member(Field("tree"), tuple(map(Literal, found)))
