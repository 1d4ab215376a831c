"""Releases against exact distributions, with fresh bits: the choice of blocks, the noise of counts,
contrasts and the factorisation; claimed variances against what was seen, on real shapes too.
"""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.linear.hierarchy import Hierarchy
from discreet.loss import ZCDP, Pure
from discreet.noise.bits import system
from discreet.release.tables.adaptive import Adaptive
from discreet.release.tables.allocation import Unit, contrasts_for, counts_for
from discreet.release.tables.blocks import Blocks
from discreet.release.tables.marginals import Marginals, every
from discreet.release.tables.measure import measure_tables
from discreet.release.tables.ordered import ordered
from discreet.release.tables.running import Running, square_root
from discreet.release.tables.workload import Workload
from support.fit import check_fit, rejects
from support.mechanism_laws import gaussian_weights, laplace_cdf
from support.release_laws import blocks_law

SHAPES = Path(__file__).parents[3] / "shared" / "data" / "dpbench1d"
COUNTS = np.array([3, 0, 1, 1])
DRAWS = 2_500


def law_of_blocks(epsilon):
    return blocks_law(COUNTS.tolist(), math.exp(-epsilon / 2))


def law_of_places(epsilon):
    return {place: float(chance) for place, chance in enumerate(law_of_blocks(epsilon).values())}


@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_the_choice_of_blocks_fits_and_a_wrong_rate_is_caught(epsilon):
    index = {choice: place for place, choice in enumerate(law_of_blocks(epsilon))}
    plan = Blocks(cells=4, epsilon=epsilon, least=1)
    places = [index[plan.release(COUNTS)] for _ in range(DRAWS)]
    assert check_fit(places, law_of_places(epsilon), name=f"blocks {epsilon}") > 0
    if epsilon == 2:
        assert rejects(check_fit, places, law_of_places(1), name="blocks at half the rate")


def gaussian_cdf(variance):
    weights = gaussian_weights(variance)
    far = max(weights)
    running = np.cumsum([weights[x] for x in range(-far, far + 1)])
    return lambda value: float(running[min(value, far) + far]) if value >= -far else 0.0


