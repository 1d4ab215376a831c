"""Whatever an analyst writes: a question or a refusal, never anything else, and the same twice."""

import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Join, PerUnit, Query, Rows, Scan, Source
from discreet.query.readers.conditions import matches
from discreet.query.statement import text as words
from support.questions import ask

TEXT = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT AS AND OR NOT IN BETWEEN LIKE ILIKE IS NULL TRUE FALSE
CASE WHEN THEN ELSE END ASC DESC DISTINCT visits people v age income region smoker day patient_id n
COUNT(*) COUNT( SUM( AVG( VAR_POP( STDDEV( FLOOR( YEAR( EXTRACT( WIDTH_BUCKET( CAST( DATE_TRUNC(
DATE_PART( DP_INTERVAL_LOW( 'month' DATE INT TEXT DECIMAL VARCHAR :: ( ) , . * + - / = <> < <= > >=
'north' '%th' '2024-01-01' 0 1 2.5 1e3 "age" ; -- /* */ [ ] { } ? $1 @ ` ' " || -> JOIN UNION WITH
DIFFERENTIAL_PRIVACY OPTIONS epsilon delta OVER INTERVAL FILTER EXISTS ALL ANY USING VALUES STRUCT
ARRAY MAP IF ESCAPE COLLATE ROWS OFFSET FETCH PIVOT QUALIFY WINDOW format LATERAL UNNEST( XML JSON
LEFT INNER OUTER ON USING( (SELECT stays codes events bills payer nights code title city seen s p
MEDIAN( QUANTILE_CONT( PERCENTILE_CONT( WITHIN GROUP( MODE( MIN( MAX( CORR( LEAST( GREATEST( 0.5
TIMESTAMP CROSS NATURAL v.age s.age p.s v.patient_id s.patient_id RECURSIVE
COALESCE( NULLIF( IF( ABS( CEIL( ROUND( TRUNC( MOD( % // DIV FILTER( COUNTIF( UPPER( LEFT( RIGHT(
SUBSTR( LENGTH( TRIM( REPLACE( CONCAT( STARTS_WITH( CONTAINS( DATE( DATE_DIFF('day', MAKE_DATE(
DAY MONTH main. public. main.visits 'NORTH' ISODOW( THEN
"""

soup = st.lists(st.sampled_from(TEXT.split()), max_size=40).map(" ".join)
start = st.sampled_from(
    [
        "",
        "SELECT ",
        "SELECT COUNT(*) FROM visits ",
        "SELECT COUNT(*) FROM visits WHERE ",
        "SELECT region, COUNT(*) AS n FROM visits GROUP BY region HAVING ",
        "SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY ",
        "SELECT COUNT(*) FROM visits GROUP BY ",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(",
        "SELECT COUNT(*) FROM visits v JOIN stays s ON v.patient_id = s.patient_id ",
        "SELECT COUNT(*) FROM visits v JOIN ",
        "SELECT COUNT(*) FROM stays LEFT JOIN codes USING (code) WHERE ",
        "SELECT COUNT(*) FROM (SELECT ",
        "WITH p AS (SELECT patient_id, SUM(age) AS s FROM visits GROUP BY patient_id) SELECT ",
        "WITH p AS (SELECT ",
    ]
)


def _outcome(text: str) -> Query | str:
    begun = time.thread_time()
    try:
        return ask(text)
    except UnsafeQuery as refusal:
        return str(refusal)
    finally:
        assert time.thread_time() - begun < 2


@settings(max_examples=400, deadline=None)
@given(start, soup)
def test_word_soup_is_read_or_refused(head: str, tail: str) -> None:
    outcome = _outcome(head + tail)
    assert outcome == _outcome(head + tail)
    if isinstance(outcome, str):
        assert outcome
        assert "sqlglot" not in outcome


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert isinstance(_outcome(text), str)
    _outcome(f"SELECT COUNT(*) FROM visits WHERE {text}")


# Well-formed conditions, so that most of the soup is not refused by the grammar.
numbers = st.sampled_from(["age", "income", "1", "2.5", "(3)"])
numbers = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(" ".join),
        st.tuples(inner, st.sampled_from(["/ 2", "/ (1 + 1)"])).map(" ".join),
        inner.map("FLOOR({})".format),
        inner.map("(- {})".format),
        inner.map("CASE WHEN smoker THEN {} ELSE 0 END".format),
    ),
    max_leaves=8,
)
conditions = st.one_of(
    st.tuples(numbers, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), numbers).map(" ".join),
    st.tuples(numbers, numbers, numbers).map(lambda each: "{} BETWEEN {} AND {}".format(*each)),
    st.sampled_from(
        ["smoker", "NOT smoker", "region IN ('north', 'south')", "region NOT LIKE '%th'",
         "income IS NULL", "day >= '2024-03-01'", "YEAR(day) = 2024", "smoker IS NOT TRUE"]
    ),
)  # fmt: skip
conditions = st.recursive(
    conditions,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(" ".join),
        inner.map("({})".format),
        inner.map("NOT ({})".format),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(conditions)
def test_spacing_capitals_parentheses_and_aliases_change_nothing(condition: str) -> None:
    plain = f"SELECT COUNT(*) FROM visits WHERE {condition}"
    question = _outcome(plain)
    assert isinstance(question, Query)
    spaced = plain.replace(" ", "\n\t ").replace("(", "( ")
    assert _outcome(f"{spaced} -- so") == question
    assert _outcome(f"SELECT COUNT(*) FROM visits WHERE ( ({condition}) )") == question
    aliased = re.sub(r"\b(age|income|smoker|region|day)\b", r"v.\1", condition)
    assert _outcome(f"select count( * ) from VISITS as v where {aliased}") == question
    capitals = re.sub(
        r"\b(age|income|smoker|region|day)\b", lambda each: each[0].upper(), condition
    )
    assert _outcome(f"SELECT COUNT(*) FROM visits WHERE {capitals}") == question


# Every function and operator with whatever arguments: most are refused, each by a sentence.
LEAVES = [
    "age",
    "income",
    "region",
    "home",
    "smoker",
    "day",
    "v.age",
    "main.visits.age",
    "'north'",
    "''",
    "'2024-03-01'",
    "'day'",
    "1",
    "0",
    "2.5",
    "-3",
    "*",
    "NULL",
    "TRUE",
]
any_value = st.recursive(
    st.sampled_from([*LEAVES, "DATE '2024-03-01'", "INTERVAL 1 DAY", "INTERVAL '2' MONTH"]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(words._FUNCTIONS)), st.lists(inner, max_size=3)).map(
            lambda each: f"{each[0]}({', '.join(each[1])})"
        ),
        st.tuples(
            inner,
            st.sampled_from(
                ["+", "-", "*", "/", "%", "//", "DIV", "||", "=", "<>", "<", "AND", "OR", "LIKE"]
            ),
            inner,
        ).map(lambda each: f"({' '.join(each)})"),
        st.tuples(inner, inner).map(lambda each: f"({each[0]} IS DISTINCT FROM {each[1]})"),
        st.tuples(
            inner, st.sampled_from(["INT", "DOUBLE", "DATE", "TEXT", "BOOLEAN", "INTERVAL DAY"])
        ).map(lambda each: f"CAST({each[0]} AS {each[1]})"),
        st.tuples(inner, inner).map(lambda each: f"{each[0]} FILTER (WHERE {each[1]})"),
        st.tuples(inner, inner).map(lambda each: f"CASE {each[0]} WHEN {each[1]} THEN 1 END"),
    ),
    max_leaves=6,
)
holes = st.sampled_from(
    [
        "SELECT COUNT(*) FROM visits v WHERE {}",
        "SELECT SUM({}) FROM visits v",
        "SELECT {}, COUNT(*) FROM main.visits GROUP BY ALL",
        "SELECT {} FROM visits",
        "SELECT region, COUNT(*) AS n FROM visits GROUP BY region HAVING {}",
        "SELECT AVG(x) FROM (SELECT {} AS x FROM visits GROUP BY patient_id)",
    ]
)


@settings(max_examples=400, deadline=None)
@given(holes, any_value)
def test_any_call_is_read_or_refused(hole: str, value: str) -> None:
    outcome = _outcome(hole.format(value))
    assert outcome == _outcome(hole.format(value))
    assert not isinstance(outcome, str) or len(outcome) < 400


@given(st.text("ab%_.*\\", max_size=8), st.text("ab%_.*\\", max_size=6))
def test_like_agrees_with_a_regular_expression(text: str, pattern: str) -> None:
    parts = {"%": "(?s:.*)", "_": "(?s:.)"}
    expression = "".join(parts.get(each, re.escape(each)) for each in pattern)
    assert matches(text, pattern) == (re.fullmatch(expression, text) is not None)


# Whole questions with joins and subqueries, built from a few parts.
PARTS = {
    "visits": ["age", "income", "smoker", "format"],
    "stays": ["age", "nights", "code"],
    "codes": ["code", "age"],
    "bills": ["amount"],
}
UNITS = {"visits": "patient_id", "stays": "patient_id", "bills": "payer"}


@st.composite
def joins(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]]]:
    """A FROM clause whose first table is private, with aliases to fill in, and its tables."""
    first = draw(st.sampled_from(sorted(UNITS)))
    listed = [(first, "{0}")]
    text = f"{first} AS {{0}}"
    for place in range(1, draw(st.integers(1, 4))):
        alias = f"{{{place}}}"
        coded = [each for table, each in listed if "code" in PARTS[table]]
        table = draw(st.sampled_from(sorted(PARTS if coded else UNITS)))
        if table == "codes":
            side = draw(st.sampled_from(["JOIN", "LEFT JOIN"]))
            text += f" {side} codes AS {alias} ON {coded[0]}.code = {alias}.code"
        else:
            text += f" JOIN {table} AS {alias} ON {{0}}.{UNITS[first]} = {alias}.{UNITS[table]}"
        listed.append((table, alias))
    return text, listed


def _scans(source: Source) -> list[Scan]:
    match source:
        case Scan():
            return [source]
        case Join(_, left, right):
            return _scans(left) + _scans(right)
    raise AssertionError(source)


@settings(max_examples=200, deadline=None)
@given(joins(), st.data())
def test_aliases_of_joined_tables_change_nothing(
    join: tuple[str, list[tuple[str, str]]], data: st.DataObject
) -> None:
    text, listed = join
    columns = [f"{alias}.{name}" for table, alias in listed for name in PARTS[table]]
    shown = data.draw(st.lists(st.sampled_from(columns), min_size=1, max_size=4))
    outputs = ", ".join(f"COUNT({name})" for name in shown)
    question = f"SELECT {outputs} FROM {text} WHERE {shown[0]} IS NOT NULL"
    one = _outcome(question.format("a", "b", "c", "d"))
    other = _outcome(question.format("z", "_y", "Xx", '"w w"').replace(" AS ", "\n"))
    assert isinstance(one, Query)
    assert one == other


@settings(max_examples=200, deadline=None)
@given(joins())
def test_every_column_of_a_join_has_one_name(join: tuple[str, list[tuple[str, str]]]) -> None:
    text, listed = join
    asked = [f"MIN({alias}.{name})" for table, alias in listed for name in PARTS[table]]
    asked = [each for each in asked if "smoker" not in each]
    question = _outcome(f"SELECT {', '.join(asked)} FROM {text}".format("a", "b", "c", "d"))
    assert isinstance(question, Query)
    read = [str(output.expression) for output in question.outputs]
    assert len(set(read)) == len(asked)
    assert [scan.table for scan in _scans(question.source)] == [table for table, _ in listed]
    names = [new.casefold() for scan in _scans(question.source) for _, new in scan.names]
    assert len(set(names)) == len(names)


@settings(max_examples=100, deadline=None)
@given(conditions, st.sampled_from(["age", "income", "FLOOR(income)", "LEAST(age, 5)"]))
def test_a_subquery_and_a_common_table_are_the_same(condition: str, value: str) -> None:
    for inner in (
        f"SELECT patient_id, {value} AS x FROM visits WHERE {condition}",
        f"SELECT patient_id, SUM({value}) AS x FROM visits WHERE {condition} GROUP BY patient_id",
    ):
        one = _outcome(f"SELECT AVG(x), COUNT(DISTINCT patient_id) FROM ({inner}) AS p WHERE x > 1")
        other = _outcome(
            f"WITH q AS ({inner}) SELECT AVG(r.x), COUNT(DISTINCT r.patient_id) "
            "FROM q r WHERE (1 < r.x)"
        )
        assert isinstance(one, Query)
        assert one == other
        assert isinstance(one.source, Rows | PerUnit)
        plain = _outcome(f"SELECT COUNT(*) FROM visits WHERE {condition}")
        assert isinstance(plain, Query)
        assert one.source.where == plain.where
