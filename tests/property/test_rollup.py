"""Kept totals give the same integers as the rows they were made from, for any question."""

from contextlib import closing
from dataclasses import replace
from fractions import Fraction

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discreet.errors import UnsafeQuery
from discreet.loss import Pure
from discreet.plan.pipeline import Draft, plan
from discreet.plan.rules.rollups import kept_tables, small_keys
from discreet.query.algebra import Aggregate, Field, Key, Output, Query, Scan, Statistic
from discreet.schema import Column, Table
from support.databases import Scratch
from support.plan_cases import LIMIT, Bench, exact_of, queries, raw_rows, tables

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def planned_with_totals(query, table):
    """The plan of a question over a prepared table that has totals."""
    draft = Draft(query=query, table=table, price=Pure(epsilon=1), limit=LIMIT, kept="totals")
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
        for name, sql in kept_tables(table, "prepared").items():
            bench.rows(f"CREATE OR REPLACE TABLE {name} AS {sql}")
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
    for column in small_keys(table):
        cells *= column.upper - column.lower + 2
    assert cells <= 10_000


@settings(max_examples=30, deadline=None, suppress_health_check=SLOW)
@given(st.data())
def test_kept_histograms_and_rows_agree(data):
    column = Column("x", "number", lower=data.draw(st.integers(-9000, 0)), upper=9000)
    keys = tuple(Column(name, "boolean") for name in ("a", "b"))
    table = Table("t", columns=(column, *keys))
    median = Output("m", Aggregate(Statistic.QUANTILE, Field("x"), fraction=Fraction(1, 2)))
    named = tuple(Key(each.name, Field(each.name)) for each in keys[: data.draw(st.integers(0, 2))])
    query = Query(Scan("t"), None, named, (median,), (*(key.name for key in named), "m"))
    code, flag = st.integers(column.lower, 9000), st.none() | st.integers(0, 1)
    lines = data.draw(st.lists(st.tuples(st.none() | code, flag, flag), min_size=1, max_size=30))
    price = Pure(epsilon=1)
    made = plan(Draft(query=query, table=table, price=price, kept="totals"))
    plain = plan(Draft(query=query, table=table, price=price))
    assert 'FROM "histogram_0"' in made.sql
    with closing(Scratch()) as database:
        database.rows("CREATE TABLE prepared (x SMALLINT, a TINYINT, b TINYINT)")
        values = ", ".join(["(?, ?, ?)"] * len(lines))
        flat = [value for line in lines for value in line]
        database.rows(f"INSERT INTO prepared VALUES {values}", flat)
        for name, sql in kept_tables(table, "prepared").items():
            database.rows(f"CREATE TABLE {name} AS {sql}")
        found = [sorted(map(repr, database.rows(p.sql))) for p in (made, plain)]
    assert found[0] == found[1]
