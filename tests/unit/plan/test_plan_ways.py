"""Ways to pick a quantile: what public facts prefer, what is proved, what it costs, and that the
expected errors they go by are those of the mechanisms.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UnprovableRequest
from discreet.loss import ZCDP, Pure, Relation
from discreet.plan.parts.candidates import MOST_CELLS, QuantileMethod, chooser
from discreet.plan.parts.smoothed import Smoothed
from discreet.plan.pipeline import Draft, plan, replan
from discreet.plan.results.evaluate import find_ranked
from discreet.plan.results.explain import explain_plan
from discreet.plan.rules.quantile_method import expected_error
from discreet.plan.target import price_for_error
from discreet.query.parse import parse
from discreet.robust.smooth.growth import smooth_bound
from discreet.robust.smooth.quantile import SmoothQuantile
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.smooth_laws import laplace_log_normal, student

COLUMNS = (
    Column("x", "integer", upper=1_000_000),
    Column("half", "number", step=Fraction(1, 2), lower=-(10**6), upper=10**6),
    Column("age", "integer", upper=110),
    Column("one", "integer", lower=7, upper=7),
    Column("day", "date", lower=0, upper=100_000),
    Column("g", "category", keys=("a", "b"), upper=1),
)
MEDIAN = "SELECT MEDIAN(x) AS m FROM t"
RICH, POOR = Pure(epsilon=20), Pure(epsilon=1)


def draft(text=MEDIAN, *, rows=100, price=RICH, relation=Relation.ADD_REMOVE, **more):
    table = Table("t", unit="who", rows_per_unit=rows, neighbours=relation, columns=COLUMNS)
    return Draft(query=parse(text, {"t": table}), table=table, price=price, question=text, **more)


def made(text=MEDIAN, **facts):
    return plan(draft(text, **facts))


@pytest.mark.parametrize(
    ("way", "facts"),
    [
        (QuantileMethod.RANKED, {}),  # nothing is known of the number of rows
        (QuantileMethod.SMOOTH, {"assumed_rows": 30_000}),
        (QuantileMethod.SMOOTH, {"assumed_rows": 30_000, "rows": 50, "relation": Relation.REPLACE}),
        (QuantileMethod.FINE, {"assumed_rows": 30_000, "rows": 1}),
        (QuantileMethod.FINE, {"assumed_rows": 30_000, "rows": 1, "price": POOR}),
        (QuantileMethod.RANKED, {"assumed_rows": 30_000, "price": POOR}),
        (QuantileMethod.FINE, {"assumed_rows": 10**9, "price": POOR}),
        (
            QuantileMethod.FINE,
            {"assumed_rows": 30_000, "price": ZCDP(rho=200)},
        ),  # there a choice costs half
        (QuantileMethod.RANKED, {"assumed_rows": 3000, "price": ZCDP(rho=Fraction(1, 2))}),
    ],
)
def test_public_facts_decide(way, facts):
    assert made(**facts).ways == (way,)


@pytest.mark.parametrize("way", QuantileMethod)
@pytest.mark.parametrize("price", [POOR, RICH, ZCDP(rho=Fraction(1, 3)), ZCDP(rho=50)])
@pytest.mark.parametrize("relation", Relation)
def test_every_way_costs_the_price(way, price, relation):
    found = made(price=price, relation=relation, ways=(way,), rows=3)
    assert found.ways == (way,)
    if isinstance(price, Pure):
        assert price.epsilon * (1 - Fraction(1, 10**9)) <= found.cost.epsilon <= price.epsilon
    else:
        assert price.rho * (1 - Fraction(1, 10**9)) <= found.cost.rho <= price.rho


def test_a_way_that_is_given_is_kept_whatever_is_supposed():
    for way in QuantileMethod:
        assert made(ways=(way,), assumed_rows=30_000).ways == (way,)
    assert (
        made(ways=(QuantileMethod.SMOOTH, QuantileMethod.SMOOTH)) == made()
    )  # not for these picks


@pytest.mark.parametrize(
    "text",
    [
        "SELECT g, MEDIAN(age) AS m FROM t GROUP BY g",  # rows of a unit in several groups
        "SELECT MEDIAN(day) AS m FROM t",
        "SELECT MEDIAN(one) AS m FROM t",
        "SELECT MIN(x) AS m FROM t",
        "SELECT MAX(x) AS m FROM t",
        "SELECT MODE(age) AS m FROM t",
        "SELECT MEDIAN(x) AS m, QUANTILE(x, 0.9) AS q FROM t",
        "SELECT QUANTILE(x, 0.12345678) AS m FROM t",  # finer than the proof's arithmetic
    ],
)
def test_smooth_noise_only_where_it_is_proved(text):
    asked = made(text, ways=(QuantileMethod.SMOOTH,))
    assert asked.ways == (QuantileMethod.RANKED,)
    assert asked == made(text)
    assert made(text, assumed_rows=30_000).ways in (
        (QuantileMethod.RANKED,),
        (QuantileMethod.FINE,),
    )


def test_each_pick_is_decided_by_its_own_share():
    text = "SELECT COUNT(*) AS n, MEDIAN(x) AS m, MEDIAN(age) AS a FROM t WHERE age > 3"
    found = made(text, price=Pure(epsilon=90), assumed_rows=30_000)
    assert found.ways == (QuantileMethod.SMOOTH, QuantileMethod.RANKED)
    assert found.cost == Pure(epsilon=90)
    outputs = {output.name: output.expression for output in found.query.outputs}
    assert find_ranked(found, outputs["m"]) is None
    assert find_ranked(found, outputs["a"]) is not None
    assert found.error["m"] is None
    assert found.error["a"] > 0
    grouped = "SELECT g, MEDIAN(x) AS m FROM t GROUP BY g"
    fine = made(grouped, assumed_rows=10**8, price=POOR)
    assert fine.ways == (QuantileMethod.FINE,)
    assert made(grouped).picks[0].candidates < fine.picks[0].candidates <= MOST_CELLS // 2


def test_a_replaced_unit_moves_twice_its_rows_at_the_full_price():
    [one] = made(ways=(QuantileMethod.SMOOTH,), rows=50, relation=Relation.REPLACE).choices
    [two] = made(ways=(QuantileMethod.SMOOTH,), rows=100).choices
    assert one == two
    assert one.query == SmoothQuantile(
        fraction=0.5, lower=0, upper=one.query.upper, rows_per_unit=100
    )


@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("rows", [1, 2, 7, 50])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(10), Fraction(100)])
def test_twice_the_rows_at_the_full_price_beat_two_steps_at_half(epsilon, rows, fraction):
    """The other proof of a replaced unit: group privacy for two steps."""
    known = {"fraction": fraction, "candidates": 1000}
    full = Smoothed.of_price(**known, moved=2 * rows, price=Pure(epsilon=epsilon))
    halved = Smoothed.of_price(**known, moved=rows, price=Pure(epsilon=epsilon / 2))
    assert full.gaps < halved.gaps * (0.6 if epsilon < 1 else 1.000001)


@pytest.mark.parametrize("error", [1, 100])
def test_an_error_that_is_wanted_is_promised_in_ranks_of_values_and_refused_for_buckets(error):
    """Buckets of x hold 256 values each; those of its hundreds are values."""
    coarse = draft("SELECT MEDIAN(FLOOR(x/1000)) AS m FROM t", assumed_rows=None)
    found = price_for_error(coarse, error, Pure, 30_000)
    assert found.ways == (QuantileMethod.RANKED,)
    assert found.error["m"] <= error
    with pytest.raises(UnprovableRequest, match=r"chosen from buckets .* FLOOR\(x/100\)"):
        price_for_error(draft(assumed_rows=None), error, Pure, 30_000)


def test_a_plan_is_remade_as_it_was_and_a_forged_one_is_not():
    for way in QuantileMethod:
        found = made(ways=(way,), assumed_rows=30_000)
        again = replan(found, table=found.table, relation='"prepared"')
        assert again == found
    forged = replace(
        made("SELECT g, MEDIAN(age) AS m FROM t GROUP BY g"), ways=(QuantileMethod.SMOOTH,)
    )
    assert replan(forged, table=forged.table, relation='"prepared"') != forged
    cheaper = made(ways=(QuantileMethod.SMOOTH,))
    small = Smoothed.of_price(fraction=0.5, candidates=62_501, moved=1, price=RICH)
    forged = replace(cheaper, choices=(small,))
    assert replan(forged, table=forged.table, relation='"prepared"') != forged


def test_finer_lists_do_not_read_coarse_histograms():
    kept = made(kept="totals")
    assert '"histogram_0"' in kept.sql
    for way in (QuantileMethod.FINE, QuantileMethod.SMOOTH):
        found = made(ways=(way,), kept="totals")
        assert "histogram" not in found.sql
        assert found.sql == made(ways=(way,)).sql


@pytest.mark.parametrize(
    ("dialect", "code"),
    [
        ("duckdb", '((CAST("x" AS BIGINT) - 0) // 16 + 0)'),
        ("postgresql", '(CAST(div((CAST("x" AS BIGINT) - 0), 16) AS BIGINT) + 0)'),
        ("spark", '(((CAST("x" AS BIGINT) - 0) div 16) + 0)'),
    ],
)
def test_every_engine_counts_the_finer_list(dialect, code):
    for way in (QuantileMethod.FINE, QuantileMethod.SMOOTH):
        sql = made(ways=(way,), dialect=dialect).sql
        assert sql.startswith(f'SELECT 1 AS "$b", {code} AS "$c", COUNT(*) AS "$n" FROM')


def test_explain_says_which_way_and_why():
    said = explain_plan(made(assumed_rows=30_000), 30_000)
    assert said["measures"][0]["mechanism"].startswith("smooth sensitivity, Student's t with")
    assert any("if 30,000 rows were spread evenly" in each for each in said["warnings"])
    assert any("no interval but the bounds" in each for each in said["warnings"])
    said = explain_plan(made(assumed_rows=30_000, rows=1))
    assert any("by rank from a finer list of 62,501 values" in each for each in said["warnings"])
    said = explain_plan(made(ways=(QuantileMethod.SMOOTH,)))
    assert any("as was asked for" in each for each in said["warnings"])
    assert not any("spread evenly" in each for each in explain_plan(made())["warnings"])


# The errors that the rule goes by, against the laws of the mechanisms on evenly spread rows.


def even_counts(pick, rows):
    """How many of so many evenly spread rows each candidate has, and the first and last median."""
    codes = np.floor((np.arange(rows) + 0.37) * (pick.upper - pick.lower + 1) / rows).astype(int)
    middle = codes[(rows - 1) // 2], codes[rows // 2]
    return np.bincount(codes // pick.width, minlength=pick.candidates), middle


def mean_off_by_rank(pick, choice, rows):
    """The mean distance from the medians, by the exact probabilities of a choice."""
    counts, (low, high) = even_counts(pick, rows)
    upto = np.cumsum(counts)
    distance = np.maximum(0, np.maximum(upto - counts - rows / 2, rows / 2 - upto))
    weights = np.exp(-distance / float(choice.scale))
    values = np.array([pick.lattice(place) for place in range(pick.candidates)])
    off = np.maximum(0, np.maximum(low - values, values - high))
    return float((weights * off).sum() / weights.sum())


def mean_off_smoothly(pick, choice, rows):
    """The same for smooth noise: the integral of its survival function on both sides."""
    counts, (low, high) = even_counts(pick, rows)
    growth = choice.query.growth_of_counts(counts)
    bound = float(smooth_bound(growth, smoothing=choice.noise.smoothing).bounds(20)[1])
    scale = pick.width * bound / float(choice.noise.sliding)
    shape = choice.noise.shape
    survival = (
        student(shape.degrees)
        if hasattr(shape, "degrees")
        else laplace_log_normal(float(shape.sigma))
    )
    beyond = np.linspace(0, 400, 40_001)  # in scales; farther out lies less than 1% of the mean
    below = float(np.trapezoid(survival(beyond), beyond)) * scale
    above = float(np.trapezoid(survival(beyond + (high - low) / scale), beyond)) * scale
    return below + above


def mean_over_parities(mean_off, pick, choice, rows):
    return sum(mean_off(pick, choice, rows + more) for more in (0, 1)) / 2


CASES = [(1, 1, 3000), (1, 6, 300), (1, 8, 30), (20, 5, 3000), (100, 20, 30_000), (4, 0.5, 9000)]


@pytest.mark.parametrize(("moved", "epsilon", "rows"), CASES)
@pytest.mark.parametrize("way", [QuantileMethod.RANKED, QuantileMethod.FINE])
def test_expected_errors_of_choices_are_those_of_their_law(way, moved, epsilon, rows):
    found = made(ways=(way,), rows=moved, price=Pure(epsilon=epsilon))
    form = found.picks[0], found.choices[0]
    exact = mean_over_parities(mean_off_by_rank, *form, rows)
    assert expected_error(*form, rows) == pytest.approx(exact, rel=0.2, abs=form[0].width / 3)


@pytest.mark.parametrize("kind", ["pure", "zcdp"])
@pytest.mark.parametrize(("moved", "epsilon", "rows"), CASES)
def test_expected_errors_of_smooth_noise_are_those_of_its_law(kind, moved, epsilon, rows):
    price = Pure(epsilon=epsilon) if kind == "pure" else ZCDP(rho=Fraction(epsilon) ** 2 / 2)
    found = made(ways=(QuantileMethod.SMOOTH,), rows=moved, price=price)
    form = found.picks[0], found.choices[0]
    exact = mean_over_parities(mean_off_smoothly, *form, rows)
    # The rule counts what falls between two middle rows as an error: at most half is too much.
    ratio = expected_error(*form, rows) / (exact + form[0].width / 4)
    assert 0.9 <= ratio <= 1.5


def test_more_to_pay_never_means_a_larger_expected_error():
    for way in QuantileMethod:
        errors = []
        for epsilon in (0.01, 0.1, 1, 3, 10, 30, 100, 1000):
            found = made(ways=(way,), price=Pure(epsilon=epsilon))
            errors.append(expected_error(found.picks[0], found.choices[0], 30_000))
        assert errors == sorted(errors, reverse=True)
        assert all(map(math.isfinite, errors))


def test_prices_at_the_ends_of_the_ledger_have_an_expected_error():
    for epsilon in (Fraction(1, 10**40), Fraction(10**40)):
        for assumed_rows in (1, 10**18):
            found = made(price=Pure(epsilon=epsilon), assumed_rows=assumed_rows)
            assert found.ways[0] in QuantileMethod
            pick = found.picks[0]
            usual = expected_error(pick, chooser(pick, found.prices[0]), assumed_rows)
            assert 0 <= usual <= 500_001
