"""What emitted SQL computes, against a plain evaluator of the algebra written without it."""

import math
from datetime import date
from fractions import Fraction

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discreet.errors import UnsafeQuery
from discreet.plan.results.evaluate import estimates
from discreet.plan.results.released import Released
from discreet.plan.sql import calendar
from discreet.plan.sql.expressions import bounded, scope
from discreet.query.algebra import Aggregate, Statistic
from support.plan_cases import Bench, Writer, planned, queries, raw_rows, tables
from support.plan_reference import aggregate, code_of, decoded, evaluate, groups_of

SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@st.composite
def written(draw):
    """A table, expressions of every kind that can be planned, and rows."""
    table, sources = draw(tables())
    write = Writer(draw, table)
    found = []
    for make in (write.number, write.condition, write.category):
        try:
            expression = make(3)
            found.append((expression, bounded(expression, scope(table))))
        except UnsafeQuery:
            continue
    assume(found)
    rows = draw(st.lists(raw_rows(sources), min_size=1, max_size=5))
    return table, sources, found, rows


def meaning(value, code):
    """What an engine integer stands for."""
    if code is None or value.kind == "null":
        return None
    if value.kind == "category":
        return value.labels[code]
    if value.kind == "boolean":
        return bool(code)
    if value.kind == "date":
        return calendar.day_of(code)
    return code * value.step


def check_written(case):
    table, sources, found, rows = case
    bench = Bench(table, sources)
    try:
        bench.load({place: [row] for place, row in enumerate(rows)})
        names, codes = bench.prepare()
        exact = decoded(table, names, codes)
        for expression, value in found:
            answers = [row[0] for row in bench.rows(f"SELECT {value.sql} FROM prepared")]
            assert [meaning(value, code) for code in answers] == [
                evaluate(expression, row) for row in exact
            ]
            known = [code for code in answers if code is not None]
            assert all(type(code) is int and value.lower <= code <= value.upper for code in known)
            assert value.missing == "possible" or len(known) == len(answers)
    finally:
        bench.close()


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(written())
def test_expressions_mean_what_the_algebra_says_and_stay_in_their_bounds(case):
    check_written(case)


@pytest.mark.slow("large oracles")
@settings(max_examples=250, deadline=None, suppress_health_check=SLOW)
@given(written())
def test_more_expressions_mean_what_the_algebra_says(case):
    check_written(case)


@pytest.mark.soak
@settings(max_examples=5000, deadline=None, suppress_health_check=SLOW)
@given(written())
def test_many_more_expressions_mean_what_the_algebra_says(case):
    check_written(case)


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(st.data())
def test_preparation_maps_clamps_and_rounds_as_said(data):
    table, sources = data.draw(tables())
    rows = data.draw(st.lists(raw_rows(sources), min_size=1, max_size=6))
    bench = Bench(table, sources)
    try:
        bench.load({place: [row] for place, row in enumerate(rows)})
        names, codes = bench.prepare()
    finally:
        bench.close()
    columns = {column.name: column for column in table.columns}
    expected = [
        tuple(code_of(columns[name], raw) for name, raw in zip(sources, row, strict=True))
        for row in rows
    ]
    plain = [tuple(c for n, c in zip(names, row, strict=True) if n != "$unit") for row in codes]
    assert sorted(plain, key=repr) == sorted(expected, key=repr)


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(st.data())
def test_each_unit_keeps_its_first_rows_whatever_the_others_and_the_order(data):
    table, sources = data.draw(tables().filter(lambda pair: pair[0].unit is not None))
    row = raw_rows(sources)
    person = data.draw(st.lists(row, min_size=1, max_size=6))
    others = data.draw(st.lists(row, max_size=6))
    bench = Bench(table, sources)
    try:
        kept = []
        for units in ({0: person}, {1: others, 0: person[::-1]}, {0: person, 2: others}):
            bench.load({**units, None: others})
            _, codes = bench.prepare()
            kept.append(sorted((code for code in codes if code[0] == 0), key=repr))
            assert all(code[0] is not None for code in codes)
            everyone = [code[0] for code in codes]
            assert max(map(everyone.count, everyone)) <= table.rows_per_unit
    finally:
        bench.close()
    assert len(kept[0]) == min(len(person), table.rows_per_unit)
    assert kept[0] == kept[1] == kept[2]


@st.composite
def asked(draw):
    table, sources = draw(tables())
    query = draw(queries(table))
    try:
        made = planned(query, table)
    except UnsafeQuery:
        assume(False)
    rows = draw(st.lists(raw_rows(sources), min_size=1, max_size=8))
    return table, sources, made, rows


