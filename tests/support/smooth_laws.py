"""The laws of smooth noise and of the ladder, written down a second time for the tests: survival
functions of the ideal draws in floats, what they become on the lattice, and exact ladder weights.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

Survival = Callable[[Any], Any]  # P(Z > z) for z >= 0, elementwise; the laws are symmetric


def cauchy(z: Any) -> Any:
    """P(Z > z) of the standard Cauchy law.

    >>> float(cauchy(1.0))
    0.25
    """
    return np.arctan2(1.0, z) / np.pi


def student(degrees: int) -> Survival:
    """P(T > z) of Student's t.

    >>> round(float(student(1)(1.0)), 12)
    0.25
    """
    from scipy.stats import t

    return lambda z: t.sf(z, degrees)


def laplace(z: Any) -> Any:
    """P(Z > z) of the standard Laplace law.

    >>> float(laplace(0.0))
    0.5
    """
    return np.exp(-np.asarray(z, dtype=float)) / 2


def laplace_log_normal(sigma: float) -> Survival:
    """P(X e^(sigma Y) > z), by the trapezoidal rule, which is exact to rounding here.

    >>> abs(float(laplace_log_normal(0.5)(0.0)) - 0.5) < 1e-14
    True
    """
    grid = np.linspace(-12, 12, 481)
    weights = np.exp(-(grid**2) / 2)
    weights /= weights.sum()
    stretch = np.exp(-sigma * grid)

    def survival(z: Any) -> Any:
        at = np.asarray(z, dtype=float)[..., None]
        return (np.exp(-at * stretch) * weights).sum(axis=-1) / 2

    return survival


def lattice_cdf(survival: Survival, location: Fraction, scale: float) -> Callable[[int], float]:
    """P(Y <= y) for the integer Y nearest to location + scale * Z.

    >>> lattice_cdf(laplace, Fraction(1, 2), 3.0)(0)
    0.5
    """

    def cdf(value: int) -> float:
        at = float(value + Fraction(1, 2) - location) / scale
        tail = float(survival(abs(at)))
        return 1 - tail if at >= 0 else tail

    return cdf


def lattice_pmf(survival: Survival, location: Fraction, scale: float, values: Any) -> Any:
    """P(Y = y), with relative precision in the tails too.

    >>> round(float(lattice_pmf(laplace, Fraction(0), 1.0, np.array([0]))[0]), 6)
    0.393469
    """
    low = (values - 0.5 - float(location)) / scale
    high = (values + 0.5 - float(location)) / scale
    near, far = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
    outer = survival(near) - survival(far)
    return np.where(
        (low < 0) & (high > 0), 1 - survival(np.abs(low)) - survival(np.abs(high)), outer
    )


def ladder_rung(value: int, exact: Fraction, reaches: list[Fraction], width: Fraction) -> int:
    """The least number of rungs that reach a value; beyond the listed ones all have one width.

    >>> ladder_rung(9, Fraction(1), [Fraction(0), Fraction(2)], Fraction(3))
    3
    """
    distance = abs(value - exact)
    for rung, reach in enumerate(reaches):
        if distance <= reach:
            return rung
    return len(reaches) - 1 + math.ceil((distance - reaches[-1]) / width)


def ladder_law(
    exact: Fraction, rungs: list[Fraction], width: int, ratio: Any, span: tuple[int, int]
) -> dict[int, Any]:
    """Probabilities of the values in `span`; what lies beyond goes to its two ends.

    `ratio` stands for exp(-epsilon/2), a Fraction for exact results. The span must reach far
    enough that each value beyond it lies on a rung of full width.
    >>> law = ladder_law(Fraction(0), [], 1, Fraction(1, 2), (-3, 3))
    >>> law[0], sum(law.values())
    (Fraction(1, 3), Fraction(1, 1))
    """
    reaches = [Fraction(0)]
    for rung in rungs:
        reaches.append(reaches[-1] + rung)
    weights = {
        value: ratio ** ladder_rung(value, exact, reaches, Fraction(width))
        for value in range(span[0], span[1] + 1)
    }
    for end, step in ((span[0], -1), (span[1], 1)):
        # One period of `width` values beyond the end, then a geometric series of them.
        period = sum(
            ratio ** ladder_rung(end + step * more, exact, reaches, Fraction(width))
            for more in range(1, width + 1)
        )
        weights[end] += period / (1 - ratio)
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()}
