"""Estimated bounds: the buckets, the question that counts them, what it costs, what is said."""

import itertools
import json
from fractions import Fraction

import duckdb
import pytest

from discreet.curator.bounds import FAILURE, Bounds, Buckets, failure_probability
from discreet.curator.curator import Curator
from discreet.errors import BudgetExceeded, InvalidValue, UnprovableRequest, UnsafeQuery
from discreet.loss import Pure, Relation
from discreet.mechanisms import DiscreteLaplace
from discreet.plan.pipeline import Draft, plan
from discreet.query.parse import parse
from discreet.schema.column import LARGEST, Column
from discreet.schema.table import Table
from support.plan_cases import exact_of
from support.vaults import copied_curator, people, write_schema, write_source

TINY = Fraction(1, 10**15)


def buckets(lower, upper, *, step=Fraction(1), name="x", **table):
    column = Column(name, "number", step=step, lower=lower, upper=upper)
    return Buckets(Table("t", columns=(column,), **table), column)


def planned(of):
    query = parse(of.question, {of.table.name: of.table})
    return plan(Draft(query=query, table=of.table, price=Pure(epsilon=1), question=of.question))


def magnitude(k):
    """The bucket of an integer by its definition: its sign and the power of two it is up to."""
    return (k > 0) - (k < 0), 0 if k == 0 else (abs(k) - 1).bit_length()


def test_buckets_are_the_signed_powers_of_two_cut_at_the_bounds():
    for lower, upper in itertools.combinations_with_replacement(range(-20, 21), 2):
        ranges = buckets(lower, upper).ranges
        listed = [k for first, last in ranges for k in range(first, last + 1)]
        assert listed == list(range(lower, upper + 1))
        found = [{magnitude(k) for k in range(first, last + 1)} for first, last in ranges]
        assert all(len(each) == 1 for each in found)
        assert len({next(iter(each)) for each in found}) == len(found)


@pytest.mark.parametrize("name", ["x", "select", "Bucket", "rows"])
@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 100), Fraction(2, 3), Fraction(7)])
def test_the_engine_counts_every_bucket(step, name):
    of = buckets(-37, 2000, step=step, name=name)
    values = [-37, -37, -33, -32, -2, -1, 0, 0, 1, 2, 3, 4, 5, 8, 9, 1024, 1025, 2000, None, None]
    made = planned(of)
    with duckdb.connect() as connection:
        connection.execute(f'CREATE TABLE prepared ("{name}" SMALLINT)')
        connection.executemany("INSERT INTO prepared VALUES (?)", [[value] for value in values])
        (exact,) = exact_of(made, connection.execute(made.sql).fetchall())
    present = [value for value in values if value is not None]
    assert list(exact) == [sum(a <= k <= b for k in present) for a, b in of.ranges]
    assert sum(exact) == len(present)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("relation", list(Relation))
def test_the_sensitivity_is_what_brute_force_over_placements_finds(relation, rows):
    unit = {} if rows == 1 else {"unit": "who", "rows_per_unit": rows}
    of = buckets(-2, 2, neighbours=relation, **unit)
    sensitivity = planned(of).measures[0].sensitivity

    def histograms():
        for count in range(rows + 1):
            for placed in itertools.combinations_with_replacement(range(-2, 3), count):
                yield [sum(a <= k <= b for k in placed) for a, b in of.ranges]

    made = list(histograms())
    absent = [made[0]] if relation is Relation.ADD_REMOVE else made
    moves = [
        [abs(a - b) for a, b in zip(one, other, strict=True)] for one in made for other in absent
    ]
    assert max(map(sum, moves)) == sensitivity.l1
    assert max(sum(step**2 for step in move) for move in moves) == sensitivity.l2_squared
    assert max(map(max, moves)) == sensitivity.linf


@pytest.mark.parametrize("step", [Fraction(10**18 - 1, 10**17), Fraction(1, 10**18 - 1)])
def test_the_widest_columns_make_a_question_that_can_be_asked(step):
    of = buckets(-LARGEST, LARGEST, step=step, name="n" * 63)
    assert len(of.ranges) == len(planned(of).groups) == 2 * 54 + 1


