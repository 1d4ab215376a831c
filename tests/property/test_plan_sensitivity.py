"""Sensitivities of plans against brute force: the emitted SQL on neighbouring tables."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st

from discreet.errors import UnsafeQuery
from discreet.loss import Relation, Sensitivity
from support.plan_cases import Bench, planned, queries, raw_rows, tables

SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

FIRST = [Phase.generate]

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")  # only reported


@st.composite
def cases(draw):
    """A table, a question that can be planned, other people's rows, and two contributions."""
    table, sources = draw(tables())
    query = draw(queries(table))
    try:
        made = planned(query, table)
    except UnsafeQuery:
        assume(False)
    row = raw_rows(sources)
    most = 1 if table.unit is None else table.rows_per_unit + 2
    others = draw(st.lists(st.lists(row, max_size=most), max_size=2))
    pair = [draw(st.lists(row, min_size=1, max_size=most)) for _ in range(2)]
    return table, sources, made, others, pair


def neighbours(table, others, pair):
    """Tables that differ in one person; the first two in the same person's rows."""
    rest = {place + 1: rows for place, rows in enumerate(others)}
    one, other = ({**rest, 0: rows} for rows in pair)
    return (one, other) if table.neighbours is Relation.REPLACE else (one, rest)


def moved(first, second):
    return [
        [abs(a - b) for a, b in zip(left, right, strict=True)]
        for left, right in zip(first, second, strict=True)
    ]


def check_moves(made, first, second):
    for measure, move in zip(made.measures, moved(first, second), strict=True):
        bound = measure.sensitivity
        assert sum(move) <= bound.l1, measure
        assert sum(step**2 for step in move) <= bound.l2_squared, measure
        assert max(move) <= bound.linf, measure
        assert sum(step > 0 for step in move) <= bound.groups, measure


def check_case(case):
    table, sources, made, others, pair = case
    bench = Bench(table, sources)
    try:
        found = []
        for units in neighbours(table, others, pair):
            bench.load(units)
            bench.prepare()
            exact = bench.exact(made)
            assert exact == bench.exact(bench.in_place(made))
            found.append(exact)
    finally:
        bench.close()
    check_moves(made, *found)


@settings(max_examples=80, deadline=None, suppress_health_check=SLOW)
@given(cases())
def test_no_person_moves_a_measure_further_than_its_sensitivity(case):
    check_case(case)


@pytest.mark.slow("large oracles")
@settings(max_examples=250, deadline=None, suppress_health_check=SLOW)
@given(cases())
def test_no_person_moves_a_measure_further_in_more_cases(case):
    check_case(case)


@pytest.mark.soak
@settings(max_examples=4000, deadline=None, suppress_health_check=SLOW)
@given(cases())
def test_no_person_moves_a_measure_further_in_many_more_cases(case):
    check_case(case)


def understated(case):
    """The same case with half of every sensitivity believed."""
    table, sources, made, others, pair = case
    measures = tuple(
        replace(each, sensitivity=Sensitivity.single(each.sensitivity.linf / 2))
        for each in made.measures
    )
    return table, sources, replace(made, measures=measures), others, pair


def test_a_sensitivity_that_is_too_small_is_caught():
    options = settings(max_examples=200, deadline=None, suppress_health_check=SLOW, phases=FIRST)
    found = find(cases(), lambda case: _fails(understated(case)), settings=options)
    assert not _fails(found)


def _fails(case):
    try:
        check_case(case)
    except AssertionError:
        return True
    return False
