"""Columns that are sums of noisy aggregates with factors: their stated error against the exact law
of their noises (direct convolution), every shape of expression, and the price of a wanted error.
"""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UnprovableRequest
from discreet.loss import ZCDP, Pure
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.combinations.sums import sum_error
from discreet.plan.parts.measures import Estimator
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.evaluate import estimates
from discreet.plan.results.explain import error_of, explain_plan
from discreet.plan.results.released import Released
from discreet.plan.target import price_for_error
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table

LEVEL = Fraction(95, 100)
TABLE = Table(
    "t",
    unit="u",
    rows_per_unit=2,
    columns=(
        Column("a", "integer", upper=3),
        Column("b", "number", step=Fraction(1, 2), lower=-2, upper=3, null="drop"),
    ),
)
SEED = 20  # of the shapes of expressions, which are part of the test; nothing here is noisy


def draft_of(text, price):
    return Draft(query=parse(text, {"t": TABLE}), table=TABLE, price=price, question=text)


def planned(expression, price):
    return plan(draft_of(f"SELECT {expression} AS x FROM t", price))


def masses(noise):
    """P(X = j) for j = 0, 1, ..., as floats, far beyond what a test can see."""
    if isinstance(noise, DiscreteLaplace):
        ratio = math.exp(-1 / noise.scale)
        steps = np.arange(math.ceil(32 * noise.scale) + 5)
        return (1 - ratio) / (1 + ratio) * ratio**steps
    steps = np.arange(math.ceil(8 * math.sqrt(noise.sigma_squared)) + 5)
    weights = np.exp(-(steps**2) / (2 * float(noise.sigma_squared)))
    return weights / (2 * weights.sum() - weights[0])


def direct_quantile(terms, missed=0.05):
    """The smallest half-width of the sum of factor * noise, by convolution term by term."""
    terms = [(abs(factor), noise) for factor, noise in terms if factor]
    if not terms:
        return 0.0, 0.0
    whole = math.lcm(*(factor.denominator for factor, _ in terms))
    law = np.ones(1)
    for factor, noise in terms:
        half, k = masses(noise), int(factor * whole)
        spread = np.zeros(2 * k * (len(half) - 1) + 1)
        spread[::k] = np.concatenate([half[:0:-1], half])
        law = np.convolve(law, spread)
    middle = len(law) // 2
    both = law[middle:] + law[middle::-1]
    beyond = np.append(np.cumsum(both[:0:-1])[::-1], 0.0)  # P(|sum| > m)
    place = int(np.argmax(beyond <= missed))
    return float(Fraction(place, whole)), min(abs(beyond - missed))


LEAVES = {"COUNT(*)": "n", "COUNT(b)": "m", "SUM(a)": "s", "SUM(b)": "t"}


def linear(random_bits, depth):
    """A random linear expression: its text, and the factor of each leaf."""
    kind = random_bits.choice(["leaf", "sum", "scale"]) if depth else "leaf"
    if kind == "leaf":
        leaf = random_bits.choice(list(LEAVES))
        return leaf, {leaf: Fraction(1)}
    if kind == "sum":
        sign = random_bits.choice("+-")
        (left, mine), (right, other) = (linear(random_bits, depth - 1) for _ in range(2))
        made = {
            leaf: mine.get(leaf, Fraction(0))
            + (1 if sign == "+" else -1) * other.get(leaf, Fraction(0))
            for leaf in {**mine, **other}
        }
        return f"({left} {sign} {right})", made
    inside, mine = linear(random_bits, depth - 1)
    number = Fraction(random_bits.choice([1, 2, 3, 5, -2]), random_bits.choice([1, 2, 4]))
    written = f"({float(number):g})"
    form = random_bits.choice(["{0} * {1}", "{1} * {0}", "{0} / {1}", "{0} + {1} - 7"])
    factor = {"{0} / {1}": 1 / number, "{0} + {1} - 7": Fraction(1)}.get(form, number)
    text = form.format(inside, written)
    return f"({text})", {leaf: factor * value for leaf, value in mine.items()}


def linear_cases(count):
    made = random.Random(SEED)
    prices = [Pure(epsilon=1), Pure(epsilon=4), ZCDP(rho=Fraction(1, 2)), ZCDP(rho=3)]
    for number in range(count):
        text, factors = linear(made, 3)
        yield pytest.param(text, factors, prices[number % 4], id=f"{number}: {text}")


