"""Two numbers of one row, y and x: covariance, correlation, the line of least squares, all from the
same noisy sums. Post-processing only: nothing in this file ever sees an exact value.

Sums run over the rows where both are known, of each number less the middle of its bounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from discreet.plan.parts.intervals import (
    Estimate,
    Floats,
    at_least,
    box,
    correct_for_sample,
    difference,
    finite,
    hold_within,
    square,
)
from discreet.plan.sql.bounds import Bounded
from discreet.query.algebra import Statistic

__all__ = [
    "LatticeRange",
    "PAIRED",
    "VARYING",
    "error_of_pair",
    "estimate_pair",
    "influence_of_pair",
    "read_together",
]

PAIRED: Mapping[Statistic, tuple[str, ...]] = MappingProxyType(
    {
        Statistic.COVARIANCE_POPULATION: ("n", "y", "x", "xy"),
        Statistic.COVARIANCE_SAMPLE: ("n", "y", "x", "xy"),
        Statistic.SLOPE: ("n", "y", "x", "xy", "xx"),
        Statistic.INTERCEPT: ("n", "y", "x", "xy", "xx"),
        Statistic.CORRELATION: ("n", "y", "x", "xy", "xx", "yy"),
    }
)
"""The statistics of two numbers, and the sums that each is made from: n counts the rows."""

VARYING: tuple[Statistic, ...] = (Statistic.SLOPE, Statistic.INTERCEPT, Statistic.CORRELATION)
"""Those that equal values do not have, so that no count of rows bounds their error."""

_ROUNDING = 1e-14  # relative: a few dozen roundings of floats
_COVARIANCES = (Statistic.COVARIANCE_POPULATION, Statistic.COVARIANCE_SAMPLE)


@dataclass(frozen=True, slots=True)
class LatticeRange:
    """The lattice and the bounds of one of the two: k * step, with k in [lower, upper].

    >>> LatticeRange(Fraction(1, 2), 10, 0, 20).middle
    5.0
    """

    step: Fraction
    centre: int
    lower: int
    upper: int

    @property
    def middle(self) -> float:
        """What is taken from every value before it is summed."""
        return float(self.centre * self.step)

    @property
    def low(self) -> float:
        """The least value, less the middle."""
        return float((self.lower - self.centre) * self.step)

    @property
    def high(self) -> float:
        """The largest value, less the middle."""
        return float((self.upper - self.centre) * self.step)

    @property
    def half(self) -> float:
        """The largest standard deviation: half of the values at each end of the bounds."""
        return float((self.upper - self.lower) * self.step) / 2

    @property
    def reach(self) -> float:
        """How far a value can be from the middle, and one step at least.

        >>> LatticeRange(Fraction(1), 3, 0, 7).reach
        4.0
        """
        return max(self.high, -self.low, float(self.step))


def read_together(y: Bounded, x: Bounded) -> tuple[Bounded, Bounded, Bounded]:
    """Both numbers, missing where either is; and one of them, to count the rows by.

    That is one which kept its SQL if there is one, else the first.
    A number that is only missing where it was missing before keeps its SQL, so that measures of
    it alone serve for the pair as well.
    """
    left, right = _keep_known(y, x), _keep_known(x, y)
    return left, right, right if left != y and right == x else left


def _keep_known(value: Bounded, other: Bounded) -> Bounded:
    if other.missing == "never" or other.sql == value.sql:
        return value
    sql = f"CASE WHEN {other.sql} IS NOT NULL THEN {value.sql} END"
    return replace(value, sql=sql, missing="possible")


def influence_of_pair(statistic: Statistic, y: LatticeRange, x: LatticeRange) -> tuple[float, ...]:
    """How much the error of each sum adds to that of the statistic, up to one factor.

    To first order: a covariance at worst over all values that the bounds allow, the others as if
    values were spread over their bounds, since without spread their error has no limit.
    >>> one = LatticeRange(Fraction(1), 0, -1, 1)
    >>> influence_of_pair(Statistic.COVARIANCE_POPULATION, one, one)
    (3.0, 1.0, 1.0, 1.0)
    """
    each_y, each_x = 1 / y.reach, 1 / x.reach
    product = each_y * each_x
    if statistic in _COVARIANCES:
        return 3.0, each_y, each_x, product
    if statistic is Statistic.CORRELATION:
        return 6.0, 2 * each_y, 2 * each_x, product, each_x * each_x / 2, each_y * each_y / 2
    slope = 6.0, each_y, 3 * each_x, product, each_x * each_x
    if statistic is Statistic.SLOPE:
        return slope
    # The line is anchored at the means; its slope's error grows with their distance from x = 0.
    far = float(max(abs(x.lower), abs(x.upper)) * x.step) * each_x
    means = 2.0, each_y, each_x, 0.0, 0.0
    return tuple(mean + far * other for mean, other in zip(means, slope, strict=True))


def error_of_pair(
    statistic: Statistic, widths: Sequence[float], y: LatticeRange, x: LatticeRange, *, count: int
) -> float | None:
    """The half-width for an assumed count of rows, given those of the sums that `PAIRED` names.

    It is the worst case over all values the bounds allow; None for a correlation or a line, which
    without spread have none.
    >>> one = LatticeRange(Fraction(1), 0, -1, 1)
    >>> error_of_pair(Statistic.COVARIANCE_POPULATION, [0.0, 0.0, 0.0, 5.0], one, one, count=10)
    0.5
    """
    if statistic in VARYING:
        return None
    least, most = max(count - widths[0], 1.0), _largest(y, x)
    mean_y = (widths[1] + y.reach * widths[0]) / least
    mean_x = (widths[2] + x.reach * widths[0]) / least
    product = (widths[3] + y.reach * x.reach * widths[0]) / least
    error = min(product + y.reach * mean_x + x.reach * mean_y + mean_y * mean_x, 2 * most)
    if statistic is Statistic.COVARIANCE_POPULATION:
        return error
    few, many = max(least, 2.0), max(count + widths[0], 2.0)
    factor, change = few / (few - 1), few / (few - 1) - many / (many - 1)
    return min(factor * error + change * most, 4 * most)


def estimate_pair(
    statistic: Statistic, parts: Sequence[Estimate], y: LatticeRange, x: LatticeRange
) -> Estimate:
    """The statistic from the sums that `PAIRED` names; no noisy row gives all the bounds allow.

    >>> sums = [Estimate(*(np.array([value]) for _ in range(3))) for value in (2.0, 0.0, 0.0, 2.0)]
    >>> one = LatticeRange(Fraction(1), 0, -1, 1)
    >>> estimate_pair(Statistic.COVARIANCE_POPULATION, sums, one, one).value.tolist()
    [1.0]
    """
    sums = dict(zip(PAIRED[statistic], parts, strict=True))
    # All but the covariance of a population have no meaning for fewer than two rows.
    rows = at_least(1.0 if statistic is Statistic.COVARIANCE_POPULATION else 2.0, sums["n"])
    mean_y = hold_within(box(np.divide, sums["y"], rows), sums["n"], y.low, y.high)
    mean_x = hold_within(box(np.divide, sums["x"], rows), sums["n"], x.low, x.high)
    covariance = _subtract(box(np.divide, sums["xy"], rows), box(np.multiply, mean_y, mean_x))
    most = _largest(y, x)
    if statistic is Statistic.COVARIANCE_SAMPLE:
        covariance, most = correct_for_sample(covariance, rows), 2 * most
    covariance = hold_within(covariance, sums["n"], -most, most)
    if statistic in _COVARIANCES:
        return finite(covariance)
    spread_x = _spread(sums["xx"], sums["n"], rows, mean_x, x)
    if statistic is Statistic.CORRELATION:
        spread_y = _spread(sums["yy"], sums["n"], rows, mean_y, y)
        return finite(_correlation(covariance, spread_y, spread_x))
    slope = _slope(covariance, spread_x, y)
    if statistic is Statistic.SLOPE:
        return finite(slope)
    mean_x, mean_y = _shift(mean_x, x.middle), _shift(mean_y, y.middle)
    return finite(_subtract(mean_y, box(np.multiply, slope, mean_x)))


def _largest(y: LatticeRange, x: LatticeRange) -> float:
    """The largest covariance, by Cauchy-Schwarz: half of the values at each end of the bounds."""
    return float((y.upper - y.lower) * y.step * (x.upper - x.lower) * x.step / 4)


def _subtract(left: Estimate, right: Estimate) -> Estimate:
    """A difference whose interval has room for the rounding of both sides, however near."""
    sizes = [np.maximum(np.abs(side.low), np.abs(side.high)) for side in (left, right)]
    return _widen(difference(left, right), sizes[0] + sizes[1])


def _widen(estimate: Estimate, size: Floats) -> Estimate:
    """With room for the rounding of numbers of this size: noise may be just at its limit."""
    slack = _ROUNDING * size
    return Estimate(estimate.value, estimate.low - slack, estimate.high + slack)


def _shift(estimate: Estimate, distance: float) -> Estimate:
    return Estimate(*(end + distance for end in (estimate.value, estimate.low, estimate.high)))


def _spread(
    squares: Estimate, count: Estimate, rows: Estimate, mean: Estimate, axis: LatticeRange
) -> Estimate:
    """The standard deviation; its low end is the least that is not zero.

    Where all values are the same neither a line nor a correlation exists. Else n lattice values
    have a variance of at least that of one of them a step away from the others.
    """
    variance = _subtract(box(np.divide, squares, rows), square(mean))
    variance = hold_within(variance, count, 0.0, _largest(axis, axis))
    least = float(axis.step) * np.sqrt(rows.high - 1) / rows.high
    return Estimate(
        np.sqrt(variance.value),
        np.maximum(np.sqrt(variance.low), least),
        np.maximum(np.sqrt(variance.high), least),
    )


def _divide(covariance: Estimate, divisor: Estimate, most: Estimate) -> Estimate:
    """A ratio inside its limits; where the noisy divisor is not positive its value is zero."""
    ratio = box(np.divide, covariance, divisor)
    ratio = _widen(ratio, np.maximum(np.abs(ratio.low), np.abs(ratio.high)))
    low, high = (np.clip(end, -most.high, most.high) for end in (ratio.low, ratio.high))
    value = np.where(divisor.value > 0, np.clip(ratio.value, -most.value, most.value), 0.0)
    return Estimate(np.clip(value, low, high), low, high)


def _correlation(covariance: Estimate, spread_y: Estimate, spread_x: Estimate) -> Estimate:
    one = np.ones_like(covariance.value)
    return _divide(covariance, box(np.multiply, spread_y, spread_x), Estimate(one, one, one))


def _slope(covariance: Estimate, spread_x: Estimate, y: LatticeRange) -> Estimate:
    """The covariance over the variance of x: at most the spread of y over that of x."""
    half = np.full_like(spread_x.value, y.half * (1 + _ROUNDING))
    most = box(np.divide, Estimate(half, half, half), spread_x)
    return _divide(covariance, square(spread_x), most)