def estimate(noisy, *, upper=1000, scale=1, **changes):
    given = {"cost": {"epsilon": "1"}, "free": False, **changes}
    noise = DiscreteLaplace(scale=scale)
    return Bounds(buckets=buckets(0, upper), noisy=noisy, noise=noise, **given)


def test_the_outermost_buckets_above_the_threshold_give_the_bounds():
    found = estimate((0, 0, 0, 0, 100, -3, 0, 500, 22, 23, 3, 0))
    assert found.threshold == 22
    assert (found.lower, found.upper) == (5, 256)
    assert found.declaration == "lower = 5, upper = 256"
    assert found.share == pytest.approx(642 / 645)
    assert found.declared == ()


def test_a_count_at_the_threshold_is_not_enough():
    found = estimate((0,) * 11 + (22,))
    assert (found.lower, found.upper, found.share, found.declared) == (None, None, None, ())
    assert found.ends is found.declaration is None
    assert "none found; no bucket has more than 22 noisy rows" in repr(found)
    assert estimate((0,) * 11 + (23,)).upper == 1000


@pytest.mark.parametrize("noisy", [(-40, 30, 10), (-400, 30, 10), (-10, 90, -30)])
def test_the_share_is_a_share_whatever_the_noise(noisy):
    assert estimate(noisy, upper=2).share == 1.0


def test_the_ends_that_are_declared_ones_are_named():
    assert estimate((99, 0, 99), upper=2).declared == ("lower", "upper")
    assert estimate((99, 0, 0), upper=2).declared == ("lower",)


def test_another_failure_probability_reads_the_same_histogram():
    noisy = (0, 3, 20, 90, 18, 2, 0, 0, 0, 0, 0, 0)
    strict, loose = estimate(noisy), estimate(noisy).at(failure=Fraction(1, 1000))
    assert (strict.lower, strict.upper, strict.confidence) == (3, 4, 1 - 1e-9)
    assert (loose.lower, loose.upper, loose.confidence) == (2, 8, 0.999)
    assert loose.noisy == strict.noisy


@pytest.mark.parametrize("failure", [0, -1, 0.6, 1, "often", float("nan")])
def test_a_failure_probability_is_above_0_and_at_most_a_half(failure):
    with pytest.raises(InvalidValue):
        failure_probability(failure)
    assert failure_probability(Fraction(1, 2)) == Fraction(1, 2)


def test_a_single_value_may_fail_half_the_time():
    assert estimate((1,), upper=0).at(failure=0.5).upper == 0


def test_lattice_steps_are_exact_in_what_is_written():
    column = Column("x", "number", step=Fraction(1, 100), lower=-900, upper=5000)
    of = Buckets(Table("t", columns=(column,)), column)
    noisy = tuple(99 if first in (-8, 65) else 0 for first, _ in of.ranges)
    found = Bounds(buckets=of, noisy=noisy, noise=DiscreteLaplace(scale=1), cost={}, free=False)
    assert found.declaration == "lower = -0.08, upper = 1.28"
    assert (found.lower, found.upper) == (-0.08, 1.28)


@pytest.fixture
def curator(tmp_path):
    with copied_curator(tmp_path / "clinic", people(4000), budget="epsilon = 1000") as made:
        made.grant("ana", epsilon=100)
        yield made


def spent(session):
    return 100 - session.remaining.epsilon


def test_bounds_far_inside_very_wide_declared_ones(curator):
    session = curator.session("ana")
    found = session.bounds("visits", "big", epsilon=1).at(failure=TINY)
    # 0 to 3999: the buckets of 1,025 to 2,048 and 2,049 to 4,096 have 1,024 and 1,951 rows.
    assert found.upper == 4096
    assert 0 <= found.lower <= 513
    assert found.share > 0.5
    assert found.declared == ()
    assert found.cost == {"epsilon": "1"}
    assert spent(session) == 1


