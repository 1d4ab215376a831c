"""Prices of smooth noise, lazy digits and their refinement, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.noise.bits import SeededBits
from discreet.robust.smooth.growth import Growth, smooth_bound
from discreet.robust.smooth.ladder import LadderMechanism
from discreet.robust.smooth.laplace_noise import LaplaceShape, LogNormalShape
from discreet.robust.smooth.lazy import Exponential, Product, QuarterDisc, Ratio, nearest_integer
from discreet.robust.smooth.mechanism import Estimate, SmoothNoise
from discreet.robust.smooth.student_noise import CauchyShape, StudentShape


def exactly_one(_digits):
    return Fraction(1), Fraction(1)


class Scripted:
    """Bits from a list of (count, value), then zeros: to reach what chance hardly ever does."""

    def __init__(self, *values):
        self.values = list(values)
        self.asked = 0

    def bits(self, count):
        self.asked += count
        return self.values.pop(0) if self.values else 0

    def fill(self, buffer):
        buffer[:] = 0

    def fresh(self):
        return self


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 5])
def test_prices_are_met_exactly_by_pure_shapes(epsilon):
    for noise in (
        CauchyShape.priced(epsilon=epsilon),
        CauchyShape.priced(epsilon=epsilon, share=0.2),
        StudentShape.priced(epsilon=epsilon),
        StudentShape.priced(epsilon=epsilon, degrees=7, share=0.3),
    ):
        assert noise.loss.epsilon == epsilon


@given(
    st.fractions(Fraction(1, 10**6), 40, max_denominator=10**6),
    st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
    st.integers(1, 9),
)
def test_prices_are_never_exceeded(epsilon, share, degrees):
    for noise in (
        CauchyShape.priced(epsilon=epsilon, share=share),
        StudentShape.priced(epsilon=epsilon, degrees=degrees, share=share),
    ):
        assert epsilon * Fraction(99, 100) <= noise.loss.epsilon <= epsilon


@given(st.fractions(Fraction(1, 10), 5), st.fractions(Fraction(1, 10), 5))
def test_cauchy_costs_the_hyperbolic_distance(sliding, smoothing):
    """The largest log ratio over a grid that includes where it is reached, from both sides."""
    stated = float(CauchyShape().loss(sliding=sliding, smoothing=smoothing).epsilon)
    found = 0.0
    for stretch in (0.0, float(smoothing)):
        place, scale = float(sliding), math.exp(stretch)  # the other law, beside (0, 1)
        angle = np.linspace(-math.pi / 2, math.pi / 2, 20_001)[1:-1]
        y = np.tan(angle)
        log_ratio = np.log(scale * (1 + y**2) / ((y - place) ** 2 + scale**2))
        found = max(found, float(np.abs(log_ratio).max()))
    assert 0.995 * stated <= found <= stated * (1 + 1e-12)


@given(
    st.fractions(Fraction(1, 100), 10, max_denominator=100),
    st.integers(1, 12).map(lambda power: Fraction(1, 10**power)),
)
def test_laplace_prices_stay_within_both_parts(epsilon, delta):
    noise = LaplaceShape.priced(epsilon=epsilon, delta=delta)
    assert noise.loss.epsilon == epsilon
    assert Fraction(9, 10) * delta <= noise.loss.delta <= delta or noise.smoothing >= epsilon * 0.49
    # No worse than the smoothing of the source, epsilon/(2 ln(2/delta)), meant for small epsilon.
    assert epsilon > 1 or noise.smoothing >= float(epsilon) / (2 * math.log(2 / delta)) * (1 - 1e-9)


@given(st.fractions(Fraction(1, 1000), 10, max_denominator=1000))
def test_log_normal_prices_stay_within_rho(rho):
    noise = LogNormalShape.priced(rho=rho)
    assert rho * Fraction(999, 1000) <= noise.loss.rho <= rho


def test_the_delta_of_a_stretch_is_the_integral():
    tolerance, smoothing = 0.5, 0.1
    from scipy.integrate import quad

    shrink = math.exp(smoothing)

    def excess(z):
        narrow = shrink * math.exp(-shrink * z)
        return max(0.0, math.exp(-z) - math.exp(tolerance) * narrow)

    integral = quad(excess, 0, 200, limit=400, epsabs=1e-13)[0]
    stated = LaplaceShape(tolerance=tolerance)._delta(Fraction(1, 10))
    assert float(stated) == pytest.approx(integral, rel=1e-6)


def test_a_number_on_the_edge_is_looked_at_more_closely():
    """Location 1/2 and a draw of at most 2^-64: more bits are drawn until the side is known."""
    few = Scripted(1, 1 << 63, 1)  # negative, then x = 2^63 of 2^64
    nearest_integer(Fraction(7), exactly_one, Ratio(few), few)
    assert few.asked == 64 + 64 + 1
    many = Scripted(0, 1 << 63, 0)  # x = 0 and y = 1/2: the ratio is 0 as far as one can see
    draw = Ratio(many)
    found = nearest_integer(Fraction(-1, 2), exactly_one, draw, many)
    assert found == 0  # the ratio is never negative, so the sum is at least -1/2


def test_a_draw_that_is_not_bounded_yet_is_refined():
    draw = Exponential(Scripted(0, 1 << 40))
    assert draw.bounds(30)[1] is None
    draw.refine()
    low, high = draw.bounds(30)
    assert high - low < Fraction(1, 10**9)
    assert math.isclose(float(low), 128 * math.log(2) - 40 * math.log(2), rel_tol=1e-9)
    ratio = Ratio(Scripted(5, 0, 3, 1 << 63))
    assert ratio.bounds(20)[1] is None


def test_points_outside_the_disc_are_refused():
    corner = (1 << 64) - 1
    point = QuarterDisc(Scripted(corner, corner, 1, 2))
    assert (point.x, point.y) == (1, 2)
    undecided = QuarterDisc(Scripted(0, corner, 0, 0, 9, 9))  # x^2 + y^2 within 2^-63 of 1
    assert undecided.length == 128


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_nested(seed):
    bits = SeededBits(seed)
    draws = [
        Ratio(bits),
        Exponential(bits),
        Product(sigma=Fraction(1, 2), bits=bits),
        StudentShape(degrees=3).draw(bits),
    ]
    for draw in draws:
        low, high = draw.bounds(20)
        for digits in (40, 60):
            draw.refine()
            inner_low, inner_high = draw.bounds(digits)
            assert low <= inner_low <= inner_high <= high
            low, high = inner_low, inner_high
        assert high - low < Fraction(1, 10**30) * max(1, high)


def test_nothing_exact_is_shown():
    growth = Growth(exact=123456, rungs=[777], limit=99999)
    bound = smooth_bound(growth, smoothing=Fraction(1))
    noise = CauchyShape.priced(epsilon=1)
    for text in (repr(growth), str(growth), repr(bound), repr(noise)):
        assert not any(word in text for word in ("123456", "777", "99999"))
    with pytest.raises(InvalidValue) as refused:
        Growth(exact=123456, rungs=[888, 777], limit=99999)
    assert not any(word in str(refused.value) for word in ("123456", "888", "777"))


@pytest.mark.parametrize(
    "rungs", [[2, 1], [-1, 3], [5, 11]], ids=["falling", "negative", "above the limit"]
)
def test_growths_that_cannot_be_are_refused(rungs):
    with pytest.raises(InvalidValue, match="never fall"):
        Growth(exact=0, rungs=rungs, limit=10)


def test_what_has_no_proof_is_refused():
    with pytest.raises(UnprovableRequest, match="at most that"):
        SmoothNoise(shape=LaplaceShape(tolerance=0.1), sliding=1, smoothing=0.2)
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        CauchyShape.priced(epsilon=1, share=1)
    with pytest.raises(InvalidValue, match="below 1"):
        LaplaceShape.priced(epsilon=1, delta=1)
    for bad in (0, -1, float("nan"), True, "1"):
        with pytest.raises(InvalidValue):
            CauchyShape.priced(epsilon=bad)
        with pytest.raises(InvalidValue):
            LadderMechanism(epsilon=bad)
    with pytest.raises(InvalidValue, match="largest is 100"):
        StudentShape(degrees=101)
    with pytest.raises(InvalidValue, match=r"0\.01 and 5"):
        LogNormalShape(sigma=6)


def test_a_constant_is_released_as_it_is():
    """A limit of 0 is public: every data set has this value."""
    growth = Growth(exact=Fraction(5), rungs=[], limit=0)
    for mechanism in (CauchyShape.priced(epsilon=0.01), LadderMechanism(epsilon=0.01)):
        assert mechanism.release(growth) == 5


def test_bounds_of_any_size():
    growth = Growth(exact=0, rungs=np.array([10**30, 10**40], dtype=object), limit=10**50)
    bound = smooth_bound(growth, smoothing=Fraction(30)).bounds(30)
    assert 10**30 <= bound[0] <= bound[1]
    assert isinstance(CauchyShape.priced(epsilon=1).release(growth), int)
    assert isinstance(LadderMechanism(epsilon=1).release(growth), int)


def test_estimates_carry_their_guarantee():
    from discreet.robust.smooth.mechanism import estimate
    from discreet.robust.smooth.quantile import SmoothQuantile

    query = SmoothQuantile(fraction=0.5, lower=0, upper=10, relation="replace")
    found = estimate(query, [], LaplaceShape.priced(epsilon=1, delta=1e-6))
    assert isinstance(found, Estimate)
    assert found.relation.value == "replace"
    assert found.loss.epsilon == 1
    assert 0 <= found.noisy <= 10