def terms_of(made, factors):
    estimators = {
        leaf: next(
            each
            for aggregate, each in made.estimators
            if aggregate == made.query.outputs[place].expression
        )
        for place, leaf in enumerate(LEAVES)
    }
    summed = {}
    for leaf, factor in factors.items():
        place = estimators[leaf].positions[0]
        summed[place] = summed.get(place, Fraction(0)) + factor * made.measures[place].step
    return [(factor, made.noises[place]) for place, factor in summed.items()]


@pytest.mark.parametrize(("text", "factors", "price"), list(linear_cases(60)))
def test_the_error_is_the_quantile_of_the_exact_law(text, factors, price):
    every = ", ".join(f"{leaf} AS {name}" for leaf, name in LEAVES.items())
    made = plan(draft_of(f"SELECT {every}, {text} AS x FROM t", price))
    expected, margin = direct_quantile(terms_of(made, factors))
    stated = error_of(made)["x"]
    if margin > 1e-8:
        assert stated == expected
    else:
        assert stated >= expected
    assert explain_plan(made)["error"]["x"] == stated
    exact = 1000 * np.arange(1, len(made.measures) + 1, dtype=np.int64)
    found = estimates(Released(made, ((),), tuple(exact[:, None])))["x"]
    for end in (found.high[0] - found.value[0], found.value[0] - found.low[0]):
        assert stated <= end <= stated + 1e-6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("COUNT(*) / 2", 0.5),
        ("COUNT(*) * 3 - COUNT(*)", 2.0),
        ("-COUNT(*)", 1.0),
        ("COUNT(*) - COUNT(*) + 4", 0.0),
    ],
)
def test_multiples_of_one_count(text, expected):
    alone = error_of(planned("COUNT(*)", Pure(epsilon=1)))["x"]
    assert error_of(planned(text, Pure(epsilon=1)))["x"] == expected * alone


def test_a_difference_of_sums_is_narrower_than_its_parts_apart():
    made = planned("SUM(a) - SUM(b)", Pure(epsilon=1))
    apart = sum(
        noise.error(Fraction(975, 1000)) * float(measure.step)
        for noise, measure in zip(made.noises, made.measures, strict=True)
    )
    assert (
        max(n.error(LEVEL) * m.step for n, m in zip(made.noises, made.measures, strict=True))
        < (error_of(made)["x"])
        < (apart)
    )


NOISES = {
    "laplace": lambda size: DiscreteLaplace(scale=size),
    "gaussian": lambda size: DiscreteGaussian(sigma=size),
}


@pytest.mark.parametrize("kinds", list(itertools.combinations_with_replacement(NOISES, 2)))
@pytest.mark.parametrize("sizes", [(Fraction(1, 50), 1), (1, 40), (15, 16), (120, 121)])
@pytest.mark.parametrize("factors", [(1, 1), (1, Fraction(-1, 3)), (7, 2)])
def test_wide_sums_are_never_too_narrow_and_hardly_too_wide(kinds, sizes, factors):
    terms = [
        (Fraction(factor), NOISES[kind](size))
        for factor, kind, size in zip(factors, kinds, sizes, strict=True)
    ]
    expected, margin = direct_quantile(terms)
    stated = sum_error(terms, LEVEL)
    slack = Fraction(1, math.lcm(*(factor.denominator for factor, _ in terms)))
    assert stated >= expected
    assert stated <= expected * 1.002 + (float(slack) if margin <= 1e-8 else 0.0) + 1e-9


@pytest.mark.parametrize("scale", [10, 1000, 10**4, 10**7])
def test_the_difference_of_two_laplace_noises_has_a_closed_form(scale):
    """P(X - Y = d) = ((1 - p)/(1 + p))^2 p^d (d + (1 + p^2)/(1 - p^2)), summed from m + 1 on."""
    noise = DiscreteLaplace(scale=scale)
    stated = int(sum_error([(Fraction(1), noise), (Fraction(-1), noise)], LEVEL))
    ratio, rest = math.exp(-1 / scale), -math.expm1(-1 / scale)
    centre = (1 + ratio**2) / (rest * (1 + ratio))

    def missed(m):
        tail = ratio ** (m + 1) * ((m + 1 + centre) / rest + ratio / rest**2)
        return 2 * tail * (rest / (1 + ratio)) ** 2

    assert missed(stated) <= 0.05
    assert missed(stated / 1.002 - 1) > 0.05


