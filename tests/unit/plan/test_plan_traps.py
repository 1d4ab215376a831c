"""Questions that once failed, or could fail, on one row or after the charge."""

import math
from dataclasses import replace
from datetime import date
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from discreet.curator.answer import Answer, Receipt
from discreet.curator.results.block_result import BlockResult
from discreet.errors import SchemaError, UnprovableRequest, UnsafeQuery
from discreet.loss import ZCDP, Pure, Relation
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.evaluate import estimates
from discreet.plan.results.released import Released
from discreet.plan.sql import calendar
from discreet.plan.sql.expressions import bounded
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.query.algebra import Arithmetic, Bucket, Field, Floor, Literal
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.plan_cases import exact_of

BIG = 2**53
X = Column("x", "integer", lower=-BIG, upper=BIG)
ROWS = Table("t", columns=(X, Column("y", "number", step=Fraction(1, 2), lower=0, upper=20)))
RECEIPT = Receipt("1", "2026-01-01", "a", "SELECT", "t", "t", "row", "add-remove", "v", 1, {}, ())


def planned(text, table=ROWS, epsilon=1):
    query = parse(text, {table.name: table})
    return plan(Draft(query=query, table=table, price=Pure(epsilon=epsilon), question=text))


def run(made, columns, values):
    """The emitted SQL on prepared rows."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE prepared ({columns})")
        connection.execute(f"INSERT INTO prepared VALUES {values}")
        return connection.execute(made.sql).fetchall()


def answered(text, noisy, table=ROWS):
    made = planned(text, table)
    arrays = tuple(np.array(column, dtype=np.int64) for column in noisy)
    return Answer(BlockResult(Released(made, made.groups, arrays)), RECEIPT, free=False)


@pytest.mark.parametrize("names", [("place", "k0"), ("PLACE", "K0"), ("s0", "limited")])
def test_no_column_can_stand_in_for_the_limit_on_groups(names):
    columns = tuple(Column(name, "integer", lower=0, upper=3) for name in names)
    table = Table("t", unit="who", rows_per_unit=4, columns=columns)
    made = planned(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=1) "
        f"{names[1]}, COUNT(*) AS n FROM t GROUP BY {names[1]}",
        table,
    )
    rows = run(
        made,
        f'"$unit" BIGINT, "{names[0]}" TINYINT, "{names[1]}" TINYINT',
        "(1, 0, 0), (1, 0, 1), (1, 0, 2), (1, 0, 3)",
    )
    assert [count for _, count in rows] == [1]
    assert made.measures[0].sensitivity.groups == 1


@pytest.mark.parametrize(
    "expression",
    [
        "x * 1000 * 1000 * 0",
        "x * 1024 + 1180591620717411303424 - 1180591620717411303424",
        "FLOOR(x * 511 / 4381620000000000000)",
        "FLOOR(-x * 511 / 4381620000000000000)",
        "FLOOR(x * 1000000 / 7) * 3",
        "WIDTH_BUCKET(x * 100000, -5, 5, 3)",
        "CASE WHEN x * 1000000 > 0 THEN x * 1000000 ELSE 0 END",
        "x / -0.0000001",
        "0 - x",
    ],
)
def test_no_row_can_make_an_operation_overflow(expression):
    made = planned(
        f"SELECT SUM({expression}) AS s, COUNT(CASE WHEN {expression} > 1 THEN 1 END) FROM t"
    )
    values = f"({BIG}, 0), ({-BIG}, 0), (0, 0), (NULL, 0), ({BIG - 1}, 0)"
    rows = run(made, '"x" BIGINT, "y" TINYINT', values)
    assert all(isinstance(value, int) for value in rows[0])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(x * x) FROM t",
        "SELECT VAR_POP(x) FROM t",
        "SELECT SUM(FLOOR(x / 100000000000000000000 / 100000000000000000000)) FROM t",
        "SELECT SUM(x / 1e-40 / 1e-40 / 1e-40) FROM t",
        "SELECT SUM(x / 1e20 / 1e20 / 1e20 / 1e20 / 1e20 / 1e20) FROM t",
        "SELECT x, COUNT(*) FROM t GROUP BY x",
    ],
)
def test_what_cannot_be_held_is_refused_before_the_charge(text):
    with pytest.raises(UnsafeQuery, match="Nothing was"):
        planned(text)


def test_nesting_cannot_blow_up_the_statement():
    expression = Field("y")
    for _ in range(64):
        expression = Bucket(expression, Fraction(0), Fraction(7), 5)
    with pytest.raises(UnsafeQuery, match="characters of SQL"):
        bounded(expression, {column.name: column for column in ROWS.columns})


def test_division_needs_a_divisor_that_is_there():
    nothing = Arithmetic("+", Literal(None), Literal(Fraction(2)))
    with pytest.raises(UnsafeQuery, match="non-zero constant"):
        bounded(Arithmetic("/", Literal(Fraction(1)), nothing), {})
    with pytest.raises(UnsafeQuery, match="non-zero constant"):
        bounded(Arithmetic("/", Literal(Fraction(1)), Literal(Fraction(0))), {})


@pytest.mark.parametrize("value", [Fraction(-7, 2), Fraction(-1, 3), Fraction(7, 2), Fraction(-3)])
def test_floor_of_constants(value):
    made = bounded(Floor(Literal(value)), {})
    assert duckdb.sql(f"SELECT {made.sql}").fetchall() == [(math.floor(value),)]
    assert made.lower == made.upper == math.floor(value)


@pytest.mark.parametrize("unit", calendar.UNITS)
def test_the_last_and_the_first_year_have_keys(unit):
    for low, high in ((date(9998, 1, 1), date.max), (date.min, date(2, 12, 31))):
        found = calendar.starts(unit, calendar.day_number(low), calendar.day_number(high))
        assert found[-1] <= calendar.day_number(high)
        assert found == sorted(set(found))
        assert found[0] == calendar.truncate(unit, calendar.day_number(low))


def test_too_many_days_are_counted_not_listed():
    long = Column(
        "d", "date", lower=calendar.day_number(date.min), upper=calendar.day_number(date.max)
    )
    with pytest.raises(UnsafeQuery, match="3,652,059 public keys"):
        planned(
            "SELECT DATE_TRUNC('day', d), COUNT(*) FROM t GROUP BY 1", Table("t", columns=(long,))
        )


def test_a_category_of_one_key_can_still_be_missing():
    one = Table("t", columns=(Column("c", "category", upper=0, keys=("x",)), X))
    made = planned("SELECT COUNT(CASE WHEN x > 5 THEN 'new' ELSE c END) AS n FROM t", one)
    assert run(made, '"c" TINYINT, "x" BIGINT', "(0, 1), (NULL, 1), (NULL, 9)") == [(2,)]


KEYED = Table(
    "t",
    columns=(
        Column("age", "integer", lower=0, upper=3),
        Column("v", "number", lower=0, upper=10),
        Column("ok", "boolean"),
    ),
)


def test_having_and_order_may_compute_with_keys():
    answer = answered(
        "SELECT age, COUNT(*) AS n FROM t GROUP BY age HAVING n + age > 3 ORDER BY 0 - age * n",
        [[5, 0, 2, 1]],
        KEYED,
    )
    assert [row["age"] for row in answer] == [2, 3, 0]


def test_order_is_stable_in_both_directions_and_limit_comes_last():
    noisy = [[7, 9, 7, 9]]
    for direction, ages in (("", [0, 2, 1]), ("DESC", [1, 3, 0])):
        text = f"SELECT age, COUNT(*) AS n FROM t GROUP BY age ORDER BY n {direction} LIMIT 3"
        assert [row["age"] for row in answered(text, noisy, KEYED)] == ages


def test_having_knows_booleans_and_members():
    text = "SELECT ok, COUNT(*) AS n FROM t GROUP BY ok HAVING {}"
    for condition, kept in (
        ("ok", [True]),
        ("NOT ok", [False]),
        ("n IN (4, 5)", [False]),
        ("NOT (n > 3 AND n < 5)", [True]),
        ("n > 100", []),
    ):
        rows = answered(text.format(condition), [[4, 9]], KEYED).to_dicts()
        assert [row["ok"] for row in rows] == kept


def test_conditions_are_values_in_having_and_order():
    """They once were refused after the charge, and the stored release could not be read again."""
    text = "SELECT ok, COUNT(*) AS n FROM t GROUP BY ok {}"
    for clause, kept in (
        ("ORDER BY n > 5", [False, True]),
        ("ORDER BY n > 5 DESC", [True, False]),
        ("ORDER BY NOT ok", [True, False]),
        ("ORDER BY n IN (4, 5)", [True, False]),
        ("ORDER BY ok OR n > 100 DESC", [True, False]),
        ("HAVING (n > 5) = TRUE", [True]),
        ("HAVING ok = (n < 5)", []),
        ("HAVING (n > 5) IN (FALSE)", [False]),
        ("HAVING ok <> (n > 5 AND n < 7)", [True]),
    ):
        rows = answered(text.format(clause), [[4, 9]], KEYED).to_dicts()
        assert [row["ok"] for row in rows] == kept, clause


@pytest.mark.parametrize(
    "output",
    [
        "SUM(v) / SUM(v) * 0",
        "(SUM(v) / COUNT(*)) / (COUNT(*) / SUM(v))",
        "SUM(v) / COUNT(*) - SUM(v) / COUNT(*)",
        "SUM(v)" + " * 1e40" * 12 + " - SUM(v)" + " * 1e40" * 12,
        "0 / SUM(v)",
        "AVG(v) / COUNT(*) * STDDEV(v)",
    ],
)
@pytest.mark.parametrize("value", [0, 1, -1, 10**15])
def test_results_are_finite_and_inside_their_intervals(output, value):
    made = planned(f"SELECT {output} AS o FROM t", KEYED)
    found = estimates(Released(made, made.groups, (np.array([value]),) * len(made.measures)))["o"]
    assert np.isfinite(found.value).all()
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()


@pytest.mark.parametrize("count", [0, -1, -50])
def test_no_noisy_rows_give_the_middle_and_all_of_the_bounds(count):
    made = planned(
        "SELECT AVG(v) AS a, VAR_POP(v) AS p, VAR_SAMP(v) AS s, STDDEV_POP(v) AS d, "
        "STDDEV(v) AS e FROM t",
        KEYED,
    )
    noisy = tuple(
        np.array([count if "count" in measure.name else 10**6]) for measure in made.measures
    )
    found = estimates(Released(made, made.groups, noisy))
    for name, low, high in [
        ("a", 0, 10),
        ("p", 0, 25),
        ("s", 0, 50),
        ("d", 0, 5),
        ("e", 0, math.sqrt(50)),
    ]:
        each = found[name]
        assert (each.low[0], each.high[0]) == pytest.approx((low, high))
        assert each.value[0] == pytest.approx((low + high) / 2)


def test_sums_beyond_64_bits_are_exact():
    rows = ", ".join([f"({BIG}, 0)"] * 3000 + ["(1, 0)"])
    made = planned("SELECT SUM(x) AS s, SUM(x * 65536) AS w, COUNT(*) AS n FROM t")
    found = exact_of(made, run(made, '"x" BIGINT, "y" TINYINT', rows))
    assert [column.tolist() for column in found] == [
        [3000 * BIG + 1],
        [65536 * (3000 * BIG + 1)],
        [3001],
    ]
    assert 3000 * BIG > 2**63
    arrays = tuple(np.array(column, dtype=object) for column in found)
    answer = Answer(BlockResult(Released(made, made.groups, arrays)), RECEIPT, free=False)
    assert answer.to_dicts() == [{"s": 3000 * BIG + 1, "w": 65536 * (3000 * BIG + 1), "n": 3001}]
    assert answer.to_arrow()["s"].to_pylist() == [float(3000 * BIG + 1)]
    assert answer.to_polars()["n"].to_list() == [3001]
    assert answer.to_pandas()["s"].tolist() == [3000 * BIG + 1]


def test_wide_steps_do_not_wrap_around():
    wide = Column("x", "integer", step=Fraction(10**18), lower=0, upper=100)
    fine = Column("y", "number", step=Fraction(1, 10**18), lower=0, upper=100)
    answer = answered(
        "SELECT SUM(x) AS s, SUM(y) AS f FROM t", [[5000], [3]], Table("t", columns=(wide, fine))
    )
    assert answer.to_dicts() == [{"s": 5000 * 10**18, "f": 3e-18}]


def test_absent_groups_are_zero_and_undeclared_ones_dropped():
    made = planned("SELECT age, ok, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY age, ok", KEYED)
    exact = exact_of(
        made, [(3, 1, 5, 50), (None, 1, 7, 7), (2, None, 7, 7), (0, 0, 1, None), (9, 0, 7, 7)]
    )
    assert exact[0].tolist() == [1, 0, 0, 0, 0, 0, 0, 5]
    assert exact[1].tolist() == [0, 0, 0, 0, 0, 0, 0, 50]


def test_a_measure_nobody_can_move_still_gets_noise():
    fixed = Table("t", columns=(Column("z", "integer", lower=0, upper=0),))
    made = planned("SELECT SUM(z) AS s FROM t", fixed)
    assert made.measures[0].sensitivity.l1 == 0
    assert made.noises[0].scale == 1
    assert made.cost == Pure(epsilon=1)


UNITS = {
    "DOUBLE": ["0.0", "'-0.0'", "'nan'", "-'nan'::DOUBLE", "'inf'"],
    "VARCHAR": ["''", "'a'", "'a '", "chr(31)"],
    "UHUGEINT": ["340282366920938463463374607431768211455", "0"],
}


@pytest.mark.parametrize("kind", UNITS)
def test_units_are_bounded_as_the_engine_groups_them(kind):
    table = Table("t", unit="who", rows_per_unit=2, columns=(Column("x", "integer", upper=9),))
    rows = ", ".join(f"(CAST({unit} AS {kind}), {n})" for unit in UNITS[kind] for n in range(4))
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE source (who {kind}, x BIGINT)")
        connection.execute(f"INSERT INTO source VALUES {rows}, (NULL, 5), (NULL, 6), (NULL, 7)")
        lattice = lattice_rows(table, "source", {"who": kind, "x": "BIGINT"})
        counts = connection.execute(f'SELECT count(*) FROM ({lattice}) GROUP BY "$unit"').fetchall()
        groups = connection.execute("SELECT who FROM source GROUP BY who HAVING who NOTNULL")
        assert counts == [(2,)] * len(groups.fetchall())


@pytest.mark.parametrize("kind", ["INTEGER[]", "STRUCT(a INTEGER)", "INTERVAL", "TIMETZ", "JSON"])
def test_units_whose_equality_is_not_that_of_their_text_are_refused(kind):
    table = Table("t", unit="who", rows_per_unit=2, columns=(Column("x", "integer", upper=9),))
    with pytest.raises(SchemaError, match=r"t.who: a unit of the type .* is refused"):
        lattice_rows(table, "source", {"who": kind, "x": "BIGINT"})


def test_replacing_a_person_doubles_what_adding_one_does():
    text = "SELECT age, COUNT(*) AS n FROM t GROUP BY age"
    one = planned(text, KEYED).measures[0].sensitivity
    other = planned(text, replace(KEYED, neighbours=Relation.REPLACE)).measures[0].sensitivity
    assert (one.l1, other.l1) == (1, 2)
    assert (one.l2_squared, other.l2_squared) == (1, 2)


def test_a_pure_price_never_pays_for_gaussian_noise():
    """The loss of the Gaussian was left out of the sum."""
    text = "SELECT COUNT(*) AS n, SUM(x) AS s FROM t"
    prices = (Pure(epsilon=1e-9), ZCDP(rho=100))
    with pytest.raises(UnprovableRequest, match="pure budget"):
        plan(Draft(query=parse(text, {"t": ROWS}), table=ROWS, price=prices, question=text))
