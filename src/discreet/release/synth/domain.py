"""What synthetic data is made of: attributes with finitely many values, and groups of values that
a model does not tell apart. Public facts and released numbers only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue

__all__ = ["Attribute", "Binning", "LARGEST_ATTRIBUTE", "bin_values"]

LARGEST_ATTRIBUTE = 4096
"""The most values of one attribute; wider columns are cut into public buckets first."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column as synthetic data sees it: values 0 to size - 1, with or without an order."""

    name: str
    size: int
    ordered: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.size <= LARGEST_ATTRIBUTE:
            raise InvalidValue(
                f"{self.name} has {self.size:,} values; synthetic data takes 1 to "
                f"{LARGEST_ATTRIBUTE:,}. Use coarser steps or fewer keys. Nothing was charged."
            )


@dataclass(frozen=True, slots=True)
class Binning:
    """Which group each value of an attribute is in, and its share of that group.

    >>> Binning(np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0])).count
    2
    """

    groups: NDArray[np.int64] = field(repr=False)
    shares: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        if self.groups.shape != self.shares.shape or self.groups.min(initial=0) < 0:
            raise InvalidValue("a binning needs one group and one share for each value.")

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(self.groups.max()) + 1

    @property
    def members(self) -> NDArray[np.int64]:
        """How many values each group has.

        >>> Binning(np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0])).members.tolist()
        [2, 1]
        """
        return np.bincount(self.groups, minlength=self.count)

    def table(self) -> NDArray[np.float64]:
        """The shares as a matrix, groups by values.

        >>> Binning(np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0])).table().shape
        (2, 3)
        """
        matrix = np.zeros((self.count, len(self.groups)))
        matrix[self.groups, np.arange(len(self.groups))] = self.shares
        return matrix


def bin_values(
    attribute: Attribute,
    estimate: Sequence[float] | NDArray[np.float64],
    *,
    most: float,
    least: float,
) -> Binning:
    """Group values by a released estimate of their counts.

    Neighbouring values of an ordered attribute go together until a group holds one part in
    `most` of all; of others, values below `least` go into one group.
    >>> bin_values(Attribute("x", 4, ordered=True), [5, 5, 5, 85], most=3, least=1).groups.tolist()
    [0, 0, 0, 1]
    >>> bin_values(Attribute("x", 4), [50, 1, 48, 1], most=3, least=10).groups.tolist()
    [0, 2, 1, 2]
    """
    counts = np.maximum(np.asarray(estimate, dtype=np.float64), 0)
    wide = attribute.ordered and attribute.size > most
    groups = _bin_runs(counts, counts.sum() / most, least) if wide else _bin_rare(counts, least)
    counts = counts + max(counts.sum(), 1.0) * 1e-12  # no group is without a share
    return Binning(groups, counts / np.bincount(groups, weights=counts)[groups])


def _bin_runs(counts: NDArray[np.float64], enough: float, least: float) -> NDArray[np.int64]:
    groups = np.zeros(len(counts), dtype=np.int64)
    held = 0.0
    for place in range(1, len(counts)):
        held += counts[place - 1]
        full = held >= enough or (counts[place] >= enough and held >= least)
        groups[place] = groups[place - 1] + full
        held = 0.0 if full else held
    sums = np.bincount(groups, weights=counts)
    large = np.cumsum(sums >= least)  # a small group joins the one before it
    merged: NDArray[np.int64] = np.maximum(large - 1, 0)[groups]
    return merged


def _bin_rare(counts: NDArray[np.float64], least: float) -> NDArray[np.int64]:
    common = counts >= least
    groups = np.cumsum(common) - 1
    groups[~common] = common.sum()
    return groups.astype(np.int64)