def test_huge_noises_and_odd_factors():
    for size in (10**6, 10**12, 10**30):
        pair = [
            (Fraction(1), DiscreteGaussian(sigma=size)),
            (Fraction(-1, 3), NOISES["gaussian"](size)),
        ]
        expected = 1.959963984540054 * size * math.sqrt(1 + 1 / 9)
        assert expected * (1 - 1e-9) <= sum_error(pair, LEVEL) <= expected * 1.002
    odd = [
        (Fraction(1, 10**9 + 7), NOISES["laplace"](9)),
        (Fraction(355, 113), NOISES["laplace"](9)),
    ]
    alone = sum_error(odd[1:], LEVEL)
    assert alone * 0.99 <= sum_error(odd, LEVEL) <= alone * 1.01
    assert sum_error([], LEVEL) == 0
    sure = sum_error([(Fraction(1), NOISES["laplace"](1))] * 2, Fraction(10**9 - 1, 10**9))
    assert sure >= direct_quantile([(Fraction(1), NOISES["laplace"](1))] * 2, 1e-9)[0]


def test_few_large_steps_on_a_coarse_grid_are_never_too_narrow():
    """Each factor lies almost half a cell of seven steps above the middle of its cell, so that
    both noises are rounded the same way; every attained half-width is tried.
    """
    factors, noise = (5204, 5183), DiscreteLaplace(scale=Fraction(3, 10))
    half = masses(noise)[:13]
    law = np.concatenate([half[:0:-1], half])
    sizes = np.abs(np.add.outer(*(factor * np.arange(-12, 13) for factor in factors))).ravel()
    chances = np.outer(law, law).ravel()
    terms = [(Fraction(factor), noise) for factor in factors]
    for size in np.unique(sizes):
        reached, beyond = chances[sizes >= size].sum(), chances[sizes > size].sum()
        if beyond > 1e-5 and reached > beyond + 1e-8:
            missed = Fraction((reached + beyond) / 2)
            assert size <= sum_error(terms, 1 - missed) <= size + 14


@pytest.mark.parametrize("count", [2, 3, 6])
def test_sums_of_wide_gaussians_are_as_wide_as_one(count):
    """Where single probabilities are summed, where they are taken from the normal distribution, and
    where a cell has many steps.
    """
    for sigma in (1000, 20_000, 10**9):
        terms = [(Fraction(1), DiscreteGaussian(sigma=sigma))] * count
        for missed, deviations in ((0.05, 1.959963984540054), (1e-5, 4.417173413467605)):
            stated = sum_error(terms, 1 - Fraction(missed))
            assert 1 <= stated / (deviations * math.sqrt(count) * sigma) <= 1.004


def test_an_error_from_one_noise_alone_would_be_caught():
    noises = [(Fraction(1), DiscreteLaplace(scale=5)), (Fraction(1), DiscreteLaplace(scale=5))]
    assert direct_quantile(noises)[0] > DiscreteLaplace(scale=5).error(LEVEL)


PARTS = [
    "3",
    "COUNT(*)",
    "COUNT(b)",
    "SUM(b)",
    "AVG(a)",
    "VAR_POP(b)",
    "STDDEV(a)",
    "COVAR_POP(a, b)",
    "CORR(a, b)",
    "MEDIAN(a)",
    "(COUNT(*) * 2 - SUM(a))",
    "(AVG(b) / 4)",
    "(COUNT(*) * SUM(a))",
]
SHAPES = [
    pytest.param(f"{left} {sign} {right}", id=f"{left} {sign} {right}")
    for left, sign, right in itertools.product(PARTS, "+-*/", PARTS)
    if {left, right} != {"3"}
]
ROWS = [(0, -2), (3, 3), (1, None), (2, 0), (3, -1), (0, 3)] * 40


def exact_measures(made):
    """The integers that the engine would have summed, by brute force over ROWS."""
    lattice = [(a, None if b is None else 2 * b) for a, b in ROWS]
    found = {}
    for aggregate, each in made.estimators:
        if not isinstance(each, Estimator):
            continue
        names = [str(part.name) for part in (aggregate.argument, aggregate.second) if part]
        columns = [["a", "b"].index(name) for name in names]
        kept = [row for row in lattice if all(row[column] is not None for column in columns)]
        values = [[row[column] for row in kept] for column in columns]
        if not columns or aggregate.statistic == "values":
            sums = [len(kept)]
        elif aggregate.statistic == "sum":
            sums = [sum(values[0])]
        elif each.second is None:
            moved = [value - each.centre for value in values[0]]
            sums = [len(kept), sum(moved), sum(value**2 for value in moved)][: len(each.positions)]
        else:
            moved = [
                [value - axis.centre for value in column]
                for axis, column in zip((each.axis, each.second), values, strict=True)
            ]
            y, x = moved
            sums = [
                len(kept),
                *(sum(side) for side in (y, x)),
                sum(p * q for p, q in zip(y, x, strict=True)),
            ]
            if len(each.positions) != len(sums):
                return None  # a correlation: its error is not known in advance
        found.update(zip(each.positions, sums, strict=True))
    return [found[place] for place in range(len(made.measures))]


