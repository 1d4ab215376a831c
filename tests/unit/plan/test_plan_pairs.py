"""Statistics of two numbers: exact values, shared sums, limits, and inputs that have no answer."""

import itertools
import math
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from discreet.errors import UnsafeQuery
from discreet.loss import ZCDP, Pure, Relation
from discreet.plan.parts.intervals import Estimate, quotient
from discreet.plan.parts.pairs import (
    PAIRED,
    LatticeRange,
    error_of_pair,
    estimate_pair,
    influence_of_pair,
    read_together,
)
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.evaluate import estimates
from discreet.plan.results.explain import error_of, warnings_of
from discreet.plan.results.released import Released
from discreet.plan.sql.bounds import Bounded
from discreet.query.algebra import Aggregate, Field, Output, Query, Scan, Statistic
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.plan_cases import exact_of
from support.plan_reference import aggregate

X = Column("x", "number", step=Fraction(1, 4), lower=-6, upper=31)
Y = Column("y", "number", step=Fraction(2, 5), lower=100, upper=141)
WHOLE = Column("z", "integer", lower=0, upper=9, null=3)
TABLE = Table("t", columns=(X, Y, WHOLE, Column("g", "integer", lower=0, upper=99)))
NAMES = {
    "COVAR_POP": Statistic.COVARIANCE_POPULATION,
    "COVAR_SAMP": Statistic.COVARIANCE_SAMPLE,
    "CORR": Statistic.CORRELATION,
    "REGR_SLOPE": Statistic.SLOPE,
    "REGR_INTERCEPT": Statistic.INTERCEPT,
}
EVERY = ", ".join(f"{name}(y, x) AS {name.lower()}" for name in NAMES)
ROWS = [(0, 100, 1), (5, 141, 2), (31, 120, 3), (-6, 103, 4), (None, 141, 5), (7, None, 6)]
ODD = {
    "no row": [],
    "one row": [(3, 110, 1)],
    "all x the same": [(3, 110, 1), (3, 120, 1), (3, 141, 1)],
    "all y the same": [(3, 110, 1), (4, 110, 1), (31, 110, 1)],
    "all the same": [(3, 110, 1)] * 5,
    "x never known": [(None, 110, 1), (None, 120, 1)],
    "neither ever known": [(None, None, 1)] * 3,
    "never both known": [(None, 110, 1), (3, None, 1)],
}


def planned(text, table=TABLE, price=None, dialect="duckdb"):
    query = parse(text, {"t": table})
    price = price or Pure(epsilon=1)
    return plan(Draft(query=query, table=table, price=price, question=text, dialect=dialect))


def exact(made, rows):
    """The exact measures of lattice values (x, y, z); every row is its own group g."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE prepared (x BIGINT, y BIGINT, z BIGINT, g BIGINT)")
        lines = [f"({x}, {y}, {z}, {g})" for g, (x, y, z) in enumerate(rows)]
        if lines:
            values = ", ".join(lines).replace("None", "NULL")
            connection.execute(f"INSERT INTO prepared VALUES {values}")
        return exact_of(made, connection.execute(made.sql).fetchall())


def found(made, rows, moved=None):
    """The estimates when the noise happens to be `moved`."""
    noisy = exact(made, rows)
    if moved is not None:
        noisy = [column + each for column, each in zip(noisy, moved, strict=True)]
    return estimates(Released(made, made.groups, tuple(noisy)))


def decoded(rows):
    steps = (X.step, Y.step, WHOLE.step)
    return [
        {
            name: None if code is None else code * step
            for name, code, step in zip("xyz", row, steps, strict=True)
        }
        for row in rows
    ]


def native(outputs, rows):
    """What DuckDB itself says about the same values."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (x DOUBLE, y DOUBLE, z DOUBLE)")
        for row in decoded(rows):
            numbers = [None if value is None else float(value) for value in row.values()]
            connection.execute("INSERT INTO t VALUES (?, ?, ?)", numbers)
        return connection.execute(f"SELECT {outputs} FROM t").fetchone()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arguments", ["y, x", "x, y", "z, x", "y, z", "x * 2 - z, y / -3"])
