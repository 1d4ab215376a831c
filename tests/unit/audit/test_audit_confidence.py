"""Clopper-Pearson bounds: certified direction, close to the exact ones, honest coverage."""

import math
from fractions import Fraction

import pytest
from scipy.stats import beta

from discreet.audit.evidence.confidence import _log_factorial, lower_bound, upper_bound
from discreet.errors import InvalidValue

CASES = [
    (1, 1, 0.5),
    (1, 10, 1e-6),
    (10, 10, 1e-6),
    (50, 100, 0.025),
    (3, 200_000, 1e-12),
    (100, 140_000, 1e-7),
    (70_000, 140_000, 1e-9),
    (139_999, 140_000, 1e-7),
]


@pytest.mark.parametrize(("successes", "trials", "failure"), CASES)
def test_close_to_the_beta_quantiles_on_the_safe_side(successes, trials, failure):
    exact = beta.ppf(failure, successes, trials - successes + 1)
    found = float(lower_bound(successes, trials, failure=failure))
    assert exact * (1 - 1e-8) <= found <= exact * (1 + 1e-12)
    mirrored = float(upper_bound(trials - successes, trials, failure=failure))
    assert 1 - mirrored == pytest.approx(found, abs=1e-9)


def tail(successes, trials, chance):
    """P(Binomial(trials, chance) >= successes), exactly."""
    return sum(
        math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(successes, trials + 1)
    )


@pytest.mark.parametrize("trials", [1, 7, 60, 61])
def test_the_bound_is_certified_by_the_exact_tail(trials):
    failure = Fraction(1, 1000)
    for successes in {1, 2, trials // 3 + 1, trials // 2 + 1, trials}:
        if successes > trials:
            continue
        bound = lower_bound(successes, trials, failure=failure)
        assert tail(successes, trials, bound) <= failure
        assert tail(successes, trials, bound * (1 + Fraction(1, 10**8))) > failure


def test_coverage_is_what_it_says_for_every_probability():
    trials, failure = 40, Fraction(1, 20)
    lower = [lower_bound(k, trials, failure=failure) for k in range(trials + 1)]
    upper = [upper_bound(k, trials, failure=failure) for k in range(trials + 1)]
    worst = 0
    for chance in (Fraction(step, 50) for step in range(1, 50)):
        law = [
            math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
            for k in range(trials + 1)
        ]
        for wrong in (
            sum(p for p, bound in zip(law, lower, strict=True) if bound > chance),
            sum(p for p, bound in zip(law, upper, strict=True) if bound < chance),
        ):
            assert wrong <= failure
            worst = max(worst, wrong)
    assert worst > failure / 2  # not so wide that it could never be wrong


def test_the_logarithms_of_factorials_are_bracketed():
    for number in (0, 1, 60, 61, 1000):
        low, high = _log_factorial(number)
        exact = Fraction(math.factorial(number))
        assert low <= high
        assert float(low) == pytest.approx(
            math.log(exact.numerator) if number else 0, rel=1e-13, abs=0
        )


def test_edges():
    assert lower_bound(0, 5, failure=0.1) == 0
    assert upper_bound(5, 5, failure=0.1) == 1
    assert lower_bound(3, 5, failure=1) == 0
    assert 0 < upper_bound(0, 5, failure=0.1) < 1


@pytest.mark.parametrize(
    ("successes", "trials", "failure"),
    [(1, 0, 0.1), (-1, 5, 0.1), (6, 5, 0.1), (1, 5, 0), (1, 5, 2), (1, 5, float("nan"))],
)
def test_nonsense_is_refused(successes, trials, failure):
    with pytest.raises(InvalidValue):
        lower_bound(successes, trials, failure=failure)
    with pytest.raises(InvalidValue):
        upper_bound(successes, trials, failure=failure)
