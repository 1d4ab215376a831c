"""Histograms over keys that nobody declared: only keys with enough rows show, with noisy counts.
The threshold is the curator's own (`discreet.mechanisms.keys.threshold`); this counts rows for it.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.loss import Approximate, Relation, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.keys.threshold import Threshold
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive, whole
from discreet.robust.rows import count_moved_rows, read_integers

__all__ = ["StabilityHistogram"]


@dataclass(frozen=True, slots=True)
class StabilityHistogram:
    """Noisy counts of integer keys, over an unlimited domain; rare keys stay hidden.

    Units of up to r rows are counted in lots of r rows, rounded up, so that one unit moves the
    lots of a key by at most one.
    Privacy: (epsilon, delta)-DP for the relation, with units of up to `rows_per_unit` rows
    [KKMN09], [KV18]; derived for discrete noise in docs/proofs/keys.md.
    >>> StabilityHistogram(epsilon=1, delta=1e-6).mechanism.threshold
    15
    """

    epsilon: Fraction
    delta: Fraction
    relation: Relation
    rows_per_unit: int

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        relation: Relation = Relation.ADD_REMOVE,
        rows_per_unit: int = 1,
    ) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", positive(delta, "delta"))
        object.__setattr__(self, "relation", Relation(relation))
        object.__setattr__(self, "rows_per_unit", whole(rows_per_unit, "rows_per_unit"))
        _ = self.mechanism  # refuses a delta that cannot be used

    @property
    def sensitivity(self) -> Sensitivity:
        """How many keys one step touches, each by one lot.

        >>> StabilityHistogram(epsilon=1, delta=1e-6, relation="replace").sensitivity.groups
        2
        """
        return Sensitivity(groups=count_moved_rows(self.relation, self.rows_per_unit), per_group=1)

    @property
    def mechanism(self) -> Threshold:
        """The noise and the threshold on lots.

        >>> StabilityHistogram(epsilon=0.5, delta=1e-6).mechanism.noise
        DiscreteLaplace(scale=Fraction(2, 1))
        """
        keys = self.sensitivity
        noise = DiscreteLaplace(scale=keys.l1 / self.epsilon)
        return Threshold.of(noise=noise, delta=self.delta, keys_per_unit=keys.groups)

    def loss(self) -> Approximate:
        """The cost of one release.

        Privacy: (epsilon, delta)-DP [KKMN09].
        >>> StabilityHistogram(epsilon=1, delta=1e-6).loss().epsilon
        Fraction(1, 1)
        """
        spent = self.mechanism.loss(self.sensitivity)
        return Approximate(epsilon=self.epsilon, delta=spent.delta)

    def release(self, exact: Any, bits: BitSource = system) -> dict[int, int]:
        """The keys that show, in ascending order, with their noisy numbers of rows.

        Privacy: as `loss` says.
        >>> list(StabilityHistogram(epsilon=1, delta=1e-9).release([7] * 500 + [8]))
        [7]
        """
        keys, counts = np.unique(read_integers(exact, "the exact keys"), return_counts=True)
        lots = -(-counts // self.rows_per_unit)
        shown, noisy = self.mechanism.release(lots, bits)  # keys are in order, so places are too
        pairs = zip(keys[shown], noisy, strict=True)
        return {int(key): int(lot) * self.rows_per_unit for key, lot in pairs}
