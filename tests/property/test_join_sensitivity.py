"""Sensitivities after joins and subqueries against brute force: the emitted SQL on databases that
differ in everything of one person, in all tables at once.
"""

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discreet.errors import UnsafeQuery
from discreet.loss import Relation
from discreet.plan.rules import derived, sources
from discreet.plan.rules import read as read_rule
from discreet.plan.rules.read import read
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.join_bench import Bench, draft, planned
from support.join_cases import Writer, lookups, people, placed, schemas

SLOW = list(HealthCheck)

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")  # only reported


@st.composite
def cases(draw):
    """Tables, a question, everybody's rows, and what the first person has instead."""
    tables = draw(schemas())
    query = Writer(draw, tables).query(draw(st.sampled_from([1, 2, 2, 3])))
    try:
        planned(query, tables)
    except UnsafeQuery:
        assume(False)
    public = draw(lookups(tables))
    everybody, instead = draw(people(tables)), draw(people(tables, 1))
    text = draw(st.sampled_from(["", "", "stays"]))
    return tables, query, public, everybody, instead, text


def neighbours(case):
    """Two databases that differ in the first person, who is in all tables."""
    tables, _, public, everybody, instead, text = case
    one = {**placed(everybody, tables, text), **public}
    if tables["visits"].neighbours is Relation.REPLACE:
        changed = {name: [*instead[name], *rows[1:]] for name, rows in everybody.items()}
    else:
        changed = {name: [[], *rows[1:]] for name, rows in everybody.items()}
    return one, {**placed(changed, tables, text), **public}


def check_moves(made, one, other):
    for measure, left, right in zip(made.measures, one[0], other[0], strict=True):
        move = [abs(a - b) for a, b in zip(left, right, strict=True)]
        bound = measure.sensitivity
        assert sum(move) <= bound.l1, measure
        assert sum(step**2 for step in move) <= bound.l2_squared, measure
        assert max(move) <= bound.linf, measure
        assert sum(step > 0 for step in move) <= bound.groups, measure
    for pick, left, right in zip(made.picks, one[1], other[1], strict=True):
        move = {cell: abs(left.get(cell, 0) - right.get(cell, 0)) for cell in left | right}
        assert sum(move.values()) <= pick.sensitivity.l1, pick
        assert len({group for (group, _), step in move.items() if step}) <= pick.sensitivity.groups


def check_moved(case, check=None):
    tables, query, *_, text = case
    made = planned(query, tables)
    bench = Bench(tables, {"stays": "VARCHAR"} if text else {})
    try:
        found = []
        for data in neighbours(case):
            bench.load(data)
            found.append(bench.exact(made))
            if check is not None:
                check(bench, query)
    finally:
        bench.close()
    check_moves(made, *found)


def check_case(case):
    check_moved(case, check_rows)


def check_rows(bench, query):
    """No unit has more rows than the plan believes, and no value lies outside its bounds."""
    made = read(draft(query, bench.tables))
    if made.table.unit is not None:
        counts = bench.rows(f'SELECT count(*) FROM {made.relation} GROUP BY "$unit"')
        assert all(count <= made.table.rows_per_unit for (count,) in counts)
    names = ", ".join(f'"{column.name}"' for column in made.table.columns)
    for row in bench.rows(f"SELECT {names} FROM {made.relation}"):
        for column, code in zip(made.table.columns, row, strict=True):
            inside = column.nullable if code is None else column.lower <= code <= column.upper
            assert inside, column


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(cases())
def test_no_person_moves_a_measure_further_than_its_sensitivity(case):
    check_case(case)


@pytest.mark.slow("large oracles")
@settings(max_examples=250, deadline=None, suppress_health_check=SLOW)
@given(cases())
def test_no_person_moves_a_measure_further_in_more_cases(case):
    check_case(case)


@pytest.mark.soak
@settings(max_examples=5000, deadline=None, suppress_health_check=SLOW)
@given(cases())
def test_no_person_moves_a_measure_further_in_many_more_cases(case):
    check_case(case)


