"""The public range and lattice of a numeric question."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.local.protocol import NumberRandomizer
from discreet.mechanisms.additive.lattice import Lattice
from discreet.rationals import Number

__all__ = ["largest_variance", "positions", "read_lattice", "span"]

_MOST_STEPS = 1 << 20


def read_lattice(*, lower: Number, upper: Number, step: Number) -> Lattice:
    """A lattice with at least one and not too many steps."""
    lattice = Lattice(step=step, lower=lower, upper=upper)
    steps = span(lattice)[1]
    if not 1 <= steps <= _MOST_STEPS:
        raise InvalidValue(
            f"the range from {lower} to {upper} has {steps} steps of {step}; "
            f"it must have from 1 to {_MOST_STEPS}. Choose another step."
        )
    return lattice


def span(lattice: Lattice) -> tuple[int, int]:
    """The lowest place on the lattice and the number of steps up to the highest."""
    first = round(lattice.lower / lattice.step)
    return first, round(lattice.upper / lattice.step) - first


def positions(lattice: Lattice, exact: Any) -> tuple[NDArray[np.int64], bool]:
    """Steps above the lowest place, and whether there was one answer only.

    Privacy: NONE: the result is exact; it goes to a randomizer.
    """
    first = span(lattice)[0]
    if isinstance(exact, np.ndarray) and exact.dtype.kind in "iuf":
        distinct, where = np.unique(exact, return_inverse=True)
        steps = lattice.steps(distinct)
        return np.array([place - first for place in steps], dtype=np.int64)[where].ravel(), False
    single = not isinstance(exact, list | np.ndarray)
    steps = lattice.steps([exact] if single else exact)
    return np.array([place - first for place in steps], dtype=np.int64), single


def largest_variance(randomizer: NumberRandomizer) -> float:
    """The variance of a report on the answer that makes it largest.

    Every variance here is a quadratic function of the answer that is symmetric about the middle
    of the lattice, so that the largest is at an end or beside the middle.
    """
    first, steps = span(randomizer.lattice)
    places = {0, steps // 2, (steps + 1) // 2, steps}
    step = randomizer.lattice.step
    return max(randomizer.variance(step * (first + place)) for place in places)
