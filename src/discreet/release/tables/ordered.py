"""The plan for one ordered axis: trees or the factorisation, whichever has the least error.
Public shapes and prices decide; no data.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.loss import Currency, Price
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource
from discreet.release.tables.allocation import Unit
from discreet.release.tables.ranges import Trees
from discreet.release.tables.running import MOST_CELLS, Running
from discreet.release.tables.workload import Places, Workload

__all__ = ["Ordered", "OrderedEstimate", "ordered"]


class OrderedEstimate(Protocol):
    """What a release of an ordered axis gives."""

    @property
    def noises(self) -> tuple[DiscreteLaplace | DiscreteGaussian, ...]:
        """The noises that an estimate combines."""

    def histogram(self) -> NDArray[np.float64]:
        """The estimate of every cell."""

    def range(self, start: int, stop: int) -> float:
        """The estimate of the cells from start up to, not including, stop."""

    def variance(self, start: int, stop: int) -> float:
        """The variance of that estimate."""

    def variances(self, starts: Places, stops: Places) -> NDArray[np.float64]:
        """The variances of many ranges."""


class Ordered(Protocol):
    """A plan for an ordered axis.

    Privacy: its `loss`, under the relation it was planned for.
    """

    @property
    def loss(self) -> Price:
        """What a release costs.

        Privacy: under the relation it was planned for.
        """

    def release(self, exact: NDArray[Any], bits: BitSource = ...) -> OrderedEstimate:
        """Measure a histogram.

        Privacy: as `loss` says.
        """


def ordered(
    cells: int, *, price: Price, unit: Unit | None = None, workload: Workload = Workload.RANGES
) -> Trees | Running:
    """The plan with the least root mean square error over the workload. The price is not exceeded.

    >>> from discreet.loss import ZCDP
    >>> plan = ordered(4096, price=ZCDP(rho=0.5), workload=Workload.PREFIXES)
    >>> round(plan.rmse(Workload.PREFIXES), 2)
    3.55
    """
    unit = Unit() if unit is None else unit
    trees = Trees.calibrate((cells,), price=price, unit=unit, workload=workload)
    if price.currency is Currency.EPSILON or cells > MOST_CELLS:
        return trees
    running = Running.calibrate(cells, rho=price.rho, unit=unit)
    return running if running.rmse(workload) < trees.rmse(workload) else trees