def test_values_are_those_of_the_textbook_and_of_the_engine(name, arguments):
    made = planned(f"SELECT {name}({arguments}) AS o FROM t")
    value = found(made, ROWS)["o"].value[0]
    truth = aggregate(made.query.outputs[0].expression, decoded(ROWS))
    assert math.isclose(value, truth, rel_tol=1e-12)
    assert math.isclose(value, native(f"{name}({arguments})", ROWS)[0], rel_tol=1e-9)


@pytest.mark.parametrize(
    ("output", "truth"),
    [
        ("CORR(x, x)", 1.0),
        ("CORR(x, x / 2)", 1.0),
        ("CORR(x, -x)", -1.0),
        ("REGR_SLOPE(x, x / 2)", 2.0),
        ("REGR_SLOPE(x / 2, x)", 0.5),
        ("REGR_SLOPE(3 - x, x)", -1.0),
        ("REGR_INTERCEPT(3 - x, x)", 3.0),
    ],
)
def test_one_number_by_itself(output, truth):
    assert math.isclose(
        found(planned(f"SELECT {output} AS o FROM t"), ROWS)["o"].value[0], truth, rel_tol=1e-12
    )


def test_all_statistics_of_one_pair_share_six_sums():
    made = planned(f"SELECT {EVERY}, REGR_SLOPE(x, y) AS back, CORR(x, y) AS same FROM t")
    assert len(made.measures) == 6
    covariance = planned("SELECT COVAR_POP(y, x) AS o, COVAR_SAMP(x, y) AS p FROM t")
    assert len(covariance.measures) == 4
    assert len(planned("SELECT CORR(x, x) AS o FROM t").measures) == 3


@pytest.mark.parametrize("pair", ["x + 1, FLOOR(x)", "FLOOR(x), x + 1", "FLOOR(y), x * z"])
def test_every_engine_computes_the_same_columns_of_a_pair(pair):
    text = f"SELECT COVAR_SAMP({pair}) AS o FROM t"
    made = [planned(text, dialect=dialect) for dialect in ("duckdb", "postgresql", "spark")]
    assert len({len(each.engine_columns) for each in made}) == 1
    assert len({tuple(f for f, _ in m.terms) for each in made for m in each.measures[-1:]}) == 1


def test_sums_serve_averages_and_variances_where_no_value_is_missing():
    columns = tuple(Column(name, "integer", lower=0, upper=9, null=0) for name in "xy")
    table = Table("t", columns=columns)
    outputs = "AVG(x) AS a, VAR_POP(y) AS v, COUNT(*) AS n, CORR(x, y) AS r"
    assert len(planned(f"SELECT {outputs} FROM t", table).measures) == 6


def test_only_rows_with_both_values_count():
    made = planned(f"SELECT {EVERY} FROM t")
    known = [row for row in ROWS if None not in row]
    both, all_rows = found(made, known), found(made, ROWS)
    for name in both:
        assert both[name].value[0] == all_rows[name].value[0]
    count = next(each for each in made.measures if each.name.startswith("count"))
    assert exact(made, ROWS)[made.measures.index(count)].tolist() == [4]


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("arguments", ["y, x", "x, z", "z * 2 - 9, x", "x, x / 2"])
def test_one_row_reaches_every_sensitivity_and_none_passes_it(arguments, relation):
    """All rows at the corners and in the middle, one to a group: what adding it moves."""
    table = Table("t", neighbours=relation, columns=TABLE.columns)
    outputs = f"CORR({arguments}) AS r"
    made = planned(f"SELECT g, {outputs} FROM t GROUP BY g", table)
    sides = [(None, -6, 12, 31), (None, 100, 120, 141), (0, 4, 9)]
    rows = list(itertools.product(*sides))
    assert len(rows) <= 100
    for measure, moves in zip(made.measures, exact(made, rows), strict=True):
        most = max(abs(int(move)) for move in moves)
        reached = measure.sensitivity.l1 / relation.steps
        assert most <= reached, measure
        if not measure.name.startswith("sum of products") or arguments != "x, x / 2":
            assert most == reached, measure


