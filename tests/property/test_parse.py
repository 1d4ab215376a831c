"""Whatever an analyst writes: a question or a refusal, never anything else, and the same twice."""

import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SchemaError, UnsafeQuery
from discreet.query.algebra import Query
from discreet.query.conditions import matches
from support.questions import ask

TEXT = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT AS AND OR NOT IN BETWEEN LIKE ILIKE IS NULL TRUE FALSE
CASE WHEN THEN ELSE END ASC DESC DISTINCT visits people v age income region smoker day patient_id n
COUNT(*) COUNT( SUM( AVG( VAR_POP( STDDEV( FLOOR( YEAR( EXTRACT( WIDTH_BUCKET( CAST( DATE_TRUNC(
DATE_PART( DP_INTERVAL_LOW( 'month' DATE INT TEXT DECIMAL VARCHAR :: ( ) , . * + - / = <> < <= > >=
'north' '%th' '2024-01-01' 0 1 2.5 1e3 "age" ; -- /* */ [ ] { } ? $1 @ ` ' " || -> JOIN UNION WITH
DIFFERENTIAL_PRIVACY OPTIONS epsilon delta OVER INTERVAL FILTER EXISTS ALL ANY USING VALUES STRUCT
ARRAY MAP IF ESCAPE COLLATE ROWS OFFSET FETCH PIVOT QUALIFY WINDOW format LATERAL UNNEST( XML JSON
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
    ]
)


def _outcome(text: str) -> Query | str:
    begun = time.thread_time()
    try:
        return ask(text)
    except (UnsafeQuery, SchemaError) as refusal:
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


@settings(max_examples=300, deadline=None)
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


@given(st.text("ab%_.*\\", max_size=8), st.text("ab%_.*\\", max_size=6))
def test_like_agrees_with_a_regular_expression(text: str, pattern: str) -> None:
    parts = {"%": "(?s:.*)", "_": "(?s:.)"}
    expression = "".join(parts.get(each, re.escape(each)) for each in pattern)
    assert matches(text, pattern) == (re.fullmatch(expression, text) is not None)
