"""How one price is split among what a question has to release. Touches public numbers only.

Every statistic has an error that is, to first order, a sum of the errors of the parts it is made
from; a part's error falls as 1/epsilon, or as 1/sqrt(rho). Statistics come in different units, so
the split is the one that makes the product of all errors least; with wanted errors, the one whose
total is least.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Errors", "for_targets", "least_product"]

_ROUNDS = 200
_LEAST = 1e-5  # of the price, to a part that nothing depends on
_GRAIN = 1_000_000  # shares are multiples of this part of the whole


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of statistics as sums: `parts[s][j]` is what part j adds to statistic s at price 1.

    `power` is 1 where errors fall as 1/price (epsilon), 1/2 where they fall as its root (rho).
    >>> Errors(({0: 3.0}, {0: 1.0, 1: 2.0}), power=1.0).of([1.0, 2.0])
    [3.0, 2.0]
    """

    parts: Sequence[Mapping[int, float]]
    power: float

    def of(self, prices: Sequence[float]) -> list[float]:
        """The error of every statistic at these prices of the parts."""
        return [
            sum(size / prices[place] ** self.power for place, size in part.items()) or _LEAST
            for part in self.parts
        ]

    def improve_shares(self, prices: Sequence[float], weights: Sequence[float]) -> list[float]:
        """Better shares: a step towards those at which no exchange lowers the sum of log errors.

        There, the share of a part is what it causes of the errors, by weight. The step is as long
        as reaches that at once where there is one statistic.
        >>> one = Errors(({0: 4.0, 1: 1.0},), power=1.0)
        >>> [round(share, 3) for share in one.improve_shares([0.5, 0.5], [1.0])]
        [0.667, 0.333]
        """
        caused = [0.0] * len(prices)
        for part, error, weight in zip(self.parts, self.of(prices), weights, strict=True):
            for place, size in part.items():
                caused[place] += weight * (size / prices[place] ** self.power / error)
        steps = [
            (old**self.power * new) ** (1 / (1 + self.power))
            for old, new in zip(prices, caused, strict=True)
        ]
        total = sum(steps)
        return [max(step / total, _LEAST) for step in steps]


def least_product(errors: Errors, count: int) -> list[Fraction]:
    """The shares of `count` parts that make the product of all errors least; they add up to 1.

    >>> least_product(Errors(({0: 1.0}, {0: 1.0, 1: 1.0}), power=1.0), 2)
    [Fraction(333333, 500000), Fraction(166667, 500000)]
    """
    prices = [1.0 / count] * count
    for _ in range(_ROUNDS):
        old, prices = prices, errors.improve_shares(prices, [1.0] * len(errors.parts))
        if max(abs(a - b) for a, b in zip(old, prices, strict=True)) < _LEAST / count:
            break
    return _whole(prices)


def for_targets(errors: Errors, count: int, targets: Mapping[int, float]) -> list[Fraction]:
    """The shares at which the cheapest price that meets all targets is split.

    Parts that no targeted statistic needs get the mean share of the others.
    >>> for_targets(Errors(({0: 1.0}, {1: 1.0}), power=1.0), 2, {0: 1.0, 1: 3.0})
    [Fraction(3, 4), Fraction(1, 4)]
    """
    wanted = Errors([errors.parts[place] for place in targets], errors.power)
    used = sorted({place for part in wanted.parts for place in part})
    prices = [1.0 / len(used) if place in used else 0.0 for place in range(count)]
    weights = [1.0 / len(targets)] * len(targets)
    for _ in range(_ROUNDS):
        prices = wanted.improve_shares(prices, weights)
        # Complementary slackness: a statistic whose error is below its target loses weight.
        excess = [
            error / limit for error, limit in zip(wanted.of(prices), targets.values(), strict=True)
        ]
        weights = [
            weight * ratio / max(excess) for weight, ratio in zip(weights, excess, strict=True)
        ]
    mean = 1.0 / len(used)
    return _whole([prices[place] if place in used else mean for place in range(count)])


def _whole(prices: Sequence[float]) -> list[Fraction]:
    total = sum(prices)
    units = [max(1, round(_GRAIN * price / total)) for price in prices]
    return [Fraction(unit, sum(units)) for unit in units]
