"""Goodness of fit of every sampler against its exact distribution, fast and exact paths alike."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.noise import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    uniform,
)
from discreet.noise.bits import system
from discreet.noise.discrete import Margin, draw
from discreet.noise.laws import Gaussian, Geometric, Laplace
from support.fit import check_fit, check_rate, rejects

EVERYTHING = Margin(cells=1 << 32, accept=1.0)


def laplace_cdf(scale):
    ratio = -1 / scale

    def cdf(value):
        if value < 0:
            return math.exp(ratio * -value) / (1 + math.exp(ratio))
        return 1 - math.exp(ratio * (value + 1)) / (1 + math.exp(ratio))

    return cdf


def gaussian_cdf(variance):
    reach = int(40 * math.sqrt(variance)) + 10
    values = np.arange(-reach, reach + 1, dtype=float)
    weights = np.exp(-(values**2) / (2 * variance))
    total = np.cumsum(weights) / weights.sum()

    def cdf(value):
        return 0.0 if value < -reach else 1.0 if value >= reach else float(total[value + reach])

    return cdf


def geometric_cdf(scale):
    return lambda value: -math.expm1(-(value + 1) / scale) if value >= 0 else 0.0


LAPLACE_SCALES = [
    Fraction(1, 5),
    Fraction(1),
    Fraction(7, 3),
    Fraction(20),
    Fraction(1000),
    Fraction(10**6),
]
VARIANCES = [Fraction(1, 25), Fraction(1), Fraction(7, 3), Fraction(400), Fraction(10**6)]


@pytest.mark.parametrize("scale", LAPLACE_SCALES, ids=str)
def test_discrete_laplace(scale):
    check_fit(
        discrete_laplace(scale=scale, size=1_000_000),
        laplace_cdf(float(scale)),
        name=f"discrete Laplace {scale}",
    )


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_discrete_gaussian(variance):
    check_fit(
        discrete_gaussian(variance=variance, size=1_000_000),
        gaussian_cdf(float(variance)),
        name=f"discrete Gaussian {variance}",
    )


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(500)], ids=str)
def test_geometric(scale):
    check_fit(
        geometric(scale=scale, size=500_000), geometric_cdf(float(scale)), name=f"geometric {scale}"
    )


@pytest.mark.parametrize(
    "law", [Laplace(Fraction(1)), Laplace(Fraction(200)), Geometric(Fraction(200))], ids=str
)
def test_forced_exact_arithmetic_has_the_same_distribution(law):
    drawn = draw(law, 10_000, system, EVERYTHING)
    if isinstance(law, Geometric):
        drawn = np.maximum(drawn, -1 - drawn)
        check_fit(drawn, geometric_cdf(float(law.scale)), name=f"exact path of {law}")
    else:
        check_fit(drawn, laplace_cdf(float(law.scale)), name=f"exact path of {law}")


@pytest.mark.parametrize("variance", [Fraction(2), Fraction(40_000)], ids=str)
def test_forced_exact_arithmetic_has_the_same_distribution_gaussian(variance):
    drawn = draw(Gaussian(variance), 10_000, system, EVERYTHING)
    check_fit(drawn, gaussian_cdf(float(variance)), name=f"exact path of Gaussian {variance}")


@pytest.mark.parametrize("scale", [Fraction(3), Fraction(300)], ids=str)
def test_single_draws(scale):
    drawn = [discrete_laplace(scale=scale) for _ in range(10_000)]
    check_fit(drawn, laplace_cdf(float(scale)), name=f"single discrete Laplace {scale}")


def test_single_gaussian_draws():
    drawn = [discrete_gaussian(variance=90_000) for _ in range(10_000)]
    check_fit(drawn, gaussian_cdf(90_000.0), name="single discrete Gaussian")


def test_small_batches_use_the_same_law():
    drawn = np.concatenate([discrete_laplace(scale=20, size=500) for _ in range(200)])
    check_fit(drawn, laplace_cdf(20.0), name="batches of 500")


@pytest.mark.parametrize("scale", [Fraction(9), Fraction(100), Fraction(10**6)], ids=str)
def test_a_few_draws_from_a_coarse_table(scale):
    drawn = np.concatenate([discrete_laplace(scale=scale, size=50) for _ in range(2000)])
    check_fit(drawn, laplace_cdf(float(scale)), name=f"batches of 50 at {scale}")


@pytest.mark.parametrize("variance", [Fraction(81), Fraction(10**6)], ids=str)
def test_a_few_gaussian_draws_from_a_coarse_table(variance):
    drawn = np.concatenate([discrete_gaussian(variance=variance, size=50) for _ in range(2000)])
    check_fit(drawn, gaussian_cdf(float(variance)), name=f"Gaussian batches of 50 at {variance}")


def test_draws_are_independent_of_their_neighbours():
    first, second = discrete_laplace(scale=1000, size=800_000).reshape(-1, 2).T
    ratio = math.exp(-0.001)
    above = ratio / (1 + ratio)  # P(x > 0)
    agree = int(((first > 0) == (second > 0)).sum())
    check_rate(agree, len(first), above**2 + (1 - above) ** 2, name="signs of neighbours")
    both = int(((np.abs(first) > 1000) & (np.abs(second) > 1000)).sum())
    chance = 2 * ratio**1001 / (1 + ratio)
    check_rate(both, len(first), chance**2, name="neighbouring magnitudes")


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(999, 1000)], ids=str)
def test_rational_coins(chance):
    heads = sum(bernoulli(chance) for _ in range(50_000))
    check_rate(heads, 50_000, float(chance), name=f"coin {chance}")


@pytest.mark.parametrize(
    "gamma", [Fraction(1, 100), Fraction(1), Fraction(5, 2), Fraction(8)], ids=str
)
def test_exponential_coins(gamma):
    tosses = 20_000 if gamma < 5 else 50_000  # heads are rare there
    heads = sum(bernoulli_exp(gamma) for _ in range(tosses))
    check_rate(heads, tosses, math.exp(-gamma), name=f"coin exp(-{gamma})")


def test_dice():
    check_fit([uniform(6) for _ in range(30_000)], dict.fromkeys(range(6), 1 / 6), name="dice")


class TestPlantedBugs:
    """The checks above fail on samplers that are wrong in the usual ways."""

    def test_half_the_noise(self):
        drawn = discrete_laplace(scale=10, size=200_000)
        assert rejects(check_fit, drawn, laplace_cdf(20.0), name="half")

    @pytest.mark.parametrize("scale", [1, 20, 1000])
    def test_ten_percent_too_little(self, scale):
        drawn = discrete_laplace(scale=Fraction(9, 10) * scale, size=1_000_000)
        assert rejects(check_fit, drawn, laplace_cdf(float(scale)), name="10%")
        drawn = discrete_gaussian(variance=(Fraction(9, 10) * scale) ** 2, size=1_000_000)
        assert rejects(check_fit, drawn, gaussian_cdf(float(scale) ** 2), name="10%")

    def test_off_by_one(self):
        drawn = discrete_laplace(scale=20, size=1_000_000) + 1
        assert rejects(check_fit, drawn, laplace_cdf(20.0), name="shifted")

    def test_zero_counted_twice(self):
        drawn = geometric(scale=5, size=1_000_000)
        signs = 1 - 2 * (geometric(scale=1, size=1_000_000) & 1)
        assert rejects(check_fit, drawn * signs, laplace_cdf(5.0), name="double zero")

    def test_continuous_noise_rounded(self):
        continuous = np.random.default_rng(system.bits(128)).laplace(scale=1.0, size=1_000_000)
        drawn = np.rint(continuous).astype(np.int64)
        assert rejects(check_fit, drawn, laplace_cdf(1.0), name="rounded Laplace")
        normal = np.random.default_rng(system.bits(128)).normal(scale=0.6, size=1_000_000)
        drawn = np.rint(normal).astype(np.int64)
        assert rejects(check_fit, drawn, gaussian_cdf(0.36), name="rounded Gaussian")

    def test_a_truncated_tail(self):
        drawn = np.clip(discrete_gaussian(variance=400, size=1_000_000), -60, 60)
        assert rejects(check_fit, drawn, gaussian_cdf(400.0), name="truncated")


@pytest.mark.soak
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(20), Fraction(1000)], ids=str)
def test_fit_of_a_hundred_million(scale):
    drawn = np.concatenate([discrete_laplace(scale=scale, size=10_000_000) for _ in range(10)])
    check_fit(drawn, laplace_cdf(float(scale)), name=f"long discrete Laplace {scale}")
    drawn = np.concatenate(
        [discrete_gaussian(variance=scale**2, size=10_000_000) for _ in range(10)]
    )
    check_fit(drawn, gaussian_cdf(float(scale) ** 2), name=f"long discrete Gaussian {scale}")