def test_the_same_bounds_again_are_free_and_in_the_transcript(curator):
    session = curator.session("ana")
    first = session.bounds("visits", "big", epsilon=1)
    again = session.bounds("VISITS", "Big", epsilon=1)
    assert (first.free, again.free) == (False, True)
    assert again.noisy == first.noisy
    assert spent(session) == 1
    (kept,) = session.transcript
    assert kept.receipt.question.startswith("/* bounds of big */ SELECT CASE")
    assert kept.plan.cost == Pure(epsilon=1)


def test_values_are_plain_and_the_text_says_all(curator):
    found = curator.session("ana").bounds("visits", "income", epsilon=5)
    values = found.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert list(values) == [
        "table", "column", "lower", "upper", "share", "confidence", "cost", "free", "notes",
    ]  # fmt: skip
    assert found.at(failure=TINY).upper == 65536
    assert repr(found).startswith(f"Bounds(visits.income: {found.lower} to {found.upper}, ")
    assert repr(found).endswith("confidence 0.999999999, cost epsilon 5)")
    assert found.failure == FAILURE


def test_too_low_a_price_finds_nothing_and_stays_charged(curator):
    session = curator.session("ana")
    found = session.bounds("visits", "age", epsilon=Fraction(1, 10**6)).at(failure=TINY)
    assert (found.lower, found.upper, found.share) == (None, None, None)
    assert found.to_dict()["lower"] is None
    assert spent(session) == Fraction(1, 10**6)


def test_rows_beyond_the_declared_bounds_count_as_the_bounds(tmp_path):
    rows = [(n, 5000, 1.0, "north", "2024-01-15", n) for n in range(2000)]
    with copied_curator(tmp_path / "clinic", rows) as curator:
        curator.grant("ana", epsilon=10)
        found = curator.session("ana").bounds("visits", "age", epsilon=2).at(failure=TINY)
    assert (found.lower, found.upper, found.declared) == (65, 110, ("upper",))


def test_a_budget_with_a_delta_pays_in_rho(tmp_path):
    budget = "epsilon = 10\ndelta = 1e-6"
    with copied_curator(tmp_path / "clinic", people(4000), budget=budget) as curator:
        curator.grant("ana", epsilon=5, delta=1e-6)
        session = curator.session("ana")
        found = session.bounds("visits", "big", rho=Fraction(1, 10)).at(failure=TINY)
        assert found.cost == {"rho": "0.1"}
        assert found.upper == 4096
        assert session.bounds("visits", "big", epsilon=1).cost != found.cost


def test_a_table_left_in_place_is_asked_the_same_way(tmp_path):
    write_source(tmp_path, people(4000))
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add_in_place(write_schema(tmp_path))
        curator.grant("ana", epsilon=10)
        found = curator.session("ana").bounds("visits", "big", epsilon=2)
        assert found.at(failure=TINY).upper == 4096


@pytest.mark.parametrize(
    ("table", "column", "price", "error", "words"),
    [
        ("visit", "age", {"epsilon": 1}, InvalidValue, "no table 'visit'. Did you mean 'visits'"),
        ("visits", "aeg", {"epsilon": 1}, InvalidValue, "no column 'aeg'. Did you mean 'age'"),
        ("visits", "patient", {"epsilon": 1}, InvalidValue, "no column 'patient'"),
        ("visits", "region", {"epsilon": 1}, UnsafeQuery, "region is a category"),
        ("visits", "day", {"epsilon": 1}, UnsafeQuery, "Of dates ask MIN and MAX"),
        ("visits", "age", {}, InvalidValue, "give one price"),
        ("visits", "age", {"epsilon": 1, "rho": 1}, InvalidValue, "give one price"),
        ("visits", "age", {"rho": 1}, UnprovableRequest, "no meaning under a pure budget"),
        ("visits", "age", {"epsilon": 0}, InvalidValue, "above 0"),
        ("visits", "age", {"epsilon": 101}, BudgetExceeded, "Nothing was run or charged"),
    ],
)
def test_refusals_charge_nothing(curator, table, column, price, error, words):
    session = curator.session("ana")
    with pytest.raises(error, match=words):
        session.bounds(table, column, **price)
    assert spent(session) == 0
    assert session.transcript == []
