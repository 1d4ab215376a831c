"""Joint sensitivity over the cells, against brute force: every possible row, evaluated by a
reference that knows no SQL, and units of several rows.
"""

from datetime import date
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetExceeded
from discreet.query.algebra import Aggregate
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from discreet.streams.joint.cells import Cells
from support.plan_reference import aggregate, groups_of, value_of

AGE = Column("age", "integer", lower=-1, upper=2, null=0)
PAY = Column("pay", "number", step=Fraction(1, 2), lower=-1, upper=2)
AREA = Column("area", "category", upper=1, keys=("north", "south"))
DAY = Column("day", "date", lower=19_750, upper=19_752, null=19_750)
TABLE = Table("visits", columns=(AGE, PAY, AREA, DAY), unit="person", rows_per_unit=2)
ALL = ("age", "pay", "area", "day")
ENDLESS = Fraction(10**6)


def values(column):
    codes = [*range(column.lower, column.upper + 1), *([None] if column.nullable else [])]
    return [value_of(column, code) for code in codes]


ROWS = [
    dict(zip(ALL, row, strict=True)) for row in product(*(values(TABLE.column(n)) for n in ALL))
]

CONDITIONS = st.sampled_from(
    [
        "age >= {0}",
        "age + 1 = {0}",
        "pay > {0}",
        "pay IS NULL",
        "NOT pay <= {0}",
        "area = 'north'",
        "area <> 'south' OR age < {0}",
        "day > DATE '2024-01-2{0}'",
        "EXTRACT(DAY FROM day) = 2{0}",
        "CASE WHEN age > 0 THEN pay ELSE age END >= {0}",
    ]
)
THINGS = st.sampled_from(
    ["COUNT(*)", "COUNT(pay)", "SUM(age)", "SUM(pay)", "SUM(pay * age)", "SUM(2 * age - 3)"]
)
KEYS = st.sampled_from(["", "", "area", "pay", "day"])


@st.composite
def questions(draw):
    parts = draw(st.lists(st.tuples(CONDITIONS, st.integers(0, 3)), max_size=2))
    where = " AND ".join(f"({text.format(number)})" for text, number in parts)
    things = draw(st.lists(THINGS, min_size=1, max_size=2, unique=True))
    key = draw(KEYS)
    listed = ", ".join(([key] if key else []) + [f"{t} AS x{i}" for i, t in enumerate(things)])
    text = f"SELECT {listed} FROM visits" + (f" WHERE {where}" if where else "")
    return parse(text + (f" GROUP BY {key}" if key else ""), {"visits": TABLE})


def outputs(query):
    return list(dict.fromkeys(each.expression for each in query.outputs))


def moved(queries, rows):
    """By how much these rows move all answers together; keys that are missing have no group."""
    total = Fraction(0)
    for query in queries:
        for group, kept in groups_of(query, rows).items():
            if None not in group and kept:
                for each in outputs(query):
                    assert isinstance(each, Aggregate)
                    total += abs(aggregate(each, kept) or 0)
    return total


def loaded(queries, columns=ALL):
    cells = Cells(TABLE, columns)
    for query in queries:
        cells.add(query, outputs(query), limit=ENDLESS)
    return cells


RELAXED = settings(
    max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@RELAXED
@given(st.lists(questions(), min_size=1, max_size=4))
def test_the_cells_give_the_exact_joint_sensitivity(queries):
    cells = loaded(queries)
    assert cells.exact
    assert cells.per_row == max(moved(queries, [row]) for row in ROWS)


@RELAXED
@given(
    st.lists(questions(), min_size=1, max_size=3),
    st.sampled_from([(), ("age",), ("area", "pay"), ("day",)]),
)
def test_fewer_columns_give_an_upper_bound(queries, columns):
    cells = loaded(queries, columns)
    truth = max(moved(queries, [row]) for row in ROWS)
    assert cells.per_row >= truth
    if cells.exact:
        assert cells.per_row == truth


@settings(RELAXED, max_examples=10)
@given(st.lists(questions(), min_size=1, max_size=2), st.integers(0, len(ROWS) - 1))
def test_two_rows_of_a_unit_move_at_most_twice_as_much(queries, start):
    cells = loaded(queries)
    few = (ROWS[start:] + ROWS[:start])[::23]
    for pair in combinations_with_replacement(few, 2):
        assert moved(queries, list(pair)) <= 2 * cells.per_row


@RELAXED
@given(st.lists(questions(), min_size=1, max_size=6), st.integers(1, 12))
def test_what_is_admitted_stays_within_the_limit_and_refusals_leave_no_trace(queries, half):
    limit, cells, admitted = Fraction(half, 2), Cells(TABLE, ALL), []
    for query in queries:
        before = cells.per_row
        try:
            cells.add(query, outputs(query), limit=limit)
        except BudgetExceeded:
            assert cells.per_row == before
            assert max(moved([*admitted, query], [row]) for row in ROWS) > limit
        else:
            admitted.append(query)
            assert cells.per_row <= limit


def test_the_reference_sees_a_planted_bug():
    """Taking the largest question for the joint sensitivity is too little; the rows show it."""
    queries = [
        parse(f"SELECT SUM(age) AS s FROM visits WHERE age >= {low}", {"visits": TABLE})
        for low in (0, 1, 2)
    ]
    each = max(loaded([query]).per_row for query in queries)
    assert max(moved(queries, [row]) for row in ROWS) == 3 * each
    assert loaded(queries).per_row == 3 * each


def test_days_are_the_reference_s_days():
    assert values(DAY)[0] == date(2024, 1, 28)


@pytest.mark.parametrize("column", ALL)
def test_every_column_has_more_than_one_value(column):
    assert len(values(TABLE.column(column))) > 1
