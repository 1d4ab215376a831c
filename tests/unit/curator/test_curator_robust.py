"""Robust estimates through a curator: charged, refused under pure budgets where they need a delta,
derived from public facts, and the custodian's own functions in blocks.
"""

from fractions import Fraction

import pytest

from discreet.curator.measurement import Measurement
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidValue,
    UnprovableRequest,
    UnsafeQuery,
)
from discreet.estimates.blocks import sample_and_aggregate
from discreet.estimates.columns import rows_of, values_of
from discreet.estimates.median import median, proposed_median, smooth_median
from discreet.estimates.robust import clustered, location, mode, slope, spread
from discreet.loss import Approximate, Pure, Relation
from discreet.mechanisms.additive.lattice import Lattice
from discreet.plan.results.explain import cost_of
from discreet.robust.blocks.summaries import BlockMean, BlockMedian, BlockMode
from discreet.robust.tested.outcome import Refused, Shown
from support.robust_estimators import mean_of_first, size
from support.vaults import copied_curator

DELTA = "epsilon = 1000000\ndelta = 1e-3"
SURE = 300  # an epsilon that leaves next to no noise
HARDLY = 1e-12  # a delta: what must be refused is shown that often


def bell(count=400):
    """Two rows of each person around age 40 and income 50,000 + 100 age."""
    ages = [40 + (8 * n) % 21 - 10 for n in range(count)]
    return [
        (n // 2, age, 50_000.0 + 100 * age, ("north", "south")[n % 2], "2024-03-15", n)
        for n, age in enumerate(ages)
    ]


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    with copied_curator(tmp_path_factory.mktemp("robust"), bell(), budget=DELTA) as made:
        made.grant("ana", epsilon=10**6, delta=1e-3)
        made.grant("pure", epsilon=10**6)
        yield made


@pytest.fixture
def session(curator):
    return curator.session("ana")


def exact_rows(session, *columns, where=""):
    values = values_of(session, "visits", columns, where)
    made = Measurement(
        plan=values.plan,
        cost=Pure(epsilon=Fraction(1, 1000)),
        label="The test",
        release=lambda exact, _: rows_of(values, exact).tolist(),
    )
    return values, session.measure(made)[1]


def test_a_program_sees_each_row_once_on_the_public_lattice(session):
    values, rows = exact_rows(session, "age", where="region = 'north'")
    assert sorted(rows) == sorted(row[1] for row in bell() if row[3] == "north")
    assert (values.rows_per_unit, values.relation) == (2, Relation.ADD_REMOVE)
    values, pairs = exact_rows(session, "age", "income")
    _, up = values.axes
    assert len(pairs) == len(bell())
    assert all(abs(up.value(y) - 50_000 - 100 * x) <= up.unit for x, y in pairs)
    wide, rows = exact_rows(session, "big")
    assert wide.axes[0].unit == 2**38  # read in buckets
    assert set(rows) == {0}


@pytest.mark.parametrize(
    ("ask", "column", "epsilon", "mechanism", "exact"),
    [
        (median, "age", SURE, "choice by rank", 40),
        (median, "income", SURE, "choice by rank", 54_000),
        (smooth_median, "income", SURE, "smooth sensitivity", 54_000),
    ],
)
def test_medians_by_two_mechanisms_agree(session, ask, column, epsilon, mechanism, exact):
    """Beyond 5% the smooth noise here is off with a probability below 1e-11, a choice far less."""
    before = session.remaining.epsilon
    found = ask(session, "visits", column, epsilon=epsilon)
    assert found.mechanism == mechanism
    assert abs(found.value - exact) <= 0.05 * exact
    left = session.remaining.epsilon
    assert left < before
    assert found.receipt.cost == cost_of(found.cost)
    assert found.receipt.question.startswith(f"SELECT QUANTILE({column}, 0.500000) AS q FROM")
    again = ask(session, "visits", column, epsilon=epsilon)  # an answer like any other
    assert (again, session.remaining.epsilon) == (found, left)
    assert session.transcript[-1].receipt == found.receipt


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_replaced_unit_costs_two_steps(tmp_path, neighbours):
    with copied_curator(tmp_path / "c", bell(40), neighbours=neighbours) as made:
        made.grant("ana", epsilon=9)
        session = made.session("ana")
        for ask, mechanism in ((smooth_median, "smooth sensitivity"), (median, "choice by rank")):
            found = ask(session, "visits", "income", epsilon=2)
            assert found.mechanism == mechanism
            assert found.cost == Pure(epsilon=2)


def test_proposals_are_shown_or_refused_and_charged_alike(session):
    shown = proposed_median(session, "visits", "age", within=2, epsilon=SURE)
    assert isinstance(shown.value, Shown)
    assert abs(shown.value.value - 40) <= 3
    refused = proposed_median(session, "visits", "income", within=0.5, epsilon=0.1, delta=HARDLY)
    assert refused.value == Refused("the median of income")
    assert isinstance(refused.receipt.loss, Approximate)
    assert refused.receipt.loss.epsilon == Fraction(1, 10)


def test_spread_location_and_clusters(session):
    wide = spread(session, "visits", "age", epsilon=SURE)
    assert wide.value == Shown(Fraction(8))  # 10 years, as a power of two
    place = location(session, "visits", "age", epsilon=SURE)
    mean, variance = place.value.value
    assert abs(mean - 40) < 1
    assert abs(variance - Fraction(220, 6)) < 30  # the noise of a sum of squares is felt
    outside = clustered(session, "visits", "age", clusters=1, width=5, epsilon=SURE)
    inside = max(sum(low <= row[1] <= low + 5 for row in bell()) for low in range(60))
    assert outside.value == len(bell()) - inside
    assert outside.cost == Pure(epsilon=SURE)


def test_the_mode_is_exact_or_refused(session):
    clear = mode(session, "visits", "region", where="age > 45 OR region = 'north'", epsilon=SURE)
    assert clear.value == Shown("north")
    tied = mode(session, "visits", "region", epsilon=1, delta=HARDLY)
    assert tied.value == Refused("the most frequent region")


def test_no_rows_are_no_error(session):
    nobody = {"where": "age > 109", "epsilon": SURE}
    refused = {**nobody, "delta": HARDLY}
    assert location(session, "visits", "age", **refused).value == Refused("the location of age")
    assert clustered(session, "visits", "age", clusters=1, width=1, **nobody).value == 0
    assert isinstance(spread(session, "visits", "age", **refused).value, Refused)


def test_a_slope_needs_enough_rows_to_be_stable(session, tmp_path):
    asked = {"step": 1, "largest": 10**4, "bound": 4000, "epsilon": SURE}
    few = slope(session, "visits", "income", "age", delta=HARDLY, **asked)
    assert few.value == Refused("the slope of income over age")
    with copied_curator(tmp_path / "c", bell(30_000), budget=DELTA) as large:
        large.grant("ana", epsilon=10**6, delta=1e-3)
        many = slope(large.session("ana"), "visits", "income", "age", **asked)
        assert abs(many.value.value - 100) < 1500


def test_pure_budgets_refuse_what_needs_a_delta_and_nothing_is_charged(curator):
    poor = curator.session("pure")
    before = poor.remaining
    for ask in (location, spread):
        with pytest.raises(UnprovableRequest, match="Ask the custodian for a grant with delta"):
            ask(poor, "visits", "age", epsilon=1)
    with pytest.raises(UnprovableRequest, match="delta"):
        proposed_median(poor, "visits", "age", within=1, epsilon=1, delta=1e-6)
    with pytest.raises(DiscreetError, match="pure"):
        blocks(curator, "pure", BlockMode(epsilon=1, delta=1e-6))
    assert poor.remaining == before
    assert clustered(poor, "visits", "age", clusters=2, width=3, epsilon=1).cost == Pure(epsilon=1)


@pytest.mark.parametrize(
    ("table", "column", "where", "words"),
    [
        ("nothing", "age", "", "no table 'nothing'"),
        ("visits", "wage", "", "no column 'wage'"),
        ("visits", "region", "", "needs numbers"),
        ("visits", "age", "age > 3 GROUP BY region --", "."),
        ("visits", "age", "age > 3 GROUP BY region", "."),
        ("visits", "age", "age > 3 LIMIT 1", "."),
        ("visits", "age", "1 = 1 UNION SELECT age, 1 FROM visits", "."),
        ("visits", "age", "nobody = 3", "nobody"),
    ],
)
def test_what_is_no_condition_or_column_is_refused(session, table, column, where, words):
    before = session.remaining
    with pytest.raises((InvalidValue, UnsafeQuery), match=words):
        clustered(session, table, column, clusters=1, width=1, where=where, epsilon=1)
    for ask in (median, smooth_median):
        with pytest.raises((InvalidValue, UnsafeQuery), match=words):
            ask(session, table, column, where=where, epsilon=1)
    assert session.remaining == before


LATTICE = Lattice(step=1, lower=0, upper=110, missing=0)


def blocks(curator, analyst, summary, estimator=mean_of_first, columns=("age",), **more):
    return sample_and_aggregate(
        curator, analyst, "visits", columns, estimator, blocks=12, lattice=LATTICE, summary=summary,
        **more,
    )  # fmt: skip


def test_the_custodians_function_runs_in_blocks_and_is_charged(curator):
    found = blocks(curator, "ana", BlockMedian(price=Pure(epsilon=50)))
    assert 35 <= found.value <= 45
    assert found.receipt.memo["question"] == "mean_of_first of age in 12 blocks"
    assert found.cost == found.receipt.loss == Pure(epsilon=50)
    assert [note.text.split(":")[0] for note in found.notes] == [
        "visits", "age counts from 0 to 110"
    ]  # fmt: skip
    sizes = blocks(curator, "ana", BlockMean(price=Pure(epsilon=SURE)), estimator=size)
    assert abs(sizes.value - Fraction(len(bell()), 12)) < 1  # every row is in one block


def test_what_cannot_run_is_refused_before_the_charge(curator, session):
    before = session.remaining
    with pytest.raises(InvalidValue, match="top of a module"):
        blocks(curator, "ana", BlockMean(price=Pure(epsilon=1)), estimator=lambda rows: len(rows))
    with pytest.raises(InvalidValue, match="clusters is 0"):
        clustered(session, "visits", "age", clusters=0, width=1, epsilon=1)
    with pytest.raises(InvalidValue, match="fraction is 2"):
        proposed_median(session, "visits", "age", within=1, fraction=2, epsilon=1)
    with pytest.raises(InvalidValue, match="fraction is 1e-07"):
        smooth_median(session, "visits", "age", fraction=1e-7, epsilon=1)
    with pytest.raises(InvalidValue, match="count is 0"):
        median(session, "visits", "age", count=0, epsilon=1)
    assert session.remaining == before


def test_a_budget_that_is_spent_stops_the_blocks(curator):
    with pytest.raises(BudgetExceeded):
        blocks(curator, "ana", BlockMean(price=Pure(epsilon=10**5)))


@pytest.mark.parametrize("columns", [(), ("region",), ("$unit",), ('age" FROM x --',)])
def test_only_number_columns_are_handed_out(curator, columns):
    with pytest.raises(InvalidValue, match="number columns"):
        blocks(curator, "ana", BlockMean(price=Pure(epsilon=1)), columns=columns)
