"""What a plan may choose on exact counts, as probabilities in floats, and the loss between two
tables. Written from the definitions, not from the mechanisms' code.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from discreet.curator.noising import _histograms
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.plan.pipeline import Plan
from support.mechanism_laws import permute_and_flip_law

ALPHAS = (1.01, 1.5, 2.0, 4.0, 16.0, 64.0)


def cells_of(made: Plan, rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """The exact counts by candidate: for each pick one histogram of every public group."""
    return [
        list(_histograms(pick, [row[1:] for row in rows if row[0] == place], made.groups))
        for place, pick in enumerate(made.picks, 1)
    ]


def choice_laws(choice: Any, counts: Any) -> list[Any]:
    """The log probabilities of every single choice on one histogram.

    >>> [law.round(3).tolist() for law in choice_laws(Exponential(scale=1), np.array([0, 0]))]
    [[-0.693, -0.693]]
    """
    scores = np.asarray(counts, dtype=np.float64)
    if isinstance(choice, Quantiles):
        return [_quantile(choice, scores, float(q)) for q in choice.fractions]
    if isinstance(choice, Exponential):
        return [_normal(scores / float(choice.scale))]
    weights = np.exp((scores - scores.max()) / float(choice.scale))
    return [np.log(np.array(permute_and_flip_law(weights.tolist())))]


def _quantile(choice: Quantiles, counts: Any, fraction: float) -> Any:
    total = counts.sum()
    target = fraction * total
    if fraction in (0.0, 1.0):
        inside = math.ceil(float(choice.scale) * math.log(20 * len(counts)) - 1e-9)
        target += (1 if fraction == 0.0 else -1) * min(inside, total / 2)
    upto = np.cumsum(counts)
    distance = np.maximum(0.0, np.maximum(upto - counts - target, target - upto))
    return _normal(-distance / float(choice.scale))


def _normal(exponents: Any) -> Any:
    high = exponents.max()
    return exponents - (high + math.log(np.exp(exponents - high).sum()))


def pure_loss(laws: Iterable[tuple[Any, Any]]) -> float:
    """The largest log ratio of independent choices together, both ways.

    >>> round(pure_loss([(np.log([0.5, 0.5]), np.log([0.25, 0.75]))]), 4)
    0.6931
    """
    pairs = list(laws)
    return max(
        sum(float((first - second).max()) for first, second in pairs),
        sum(float((second - first).max()) for first, second in pairs),
    )


def rho_of(laws: Sequence[tuple[Any, Any]]) -> float:
    """The largest Renyi divergence over its order, of independent choices together.

    >>> rho_of([(np.log([0.5, 0.5]), np.log([0.5, 0.5]))]) < 1e-12
    True
    """
    return max(
        sum(_renyi(*sides, alpha) for sides in way) / alpha
        for way in (laws, [(second, first) for first, second in laws])
        for alpha in ALPHAS
    )


def _renyi(first: Any, second: Any, alpha: float) -> float:
    exponents = alpha * first + (1 - alpha) * second
    high = float(exponents.max())
    return (high + math.log(np.exp(exponents - high).sum())) / (alpha - 1)