@pytest.mark.parametrize("text", SHAPES)
def test_every_shape_has_an_error_that_covers_or_none(text):
    """At the corners of the noises that the error allows for, the answer is no further off."""
    made = planned(text, Pure(epsilon=20))
    count = min(len(ROWS), sum(b is not None for _, b in ROWS))
    stated = error_of(made, count)["x"]
    if stated is None:
        return
    assert not made.picks  # of what is picked nothing but its bounds is known in advance
    exact = exact_measures(made)
    if exact is None:
        assert stated == 0  # a correlation less itself
        return
    level = 1 - (1 - LEVEL) / len(made.measures)
    widths = [int(noise.error(level)) for noise in made.noises]
    corners = np.array(list(itertools.product((-1, 0, 1), repeat=len(widths)))) * widths
    groups = ((),) * len(corners)
    noisy = tuple(np.array(exact)[:, None] + corners.T)
    values = estimates(Released(made, groups, noisy))["x"].value
    truth = values[len(corners) // 2]
    only_measures = error_of(made)["x"] is not None
    if only_measures:  # the law of the sum is tested above; one noise at a time is in any of them
        kept = np.count_nonzero(corners, axis=1) <= 1
        one = np.array([int(noise.error(LEVEL)) for noise in made.noises])
        kept &= (np.abs(corners) <= one).all(axis=1)
        values = values[kept]
    assert np.abs(values - truth).max() <= stated * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("AVG(a) * 2", True),
        ("AVG(a) - AVG(b) + COUNT(*)", True),
        ("COUNT(*) * SUM(a)", False),
        ("SUM(a) / COUNT(*)", False),
        ("3 / COUNT(*)", False),
        ("CORR(a, b) * 2", False),
    ],
)
def test_what_is_known_with_a_count(text, known):
    made = planned(text, Pure(epsilon=1))
    assert error_of(made)["x"] is None
    assert (error_of(made, 10_000)["x"] is not None) == known


def test_twice_an_average_has_twice_its_error():
    alone, twice = (planned(text, Pure(epsilon=1)) for text in ("AVG(a)", "2 * AVG(a)"))
    assert error_of(twice, 900)["x"] == 2 * error_of(alone, 900)["x"]


PRICED = [
    ("COUNT(*) / 2 AS x", 10, None),
    ("COUNT(*) / 2 AS x, COUNT(*) AS y", 10, None),
    ("SUM(a) - SUM(b) AS x", 40, None),
    ("SUM(a) - SUM(b) AS x, COUNT(*) AS y", {"x": 40}, None),
    ("SUM(a) * 3 + COUNT(b) / 2 AS x, COUNT(*) AS y", {"x": 40, "y": 3}, None),
    ("AVG(a) * 10 - COUNT(*) AS x", 30, 500),
    ("COUNT(*) - COUNT(*) AS x, SUM(a) AS y", 10, None),
]


@pytest.mark.parametrize("kind", [Pure, ZCDP])
@pytest.mark.parametrize(("outputs", "error", "count"), PRICED)
def test_a_wanted_error_is_reached_and_paid_for_no_more_than_needed(outputs, error, count, kind):
    first = Pure(epsilon=1) if kind is Pure else ZCDP(rho=1)
    draft = draft_of(f"SELECT {outputs} FROM t", first)
    made = price_for_error(draft, error, kind, count)
    reached = error_of(made, count)
    wanted = error if isinstance(error, dict) else dict.fromkeys(reached, error)
    assert all(reached[name] <= width for name, width in wanted.items())
    assert max(reached[name] / width for name, width in wanted.items()) > 0.9


def test_half_a_count_costs_half_of_what_the_count_costs():
    draft = draft_of("SELECT COUNT(*) / 2 AS x FROM t", Pure(epsilon=1))
    plain = draft_of("SELECT COUNT(*) AS x FROM t", Pure(epsilon=1))
    assert price_for_error(draft, 10, Pure, None).cost == (
        price_for_error(plain, 20, Pure, None).cost
    )


def test_products_of_counts_are_refused_at_an_error():
    draft = draft_of("SELECT COUNT(*) * SUM(a) AS x FROM t", Pure(epsilon=1))
    with pytest.raises(UnprovableRequest, match="depends on a secret count"):
        price_for_error(draft, 10, Pure, None)
    with pytest.raises(UnprovableRequest, match="cannot be known in advance"):
        price_for_error(draft, 10, Pure, 100)
