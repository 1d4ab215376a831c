"""What is written from an expression is read as the same expression: of every accepted construct,
and of expressions that are generated.
"""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.query.algebra import (
    Arithmetic,
    Bucket,
    Case,
    Compare,
    DatePart,
    DateTrunc,
    Extreme,
    Field,
    Floor,
    IsNull,
    Junction,
    Literal,
    Member,
    Negation,
    Scan,
)
from discreet.query.parse import parse
from discreet.query.written import conjunction, written
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.questions import TABLES
from support.sql_page import ACCEPTED

EXAMPLES = [text for _, _, cases in ACCEPTED for _, text in cases]
ODD = Table(
    "order",
    columns=(
        Column("select", "integer", lower=-9, upper=9),
        Column("Net income (€)", "number", step=Fraction(1, 4), upper=900),
        Column("where", "category", upper=2, keys=("a", "it's", "ß")),
        Column("from", "boolean"),
        Column("date", "date", lower=19_723, upper=20_453),
        Column("end", "datetime", lower=1_704_067_200, upper=1_767_225_599),
    ),
)


def again(table, text):
    return parse(f'SELECT COUNT(*) AS n FROM "{table}" WHERE {text}', {**TABLES, "order": ODD})


def test_the_conditions_of_accepted_questions():
    tried = 0
    for text in EXAMPLES:
        query = parse(text, TABLES)
        if query.where is None or not isinstance(query.source, Scan) or query.source.names:
            continue
        assert again(query.source.table, written(query.where)).where == query.where, text
        tried += 1
    assert tried > 10


numbers = st.deferred(
    lambda: st.one_of(
        st.sampled_from([Field("select"), Field("Net income (€)")]),
        st.builds(Arithmetic, st.sampled_from("+-*"), numbers, numbers | constants),
        st.builds(Arithmetic, st.just("/"), numbers, constants.filter(lambda each: each.value)),
        st.builds(
            Extreme,
            st.sampled_from(["least", "greatest"]),
            st.lists(numbers, min_size=2, max_size=3, unique=True).map(tuple),
        ),
        st.builds(Bucket, numbers, st.just(Fraction(-1)), st.just(Fraction(7, 3)), st.just(4)),
        st.builds(DatePart, st.sampled_from(["year", "dayofweek", "week"]), st.just(Field("date"))),
        st.builds(DatePart, st.sampled_from(["hour", "second"]), st.just(Field("end"))),
        st.builds(lambda test, value: Case(((test, value),), Literal(None)), conditions, numbers),
    )
)
constants = st.fractions(min_value=-9, max_value=9, max_denominator=8).map(Literal)
moments = st.sampled_from([Field("date"), DateTrunc("month", Field("date"))])
days = st.dates().map(Literal)
keys = st.sampled_from([Literal("a"), Literal("it's"), Literal("ß")])
conditions = st.deferred(
    lambda: st.one_of(
        st.just(Field("from")),
        st.builds(Compare, st.sampled_from(["=", "<>", "<", ">="]), numbers, numbers | constants),
        st.builds(Compare, st.sampled_from(["=", "<", ">="]), moments, days),
        st.builds(
            Member, st.just(Field("where")), st.lists(keys, min_size=1, unique=True).map(_sorted)
        ),
        st.builds(IsNull, numbers | st.just(Field("where")) | moments),
        st.builds(Negation, conditions.filter(lambda each: not isinstance(each, Negation))),
        st.builds(_joined, st.sampled_from(["and", "or"]), st.lists(conditions, min_size=2)),
    )
)


def _sorted(values):
    return tuple(sorted(values, key=lambda each: each.value))


def _joined(operator, parts):
    """As the parser joins: flat, and each part once."""
    flat = {}
    for part in parts:
        same = isinstance(part, Junction) and part.operator == operator
        flat |= dict.fromkeys(part.parts if same else (part,))
    return Junction(operator, tuple(flat)) if len(flat) > 1 else next(iter(flat))


@settings(max_examples=200, deadline=None)
@given(conditions)
def test_any_condition(condition):
    text = written(condition)
    if len(text) > 2000 or text.count("(") > 25:  # beyond the limits of a question
        return
    assert again("order", text).where == condition


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(-22, 7), Fraction(1, 10**19)])
def test_numbers_that_are_no_decimals(value):
    condition = Compare("<", Field("select"), Literal(value))
    assert again("order", written(condition)).where == condition


def test_a_conjunction_keeps_both_sides():
    text = conjunction(written(Field("from")), '"select" = 1 OR "select" = 2')
    found = again("order", text).where
    assert isinstance(found, Junction)
    assert found.operator == "and"
    assert found.parts[0] == Field("from")
    assert (
        Floor(Field("Net income (€)"))
        == again("order", f"{written(Floor(Field('Net income (€)')))} = 1").where.left
    )
