"""Propose-test-release for every query whose growth is known: quantiles, trimmed means, graph
statistics. Owns the exact distance in units; the test, the noise and the refusal are `propose`'s.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.loss import Approximate
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, whole
from discreet.robust.smooth.growth import Growth, Query
from discreet.robust.tested.outcome import Outcome, Refused, Shown
from discreet.robust.tested.propose import ProposeTestRelease

__all__ = ["GrowthProposal", "growth_distance"]

_FAR = 1 << 40  # a constant, so the capped distance moves by at most one too


def growth_distance(growth: Growth, *, bound: int) -> int:
    """How many units away a unit can first move the value by more than the bound.

    Not private by itself: goes to a test. From one neighbour to the next it moves by at most one,
    because A_k(x) <= A_{k+1}(x').
    >>> growth_distance(Growth(exact=0, rungs=[1, 1, 4], limit=9), bound=3)
    2
    """
    limit = whole(bound, "bound", least=0) * growth.resolution
    if growth.limit <= limit:
        return _FAR
    return int(np.count_nonzero(growth.rungs <= limit))  # they never fall


@dataclass(frozen=True, slots=True)
class GrowthProposal:
    """A query, and a proposed bound on what one unit changes, in lattice steps.

    Privacy: (epsilon, delta)-DP for the query's relation and units [DL09], [Vad17, Sec. 3.2];
    docs/proofs/robust.md.
    >>> from discreet.robust.smooth.quantile import SmoothQuantile
    >>> median = SmoothQuantile(fraction=0.5, lower=0, upper=10**6)
    >>> GrowthProposal(query=median, bound=5, epsilon=1, delta=1e-9).release([0, 10**6])
    Refused(what='a value')
    """

    query: Query
    mechanism: ProposeTestRelease

    def __init__(
        self,
        *,
        query: Query,
        bound: int,
        epsilon: Number,
        delta: Number,
        test_share: Number = Fraction(1, 2),
    ) -> None:
        # Distances are counted in units here, so one step moves them by one.
        mechanism = ProposeTestRelease(
            bound=bound, epsilon=epsilon, delta=delta, test_share=test_share
        )
        object.__setattr__(self, "query", query)
        object.__setattr__(self, "mechanism", mechanism)

    def loss(self) -> Approximate:
        """The cost of one release, whether it refuses or not.

        Privacy: for the relation and the units of the query [DL09], [Vad17, Sec. 3.2].
        """
        return self.mechanism.loss()

    def release(
        self, exact: Any, bits: BitSource = system, *, what: str = "a value"
    ) -> Outcome[int]:
        """The noisy number of steps within the public range, or a refusal.

        Privacy: as `loss` says.
        >>> from discreet.robust.smooth.quantile import SmoothQuantile
        >>> median = SmoothQuantile(fraction=0.5, lower=0, upper=1000)
        >>> proposal = GrowthProposal(query=median, bound=5, epsilon=1, delta=1e-6)
        >>> 200 < proposal.release([500] * 999).value < 800
        True
        """
        growth = self.query.growth(exact)
        distance = growth_distance(growth, bound=self.mechanism.bound)
        # Rounded down, values at most an integer apart stay at most that far apart.
        outcome = self.mechanism.decide(math.floor(growth.exact), distance, bits, what=what)
        return outcome if isinstance(outcome, Refused) else Shown(self.query.clamp(outcome.value))
