"""How a synthesis spends its budget: what one-way counts, choices and measurements get, how fine
values are distinguished, how large the model may grow. Public numbers in, public numbers out.
"""

import math
from dataclasses import dataclass

from discreet.errors import InvalidValue

__all__ = ["Schedule", "schedule"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The shares of a budget and the limits of a model.

    >>> schedule(signal=8450, attributes=14).picks
    4
    """

    ones: float
    """The share of the budget for one-way counts."""
    grade: float
    """The share that tells, in the end, how good the model is."""
    choosing: float
    """The share of each round that goes into choosing."""
    measurements: int
    """How many marginals the rest is planned for, before annealing."""
    picks: int
    """How many marginals one round measures."""
    groups: float
    """About how many groups an ordered attribute gets."""
    least: float
    """What a group must hold, in standard deviations of a measured cell."""
    strength: float
    """The weight of the entropy in a fit, as a share of the rows."""
    cells: float
    """The most cells of the model's tables."""
    steps: int
    """The most steps of one fit."""

    def __post_init__(self) -> None:
        if not 0 < self.ones + self.grade < 1 or not 0 < self.choosing < 1:
            raise InvalidValue(
                f"a schedule with shares {self.ones}, {self.grade} and {self.choosing}; they must "
                "lie between 0 and 1 and leave something over."
            )


def schedule(*, signal: float, attributes: int) -> Schedule:
    """What has worked for a signal: rows over the noise of one count with the whole budget.

    >>> schedule(signal=900, attributes=14).measurements
    8
    """
    signal = max(signal, 1.0)
    measurements = round(min(max(signal / 120, 8, attributes / 2), 9 * attributes))
    return Schedule(
        ones=min(0.6, max(0.06, 18 / math.sqrt(signal))),
        grade=0.01,
        choosing=0.2 if signal < 3000 else 0.15 if signal < 30_000 else 0.1,
        measurements=measurements,
        picks=2 if measurements < 20 else 4 if measurements < 80 else 6,
        groups=min(100.0, max(4.0, 70 * (signal / 72_000) ** 0.8)),
        least=2.0,
        strength=0.001 if signal < 3000 else 0.003 if signal < 30_000 else 0.1,
        cells=2e5 if signal < 3000 else 5e5 if signal < 30_000 else 8e6,
        steps=30 if signal < 30_000 else 60,
    )