def _forgotten(rows, many):
    """The rows of one side only."""
    return None if rows is None or many is None else max(rows, many)


_match = sources._Reader._match


def _unenforced(self, public, source, on):
    """What a public table declares about its key is believed."""
    return public, _match(self, public, source, on)[1]


def _half_a_key(self, public, source, on):
    """A part of the key is taken for all of it."""
    key, many = self._key(source)
    if not set(key) & set(on):
        return public, None
    first = sources._first_rows(public, [f'"{name}"' for name in key], many, self.dialect)
    return replace(public, select=first), many


_value = derived._value


def _of_one_row(aggregate, scope, _):
    """The sum of one unit's rows is bounded like one of them."""
    return _value(aggregate, scope, 1)


def _unlimited(rows, most, _):
    """max_rows_contributed is believed, but no row is left out."""
    return replace(rows, rows_per_unit=most)


def _strangers(self, join, left, right):
    """Sources of one population are joined without their unit."""
    units = '"$unit" IS NOT NULL AND "$r" IS NOT NULL'
    return _join_condition(self, join, left, right) if left.public or right.public else units


_join_condition = sources._Reader._join_condition
_window_value = sources.window_value


def _of_one_place(window, scope, *, rows, ties):
    """A rank is bounded as if each unit had one row."""
    return _window_value(window, scope, rows=min(rows, 1), ties=ties)


def _over_everybody(window, scope, *, rows, ties):
    """A window sees the rows of all units."""
    value = _window_value(window, scope, rows=rows, ties=ties)
    return replace(value, sql=value.sql.replace('PARTITION BY "$unit"', "PARTITION BY 1"))


NUMBER = Column("n", "number", lower=0, upper=3)
LABEL = Column("c", "category", upper=2, keys=("x", "y", "z"))
TWO = Table("visits", unit="who", rows_per_unit=2, population="p", columns=(NUMBER, LABEL))
FIXED = {
    "visits": TWO,
    "stays": replace(TWO, name="stays", unit="payer"),
    "codes": Table("codes", kind="public", key=("c",), columns=(NUMBER, LABEL)),
    "pairs": Table("pairs", kind="public", key=("n", "c"), columns=(NUMBER, LABEL)),
}
EVERYBODY = {
    "visits": [[(3, 0), (3, 0)], *[[(1, 1)]] * 5],
    "stays": [[(3, 0), (3, 0)], *[[(2, 2)]] * 5],
}
PUBLIC = {"codes": [(0, 0), (1, 0), (3, 0)], "pairs": [(1, 0), (2, 0), (3, 0), (3, 0)]}
PLANTED = {
    "SELECT COUNT(*) AS n FROM visits JOIN stays ON who = payer": (
        sources,
        "_product",
        _forgotten,
    ),
    "SELECT COUNT(*) AS n FROM visits JOIN codes USING (c)": (
        sources._Reader,
        "_match",
        _unenforced,
    ),
    "WITH p AS (SELECT who, SUM(n) AS s FROM visits GROUP BY who) SELECT SUM(s) AS s FROM p": (
        derived,
        "_value",
        _of_one_row,
    ),
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=1) MEDIAN(n) AS m FROM visits": (
        read_rule,
        "limit_rows",
        _unlimited,
    ),
    "SELECT SUM(r) AS s FROM (SELECT ROW_NUMBER() OVER (PARTITION BY who ORDER BY n) AS r "
    "FROM visits)": (sources, "window_value", _of_one_place),
    "SELECT SUM(r) AS s FROM (SELECT RANK() OVER (PARTITION BY who ORDER BY n) AS r FROM visits)": (
        sources,
        "window_value",
        _over_everybody,
    ),
    "SELECT COUNT(*) AS n FROM visits LEFT JOIN stays ON who = payer": (
        sources,
        "_product",
        _forgotten,
    ),
    "SELECT COUNT(*) AS n FROM visits WHERE who NOT IN (SELECT payer FROM stays WHERE n = 3)": (
        sources._Reader,
        "_join_condition",
        _strangers,
    ),
    "SELECT COUNT(*) AS n FROM visits JOIN stays ON who = payer WHERE visits.n < 3": (
        sources._Reader,
        "_join_condition",
        _strangers,
    ),
}


