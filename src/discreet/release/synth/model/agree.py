"""Makes noisy marginals agree: each is split into independent components, one for every subset of
its attributes, and components that several marginals tell are averaged by their precision. For
equal variances within a marginal this is the projection in units of the noise, so a model fits the
result exactly as well as what was measured. Released numbers only.
"""

import itertools
import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.release.synth.model.folds import expand, sum_to
from discreet.release.synth.model.junction import Clique

__all__ = ["agreeing"]

Table = NDArray[np.float64]


def agreeing(noisy: Mapping[Clique, tuple[Table, float]]) -> dict[Clique, Table]:
    """Marginals that sum to one and agree where they overlap, from values and variances.

    Privacy: post-processing; components are those of [XHZK23, Sec. 4].
    >>> found = agreeing({(0,): (np.array([0.2, 0.8]), 1.0), (0, 1): (np.eye(2) / 2, 0.5)})
    >>> found[(0,)].round(6).tolist(), found[(0, 1)].sum(axis=1).round(6).tolist()
    ([0.35, 0.65], [0.35, 0.65])
    """
    sums: dict[Clique, Table] = {}
    precisions: dict[Clique, float] = {}
    for clique, (table, variance) in noisy.items():
        for subset in _subsets(clique):
            if not subset:
                continue
            outside = math.prod(
                length for at, length in zip(clique, table.shape, strict=True) if at not in subset
            )
            precision = 1 / (variance * outside)
            component = precision * _centred(sum_to(table, clique, subset))
            sums[subset] = sums[subset] + component if subset in sums else component
            precisions[subset] = precisions.get(subset, 0.0) + precision
    return {
        clique: _joined(clique, table, sums, precisions) for clique, (table, _) in noisy.items()
    }


def _joined(
    clique: Clique,
    table: Table,
    sums: Mapping[Clique, Table],
    precisions: Mapping[Clique, float],
) -> Table:
    found = np.full(table.shape, 1 / table.size)
    for subset in _subsets(clique):
        if subset:
            component = sums[subset] / precisions[subset]
            outside = table.size / component.size
            found = found + expand(component, subset, clique) / outside
    return found


def _subsets(clique: Clique) -> Iterable[Clique]:
    return itertools.chain.from_iterable(
        itertools.combinations(clique, size) for size in range(len(clique) + 1)
    )


def _centred(table: Table) -> Table:
    """Without what lower components tell: every line along every axis sums to nothing."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table