@pytest.mark.parametrize("rows", ODD.values(), ids=ODD)
@pytest.mark.parametrize("price", [Pure(epsilon=1), ZCDP(rho=100), Pure(epsilon=1000)])
def test_what_has_no_answer_still_gets_finite_numbers(rows, price):
    made = planned(f"SELECT {EVERY} FROM t", price=price)
    for moved in ([0] * 6, [-50] * 6, [50] * 6, [1, 0, 0, 0, -3000, -3000], [10**9] * 6):
        for name, column in found(made, rows, moved).items():
            ends = column.low[0], column.value[0], column.high[0]
            assert all(map(math.isfinite, ends)), (name, ends)
            assert ends[0] <= ends[1] <= ends[2], (name, ends)
            if name == "corr":
                assert ends[0] >= -1
                assert ends[2] <= 1


def test_no_noisy_row_gives_the_middle_and_everything_that_is_possible():
    made = planned(f"SELECT {EVERY} FROM t")
    columns = found(made, ROWS, [-10, 3, 3, 3, 3, 3])
    assert [columns["corr"].low[0], columns["corr"].value[0], columns["corr"].high[0]] == [-1, 0, 1]
    most = 37 / 4 / 2 * 41 * 2 / 5 / 2
    pop, sample = columns["covar_pop"], columns["covar_samp"]
    assert [pop.low[0], pop.value[0], pop.high[0]] == pytest.approx([-most, 0, most])
    assert [sample.low[0], sample.value[0], sample.high[0]] == pytest.approx(
        [-2 * most, 0, 2 * most]
    )
    assert columns["regr_slope"].value[0] == 0
    assert -columns["regr_slope"].low[0] == columns["regr_slope"].high[0]
    assert columns["regr_intercept"].value[0] == pytest.approx((100 + 141) / 2 * 2 / 5)


def test_two_values_one_step_apart_bound_the_steepest_line():
    """The steepest line that lattice values allow is inside an interval that knows nothing."""
    made = planned("SELECT REGR_SLOPE(y, x) AS o FROM t")
    rows = [(3, 100, 1), (4, 141, 1)]
    column = found(made, rows)["o"]
    truth = float(41 * Y.step / X.step)
    assert column.low[0] <= -truth
    assert column.high[0] >= truth
    assert column.value[0] == pytest.approx(truth)


def test_errors_are_told_for_a_supposed_count_or_not_at_all():
    made = planned(f"SELECT {EVERY} FROM t")
    assert set(error_of(made).values()) == {None}
    told = error_of(made, 10**6)
    assert 0 < told["covar_pop"] <= told["covar_samp"] < error_of(made, 10**3)["covar_samp"]
    assert [told[name] for name in ("corr", "regr_slope", "regr_intercept")] == [None] * 3
    # With one row nothing is known: the error is the distance between the extremes.
    assert error_of(made, 1)["covar_pop"] == pytest.approx(37 / 4 * 41 * 2 / 5 / 2)
    said = "\n".join(warnings_of(made))
    assert "assume one with count=" in said
    assert "how much the values vary" in said
    assert "assume one with count=" not in "\n".join(warnings_of(made, 10))
    lines = planned("SELECT CORR(y, x) AS r FROM t")
    assert "assume one with count=" not in "\n".join(warnings_of(lines))