@pytest.mark.parametrize("question", PLANTED)
@pytest.mark.parametrize("relation", Relation)
def test_what_is_forgotten_is_noticed(question, relation):
    """By the moves alone: a count of the rows would tell at once."""
    tables = {
        name: each if each.kind == "public" else replace(each, neighbours=relation)
        for name, each in FIXED.items()
    }
    query, cases = parse(question, tables), []
    for rows in ([], [(0, 1), (0, 1)]):
        instead = {name: [rows] for name in EVERYBODY}
        cases.append((tables, query, PUBLIC, EVERYBODY, instead, ""))
        check_case(cases[-1])
    place, name, forgotten = PLANTED[question]
    with patch.object(place, name, forgotten), pytest.raises(AssertionError):
        _check_all(cases)


@pytest.mark.parametrize("relation", Relation)
def test_a_part_of_a_key_is_refused_and_noticed(relation):
    tables = {
        name: each if each.kind == "public" else replace(each, neighbours=relation)
        for name, each in FIXED.items()
    }
    question = "SELECT SUM(pairs.n) AS s FROM visits JOIN pairs ON visits.c = pairs.c"
    query, instead = parse(question, tables), {name: [[]] for name in EVERYBODY}
    case = (tables, query, PUBLIC, EVERYBODY, instead, "")
    with pytest.raises(UnsafeQuery, match="not its declared key"):
        check_moved(case)
    forgotten = patch.object(sources._Reader, "_match", _half_a_key)
    with forgotten, pytest.raises(AssertionError):
        check_moved(case)


FIRSTS = (
    "SELECT SUM(r * n) AS s FROM (SELECT n, ROW_NUMBER() OVER (PARTITION BY who) AS r FROM visits)",
    "SELECT SUM(b * n) AS s FROM (SELECT n, LAG(n) OVER (PARTITION BY who ORDER BY 0 * n) AS b "
    "FROM visits)",
    "SELECT c, COUNT(*) AS n FROM (SELECT DISTINCT ON (who) c FROM visits ORDER BY 0 * n) "
    "GROUP BY c",
    "SELECT SUM(b) AS s FROM (SELECT n, SUM(n) OVER (PARTITION BY who ORDER BY 0 * n ROWS "
    "UNBOUNDED PRECEDING) AS b FROM visits)",
)
"""Questions whose order leaves open which of a unit's rows is first."""


def _exact_in_every_order(question):
    """What each order of the rows in the table gives."""
    tables = {"visits": replace(TWO, rows_per_unit=3)}
    made, found = planned(parse(question, tables), tables), []
    rows = [(unit, *row) for row in ((0, 0), (3, 1), (1, 2)) for unit in range(3)]
    for shuffled in (rows, [*rows[3:], *rows[:3]], [*rows[6:], *rows[:6]]):
        bench = Bench(tables)
        try:
            bench.load({"visits": shuffled})
            found.append(bench.exact(made))
        finally:
            bench.close()
    return found


@pytest.mark.parametrize("question", FIRSTS)
def test_the_order_of_rows_in_a_table_is_not_seen(question):
    first, *others = _exact_in_every_order(question)
    assert others == [first, first]


@pytest.mark.parametrize("question", FIRSTS[1:])
def test_an_order_left_to_the_engine_is_noticed(question):
    with patch.object(sources, "_hash_order", lambda *_: []):
        first, *others = _exact_in_every_order(question)
    assert others != [first, first]


def _check_all(cases):
    for case in cases:
        check_moved(case)
