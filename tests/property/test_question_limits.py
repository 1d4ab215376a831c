"""Limits of one question against brute force: for every pair of limits, every person with a few
rows moves the exact sums by at most the sensitivity of the plan, and a person within the limits is
counted whole.
"""

from itertools import combinations_with_replacement, product
from typing import Any
from unittest.mock import patch

import pytest

from discreet.loss import Relation
from discreet.plan.pipeline import Plan
from discreet.plan.rules import emit
from discreet.query.parse import parse
from discreet.query.statement.options import with_limits
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.join_bench import Bench, planned

ROWS = 3
COLUMNS = (
    Column("c", "category", upper=2, keys=("x", "y", "z")),
    Column("v", "integer", lower=-1, upper=2),
)
BASE = [(unit, unit % 3, unit % 2) for unit in range(1, 5)]  # the others
QUESTIONS = (
    "SELECT COUNT(*) AS n, SUM(v) AS s FROM visits",
    "SELECT c, COUNT(*) AS n, SUM(v) AS s FROM visits GROUP BY c",
    "SELECT c, COUNT(DISTINCT who) AS u, COUNT(v) AS n FROM visits GROUP BY c",
    "SELECT c, v, COUNT(*) AS n FROM visits WHERE v > -1 GROUP BY c, v",
)
LIMITS = [*product((None, 1, 2), (None, 1, 2))]
PERSONS = [
    rows
    for count in range(ROWS + 1)
    for rows in combinations_with_replacement([(0, -1), (0, 2), (1, 2), (2, -1)], count)
]
REPLACED = [PERSONS[0], PERSONS[1], PERSONS[-1], PERSONS[len(PERSONS) // 2]]


Sums = list[list[int]]


def made_of(sql: str, groups: int | None, rows: int | None, relation: Relation) -> Plan:
    table = Table("visits", unit="who", rows_per_unit=ROWS, columns=COLUMNS, neighbours=relation)
    text = with_limits(sql, max_groups_contributed=groups, max_rows_contributed=rows)
    return planned(parse(text, {"visits": table}), {"visits": table})


def exact(plans: dict[Any, Plan]) -> dict[Any, dict[Any, Sums]]:
    """What every plan gives with each person beside the others; a relation changes no statement."""
    bench = Bench({"visits": next(iter(plans.values())).tables[0]})
    found: dict[Any, dict[Any, Sums]] = {name: {} for name in plans}
    try:
        for person in PERSONS:
            bench.load({"visits": [*BASE, *((9, *row) for row in person)]})
            for name, made in plans.items():
                found[name][person] = bench.exact(made)[0]
    finally:
        bench.close()
    return found


@pytest.fixture(scope="module")
def every() -> dict[Any, dict[Any, Sums]]:
    names = product(QUESTIONS, LIMITS)
    return exact({(sql, *most): made_of(sql, *most, Relation.ADD_REMOVE) for sql, most in names})


def check_moves(made: Plan, one: Sums, other: Sums) -> None:
    for measure, left, right in zip(made.measures, one, other, strict=True):
        move = [abs(a - b) for a, b in zip(left, right, strict=True)]
        bound = measure.sensitivity
        assert sum(move) <= bound.l1, measure
        assert sum(step**2 for step in move) <= bound.l2_squared, measure
        assert max(move) <= bound.linf, measure
        assert sum(step > 0 for step in move) <= bound.groups, measure


def check_all(made: Plan, found: dict[Any, Sums], before: list[Any]) -> None:
    """Everybody who comes instead of one of those before."""
    for person, moved in product(before, found.values()):
        check_moves(made, moved, found[person])


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("groups", "rows"), LIMITS)
def test_no_person_moves_a_sum_further_than_its_limits_say(every, groups, rows, relation):
    before = [()] if relation is Relation.ADD_REMOVE else REPLACED
    for sql in QUESTIONS:
        made, found = made_of(sql, groups, rows, relation), every[sql, groups, rows]
        check_all(made, found, before)


@pytest.mark.parametrize(("groups", "rows"), LIMITS)
def test_a_person_within_the_limits_is_counted_whole(every, groups, rows):
    for sql in QUESTIONS:
        whole = every[sql, None, None]
        for person, found in every[sql, groups, rows].items():
            keys = {row if " v, " in sql else row[0] for row in person}
            if len(person) <= (rows or ROWS) and len(keys) <= (groups or ROWS):
                assert found == whole[person], (sql, person)


def test_a_limit_that_is_only_believed_is_noticed():
    """A planted mistake: fewer groups are priced, and all of them are counted."""
    with (
        patch.object(emit, "_limit_groups", lambda relation, where, *_: f"{relation}{where}"),
        patch.object(emit, "_names", lambda domains: [each.sql for each in domains]),
    ):
        made = made_of(QUESTIONS[2], 1, None, Relation.ADD_REMOVE)
    found = exact({"planted": made})["planted"]
    with pytest.raises(AssertionError, match="Measure"):
        check_all(made, found, [()])