def check_asked(case):
    """A question without a limit on groups: every aggregate of every public group."""
    table, sources, made, rows = case
    assume(made.query.options.max_groups_contributed is None or table.unit is None)
    bench = Bench(table, sources)
    try:
        bench.load({place // 2: rows[place - 1 : place + 1] for place in range(1, len(rows), 2)})
        names, codes = bench.prepare()
        exact = tuple(np.array(column, dtype=object) for column in bench.exact(made))
    finally:
        bench.close()
    columns = estimates(Released(made, made.groups, exact))
    expected = groups_of(made.query, decoded(table, names, codes))
    labels = [dict(zip(each.codes, each.labels, strict=True)) for each in made.domains]
    places = {
        tuple(label[code] for label, code in zip(labels, group, strict=True)): place
        for place, group in enumerate(made.groups)
    }
    floats = {tuple(map(_plain, key)): members for key, members in expected.items()}
    for key in floats:
        assert None in key or key in places, "a group outside the public keys"
    for key, place in places.items():
        for output in made.query.outputs:
            members = floats.get(key, [])
            truth = aggregate(output.expression, members)
            found = columns[output.name]
            ends = found.low[place], found.high[place]
            assert ends[0] <= found.value[place] <= ends[1], output
            assert all(map(math.isfinite, ends)), output
            if truth is not None:
                slack = rounding(dict(made.estimators)[output.expression], output, members)
                check_close(found.value[place], truth, slack, output)
                assert ends[0] - slack <= truth <= ends[1] + slack, (ends, truth, output)


def _plain(value):
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value


def rounding(estimator, output, members):
    """What floats may be off by, given the sums that they are made from."""
    scale = max(abs(estimator.lower), abs(estimator.upper)) * float(estimator.step)
    if estimator.second is not None:
        return rounding_of_pair(estimator, output.expression, members)
    if "stddev" in output.expression.statistic:
        return 1e-6 * scale
    return 1e-9 * max(scale, scale**2)


def rounding_of_pair(estimator, pair, members):
    """By how little the values vary, compared with their bounds."""
    y, x = estimator.axis, estimator.second
    if pair.statistic in (Statistic.COVARIANCE_POPULATION, Statistic.COVARIANCE_SAMPLE):
        return 1e-9 * y.reach * x.reach
    known = [row for row in members if evaluate(pair.argument, row) is not None]
    known = [row for row in known if evaluate(pair.second, row) is not None]
    flat_y, flat_x = (
        axis.reach / math.sqrt(aggregate(Aggregate(Statistic.VARIANCE_POPULATION, side), known))
        if pair.statistic is Statistic.CORRELATION or side is pair.second
        else 1.0
        for axis, side in ((y, pair.argument), (x, pair.second))
    )
    if pair.statistic is Statistic.CORRELATION:
        return 1e-11 * flat_y**2 * flat_x**2
    slope = 1e-11 * y.reach / x.reach * flat_x**3
    if pair.statistic is Statistic.SLOPE:
        return slope
    far = float(max(abs(x.lower), abs(x.upper)) * x.step)
    return slope * far + 1e-9 * (abs(y.middle) + y.reach)


def check_close(found, truth, slack, output):
    assert math.isclose(found, truth, rel_tol=1e-9, abs_tol=slack), (found, truth, output)


@settings(max_examples=80, deadline=None, suppress_health_check=SLOW)
@given(asked())
def test_whole_questions_give_the_aggregates_of_every_group(case):
    check_asked(case)


@pytest.mark.slow("large oracles")
@settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
@given(asked())
def test_more_whole_questions(case):
    check_asked(case)


@pytest.mark.soak
@settings(max_examples=3000, deadline=None, suppress_health_check=SLOW)
@given(asked())
def test_many_more_whole_questions(case):
    check_asked(case)


FIRST, LAST = calendar.day_number(date(1900, 1, 1)), calendar.day_number(date(2100, 12, 31))


@pytest.mark.parametrize("part", calendar.PARTS)
def test_date_parts_are_those_of_the_engine(part):
    found = duckdb.sql(
        f"SELECT date_part('{part}', DATE '1970-01-01' + CAST(n AS INTEGER)) "
        f"FROM range({FIRST}, {LAST + 1}) t(n) ORDER BY n"
    ).fetchall()
    assert [row[0] for row in found] == [calendar.part_of(part, n) for n in range(FIRST, LAST + 1)]


@pytest.mark.parametrize("unit", calendar.UNITS)
def test_truncations_are_those_of_the_engine(unit):
    found = duckdb.sql(
        "SELECT date_diff('day', DATE '1970-01-01', CAST(date_trunc("
        f"'{unit}', DATE '1970-01-01' + CAST(n AS INTEGER)) AS DATE)) "
        f"FROM range({FIRST}, {LAST + 1}) t(n) ORDER BY n"
    ).fetchall()
    firsts = [row[0] for row in found]
    assert firsts == [calendar.truncate(unit, n) for n in range(FIRST, LAST + 1)]
    assert calendar.starts(unit, FIRST, LAST) == sorted(set(firsts))
    assert calendar.units_between(unit, FIRST, LAST) == len(set(firsts))
