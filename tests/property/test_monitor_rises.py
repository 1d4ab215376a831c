"""What the monotone form relies on, against brute force: a unit that is added raises counts, and
sums of what is not negative, in every group, through joins and subqueries too.
"""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discreet.errors import UnsafeQuery
from discreet.loss import Relation
from discreet.plan.parts.measures import Estimator
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from discreet.streams.monitor.design import rises
from support import join_bench, join_cases, plan_cases

SLOW = list(HealthCheck)
ADD = Relation.ADD_REMOVE

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")  # only reported


@st.composite
def plain(draw):
    """A table, a question, other people's rows, and one person's."""
    table, sources = draw(plan_cases.tables())
    assume(table.neighbours is ADD)
    query = draw(plan_cases.queries(table))
    try:
        made = plan_cases.planned(query, table)
    except UnsafeQuery:
        assume(False)
    row = plan_cases.raw_rows(sources)
    most = 1 if table.unit is None else table.rows_per_unit + 2
    others = draw(st.lists(st.lists(row, max_size=most), max_size=2))
    return table, sources, made, others, draw(st.lists(row, min_size=1, max_size=most))


@st.composite
def joined(draw):
    """Tables, a question about several of them, and everybody's rows."""
    tables = draw(join_cases.schemas())
    assume(tables["visits"].neighbours is ADD)
    query = join_cases.Writer(draw, tables).query(draw(st.sampled_from([2, 3])))
    try:
        made = join_bench.planned(query, tables)
    except UnsafeQuery:
        assume(False)
    return tables, made, draw(join_cases.lookups(tables)), draw(join_cases.people(tables))


def fallen(made, present, absent, believed=rises):
    """Measures that are believed to rise and are smaller with the person than without."""
    places = {
        each.positions[0]
        for _, each in made.estimators
        if isinstance(each, Estimator) and len(each.positions) == 1 and believed(each)
    }
    return [
        made.measures[place].name
        for place in places
        if any(a < b for a, b in zip(present[place], absent[place], strict=True))
    ]


def plain_values(case):
    table, sources, made, others, person = case
    rest = {place + 1: rows for place, rows in enumerate(others)}
    bench = plan_cases.Bench(table, sources)
    try:
        found = []
        for units in ({**rest, 0: person}, rest):
            bench.load(units)
            bench.prepare()
            found.append(bench.exact(made))
    finally:
        bench.close()
    return made, *found


def joined_values(case):
    tables, made, public, everybody = case
    without = {name: [[], *rows[1:]] for name, rows in everybody.items()}
    bench = join_bench.Bench(tables, {})
    try:
        found = []
        for people in (everybody, without):
            bench.load({**join_cases.placed(people, tables, ""), **public})
            found.append(bench.exact(made)[0])
    finally:
        bench.close()
    return made, *found


@settings(max_examples=30, suppress_health_check=SLOW)
@given(plain())
def test_what_is_believed_to_rise_never_falls(case):
    assert fallen(*plain_values(case)) == []


@settings(max_examples=25, suppress_health_check=SLOW)
@given(joined())
def test_nor_does_it_through_joins_and_subqueries(case):
    assert fallen(*joined_values(case)) == []


@pytest.mark.soak
@settings(max_examples=3000, suppress_health_check=SLOW)
@given(plain())
def test_what_is_believed_to_rise_never_falls_in_many_more_cases(case):
    assert fallen(*plain_values(case)) == []


@pytest.mark.soak
@settings(max_examples=3000, suppress_health_check=SLOW)
@given(joined())
def test_nor_does_it_through_many_more_joins(case):
    assert fallen(*joined_values(case)) == []


def test_believing_it_of_every_sum_would_be_caught():
    table = Table("visits", unit="who", columns=(Column("steps", "integer", lower=-9, upper=9),))
    made = plan_cases.planned(
        parse("SELECT SUM(steps), COUNT(*) FROM visits", {"visits": table}), table
    )
    sources = {"steps": plan_cases.Source("BIGINT", ())}
    values = plain_values((table, sources, made, [[(5,)]], [(-7,)]))
    assert fallen(*values) == []
    assert fallen(*values, lambda _: True) == [made.measures[0].name]