def test_the_noise_of_a_contrast_fits():
    """Two cells: four times the first component is the difference of the two noises."""
    hierarchies = (Hierarchy.flat(2),)
    (made,) = contrasts_for({((0, 1),): 1.0}, hierarchies, rho=Fraction(1, 2), unit=Unit())
    exact = np.array([9, 4])
    seen = []
    for _ in range(DRAWS):
        parts = measure_tables([made], hierarchies, lambda _: exact)
        parts.add_contrast((), np.zeros(()), variance=1.0)
        seen.append(round(4 * float(parts.table(((0, 1),))[0])) - 4 * 5 // 2)
    weights = gaussian_weights(float(made.noise.sigma_squared))
    law: dict[int, float] = {}
    for one, chance in weights.items():
        for other, second in weights.items():
            law[one - other] = law.get(one - other, 0.0) + chance * second
    assert float(made.noise.sigma_squared) == 2.0
    assert check_fit(seen, law, name="contrast of two cells") > 0
    single = {value: law.get(value, 0.0) for value in law}
    assert rejects(check_fit, np.array(seen) // 2, single, name="half the noise")


def test_the_noise_of_counts_fits():
    hierarchies = (Hierarchy.flat(3),)
    (made,) = counts_for({((0, 1),): 1.0}, hierarchies, epsilon=Fraction(1, 2), unit=Unit())
    exact = np.array([1, 2, 3])
    seen = [
        measure_tables([made], hierarchies, lambda _: exact).table(((0, 1),)) - exact
        for _ in range(2000)
    ]
    assert check_fit(
        np.rint(seen).astype(np.int64),
        lambda value: laplace_cdf(math.exp(-0.5), value),
        name="counts",
    )


def test_the_noise_of_the_factorisation_fits():
    cells = 8
    plan = Running.calibrate(cells, rho=Fraction(1, 2), unit=Unit())
    # Counted in steps of sigma/8, so that the law has a table of moderate size.
    column = np.array(square_root(cells))
    matrix = np.array(
        [[column[i - j] if i >= j else 0 for j in range(cells)] for i in range(cells)]
    )
    exact = np.arange(cells)
    sigma = math.sqrt(plan.noise.sigma_squared)
    seen = []
    for _ in range(2_000):
        noise = matrix @ (plan.release(exact).histogram() - exact)
        seen.append(np.floor(noise / (sigma / 8)))

    def cdf(value):
        return 0.5 * math.erfc(-(value + 1) / 8 / math.sqrt(2))

    assert check_fit(np.array(seen).astype(np.int64), cdf, name="factorisation") > 0
    assert rejects(check_fit, 2 * np.array(seen).astype(np.int64), cdf, name="twice the noise")


@pytest.mark.parametrize("price", [Pure(epsilon=0.5), ZCDP(rho=0.05)])
def test_marginals_have_the_variance_they_claim(price):
    """1,200 releases: the mean square is within half of it, seven of its deviations and more."""
    sizes = (2, 3, 4)
    family = Marginals.calibrate(sizes, every(sizes, [1, 2]), price=price)
    truth = measured_truth(family)
    squares = dict.fromkeys(family.wanted, 0.0)
    turns = 1_200
    for _ in range(turns):
        found = family.release(truth)
        for cut in family.wanted:
            squares[cut] += float((found.table(cut) - truth(cut)).ravel()[0] ** 2)
    for cut in family.wanted:
        assert squares[cut] / turns == pytest.approx(family.variance(cut), rel=0.5)


def measured_truth(family):
    cells = np.arange(24).reshape(2, 3, 4)

    def table(cut):
        kept = [axis for axis, _ in cut]
        return cells.sum(axis=tuple(axis for axis in range(3) if axis not in kept))

    assert family.sizes == cells.shape
    return table


def errors(plan, exact, queries, turns):
    ends = np.concatenate([[0], np.cumsum(exact)])
    start, stop = queries
    total = 0.0
    for _ in range(turns):
        found = np.concatenate([[0.0], np.cumsum(plan.release(exact).histogram())])
        off = (found[stop] - found[start]) - (ends[stop] - ends[start])
        total += float((off**2).mean())
    return math.sqrt(total / turns)


def some_queries(cells, count):
    generator = np.random.default_rng(system.bits(64))
    ends = np.sort(generator.integers(0, cells + 1, size=(count, 2)), axis=1)
    ends[:, 1] = np.maximum(ends[:, 1], np.minimum(ends[:, 0] + 1, cells))
    ends[:, 0] = np.minimum(ends[:, 0], ends[:, 1] - 1)
    return ends[:, 0], ends[:, 1]


def shapes():
    if not SHAPES.is_dir():
        pytest.skip("the DPBench shapes are not beside the checkout")
    return {path.name.split(".")[0]: np.load(path) for path in sorted(SHAPES.glob("*.npy"))}


@pytest.mark.parametrize("price", [Pure(epsilon=0.1), ZCDP(rho=0.005)])
def test_the_error_on_real_shapes_is_the_computed_one(price):
    """Mean squares of 60 releases a shape; one release varies by less than its own mean."""
    plan = ordered(4096, price=price)
    found = shapes()
    assert len(found) == 6
    seen = [errors(plan, exact, some_queries(4096, 4000), 10) for exact in found.values()]
    assert np.sqrt(np.mean(np.square(seen))) == pytest.approx(plan.rmse(Workload.RANGES), rel=0.35)


def test_blocks_beat_trees_where_epsilon_times_n_is_small():
    price = Pure(epsilon=0.1)
    trees = ordered(4096, price=price).rmse(Workload.RANGES)
    generator = np.random.default_rng(system.bits(64))
    seen = []
    for exact in shapes().values():
        few = generator.multinomial(10_000, exact / exact.sum())
        plan = Adaptive(cells=4096, price=price)
        seen.append(errors(plan, few, some_queries(4096, 4000), 3))
    assert np.mean(seen) < trees  # about half of it; seven deviations of the mean below