SPREAD = [(k, 100 + (k + 6) * 41 // 38 + k % 3, 0) for k in range(-6, 32)]
LIMITS = {
    "many rows": (SPREAD * 20, Pure(epsilon=20)),
    "few rows": (SPREAD[::9], Pure(epsilon=60)),
    "almost all x the same": (
        [*((3, 100 + k % 42, 0) for k in range(60)), (4, 141, 0)],
        ZCDP(rho=200),
    ),
    "no noise": (SPREAD, Pure(epsilon=10**9)),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("data", LIMITS)
def test_noise_inside_its_limits_never_leaves_the_interval(name, data):
    """Every sum as far off as its limit says, either way: the truth is in all intervals."""
    rows, price = LIMITS[data]
    made = planned(f"SELECT {name}(y, x) AS o FROM t", price=price)
    level = 1 - Fraction(5, 100) / len(made.measures)
    limits = [int(noise.error(level)) for noise in made.noises]
    signs = np.array(list(itertools.product((-1, 0, 1), repeat=len(limits)))).T
    exactly = [column[0] for column in exact(made, rows)]
    noisy = tuple(
        sign * limit + value for sign, limit, value in zip(signs, limits, exactly, strict=True)
    )
    column = estimates(Released(made, ((),) * signs.shape[1], noisy))["o"]
    truth = float(aggregate(made.query.outputs[0].expression, decoded(rows)))
    assert bool(np.all((column.low <= truth) & (truth <= column.high)))
    off = np.max(np.abs(column.value - truth) / (column.high - column.low))
    assert data == "no noise" or off > 0.25  # an interval of half the length would not do


@pytest.mark.parametrize("statistic", PAIRED)
def test_influences_bound_what_a_small_error_does(statistic):
    """By differences, on values spread over their bounds, up to the factor that all share."""
    y, x = LatticeRange(Fraction(1), 120, 100, 141), LatticeRange(Fraction(1), 12, -6, 31)
    points = [(b - y.centre, a - x.centre) for a, b, _ in SPREAD]
    totals = {
        "n": len(points),
        "y": sum(b for b, _ in points),
        "x": sum(a for _, a in points),
        "xy": sum(a * b for b, a in points),
        "xx": sum(a * a for _, a in points),
        "yy": sum(b * b for b, _ in points),
    }

    def value(sums):
        ends = [np.array([float(sums[name])]) for name in PAIRED[statistic]]
        return estimate_pair(statistic, [Estimate(end, end, end) for end in ends], y, x).value[0]

    small = 1e-4
    slopes = [
        abs(value({**totals, name: totals[name] + small}) - value(totals)) / small
        for name in PAIRED[statistic]
    ]
    influence = influence_of_pair(statistic, y, x)
    factor = slopes[3] / influence[3]  # that of the products
    # Half a range of uniform values is 1.7 of their standard deviations, and its cube 5.2.
    for slope, believed in zip(slopes, influence, strict=True):
        assert slope <= 5.2 * factor * believed + 1e-9


@pytest.mark.parametrize("kind", [Pure(epsilon=1), ZCDP(rho=1)])
def test_the_price_is_split_among_all_sums(kind):
    made = planned(f"SELECT {EVERY} FROM t", price=kind)
    assert len(made.prices) == 6
    costs = [each.epsilon if isinstance(each, Pure) else each.rho for each in made.prices]
    assert min(costs) > Fraction(1, 100)


@pytest.mark.parametrize("dialect", ["postgresql", "spark"])
def test_other_dialects_say_the_same(dialect):
    made, other = (planned(f"SELECT {EVERY} FROM t", dialect=name) for name in ("duckdb", dialect))
    assert other.sql != made.sql
    assert [each.sensitivity for each in other.measures] == [e.sensitivity for e in made.measures]


def test_the_statement_is_one_pass_over_the_rows():
    assert planned("SELECT COVAR_POP(z, x) AS o FROM t").sql == (
        'SELECT COUNT("x") AS "$s0", SUM(CASE WHEN "x" IS NOT NULL THEN "z" END) AS "$s1", '
        'COUNT(CASE WHEN "x" IS NOT NULL THEN "z" END) AS "$s2", SUM("x") AS "$s3", '
        'SUM((CAST("x" AS BIGINT) * CAST("z" AS BIGINT))) AS "$s4" FROM "prepared"'
    )


@pytest.mark.parametrize("arguments", [("f", "x"), ("x", "f")])
def test_both_must_be_numbers(arguments):
    table = Table("t", columns=(X, Column("f", "boolean")))
    made = Aggregate(Statistic.CORRELATION, *map(Field, arguments))
    query = Query(Scan("t"), None, (), (Output("o", made),), ("o",))
    with pytest.raises(UnsafeQuery, match="corr needs a number, not a boolean"):
        plan(Draft(query=query, table=table, price=Pure(epsilon=1)))


def test_the_error_of_a_covariance_takes_each_width_in_its_place():
    """Ten rows; sums off by 0.5, 0.25, 0.125 and 0.1: all errors point the same way."""
    y, x = LatticeRange(Fraction(1), 0, -2, 2), LatticeRange(Fraction(1), 0, -3, 3)
    widths, rows = [0.5, 0.25, 0.125, 0.1], 10 - 0.5
    mean_y, mean_x = (0.25 + 2 * 0.5) / rows, (0.125 + 3 * 0.5) / rows
    product = (0.1 + 6 * 0.5) / rows
    told = error_of_pair(Statistic.COVARIANCE_POPULATION, widths, y, x, count=10)
    assert told == pytest.approx(product + 2 * mean_x + 3 * mean_y + mean_y * mean_x, rel=1e-12)


def test_a_denominator_that_may_be_zero_leaves_everything_open():
    one = Estimate(*(np.array([end] * 3) for end in (1.0, 0.5, 2.0)))
    ends = ([1.0, -1.0, 2.0], [0.0, -2.0, 1.0], [2.0, 0.0, 4.0])
    ratio = quotient(one, Estimate(*map(np.array, ends)))
    assert ratio.low.tolist() == [-np.inf, -np.inf, 0.125]
    assert ratio.high.tolist() == [np.inf, np.inf, 2.0]


def test_the_error_of_a_sample_covariance_adds_how_far_its_factor_may_be_off():
    """n/(n - 1) lies between its values at 10.5 and at 9.5 rows."""
    y, x = LatticeRange(Fraction(1), 0, -2, 2), LatticeRange(Fraction(1), 0, -3, 3)
    widths = [0.5, 0.25, 0.125, 0.1]
    whole = error_of_pair(Statistic.COVARIANCE_POPULATION, widths, y, x, count=10)
    told = error_of_pair(Statistic.COVARIANCE_SAMPLE, widths, y, x, count=10)
    assert told == pytest.approx(9.5 / 8.5 * whole + (9.5 / 8.5 - 10.5 / 9.5) * 6, rel=1e-12)


def test_no_error_of_a_covariance_exceeds_what_its_bounds_allow():
    """Sums that may be off by anything: between -6 and 6, times 10/9 or 2 for a sample."""
    y, x = LatticeRange(Fraction(1), 0, -2, 2), LatticeRange(Fraction(1), 0, -3, 3)
    widths = [1000.0] * 4
    assert error_of_pair(Statistic.COVARIANCE_POPULATION, widths, y, x, count=10) == 12
    assert error_of_pair(Statistic.COVARIANCE_SAMPLE, widths, y, x, count=10) == 24


def test_the_rows_of_a_pair_are_counted_by_the_number_that_kept_its_sql():
    never, possible, other = (
        Bounded(sql, "integer", Fraction(1), 0, 9, (), missing)
        for sql, missing in (("a", "never"), ("b", "possible"), ("c", "possible"))
    )
    assert [each.sql for each in read_together(possible, never)][2] == "b"
    assert [each.sql for each in read_together(never, possible)][2] == "b"
    left, right, counted = read_together(possible, other)
    assert left.sql == "CASE WHEN c IS NOT NULL THEN b END"
    assert right.sql == "CASE WHEN b IS NOT NULL THEN c END"
    assert counted == left


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("arguments", ["y, x", "x, z", "z * 2 - 9, x"])
def test_one_row_that_changes_moves_no_sum_by_more_than_its_sensitivity(arguments, relation):
    """Without groups: a row is added, or becomes any other one, with values or without."""
    table = Table("t", neighbours=relation, columns=TABLE.columns)
    grouped = planned(f"SELECT g, CORR({arguments}) AS r FROM t GROUP BY g", table)
    whole = planned(f"SELECT CORR({arguments}) AS r FROM t", table)
    sides = [(None, -6, 12, 13, 31), (None, 100, 120, 121, 141), (0, 4, 5, 9)]
    moves = exact(grouped, list(itertools.product(*sides)))
    assert len(whole.measures) == len(moves) == 6
    for measure, column in zip(whole.measures, moves, strict=True):
        ends = [0, *map(int, column[:100])]
        if relation is Relation.REPLACE:
            most = max(ends[1:]) - min(ends[1:])
        else:
            most = max(map(abs, ends))
        assert measure.sensitivity.l1 == most, measure
