"""Kept totals give the same integers as the rows they were made from, for any question."""

from dataclasses import replace

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discreet.errors import UnsafeQuery
from discreet.loss import Pure
from discreet.plan.draft import Draft, plan
from discreet.plan.rollup import rolled_columns, rolled_rows
from support.plan_cases import LIMIT, Bench, exact_of, queries, raw_rows, tables

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def planned_with_totals(query, table):
    """The plan of a question over a prepared table that has totals."""
    draft = Draft(query=query, table=table, price=Pure(epsilon=1), limit=LIMIT, rolled='"totals"')
    return plan(draft)


@st.composite
def asked(draw):
    """A table, rows for it, and a question that totals can answer."""
    table, sources = draw(tables())
    query = draw(queries(table))
    if draw(st.booleans()):
        query = replace(query, where=None)
    try:
        made = planned_with_totals(query, table)
    except UnsafeQuery:
        assume(False)
    assume('FROM "totals"' in made.sql)
    return table, sources, made, draw(st.lists(raw_rows(sources), max_size=10))


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(asked())
def test_totals_and_rows_agree(case):
    table, sources, made, rows = case
    bench = Bench(table, sources)
    try:
        bench.load({place // 2: rows[place - 1 : place + 1] for place in range(1, len(rows), 2)})
        bench.prepare()
        bench.rows(f"CREATE OR REPLACE TABLE totals AS {rolled_rows(table, 'prepared')}")
        plain = plan(Draft(query=made.query, table=table, price=Pure(epsilon=1), limit=LIMIT))
        found = [exact_of(each, bench.rows(each.sql)) for each in (made, plain)]
    finally:
        bench.close()
    assert 'FROM "prepared"' in plain.sql
    assert [column.tolist() for column in found[0]] == [column.tolist() for column in found[1]]


@given(tables())
def test_totals_stay_small(pair):
    table, _ = pair
    cells = 1
    for column in rolled_columns(table):
        cells *= column.upper - column.lower + 2
    assert cells <= 10_000
