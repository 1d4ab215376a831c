"""The exact output distributions of the mechanisms, written down a second time for the tests.

Where `ratio` (or the weights) are Fractions the results are exact rationals; with floats they are
what goodness of fit needs.
"""

import math
from fractions import Fraction  # noqa: F401 (the examples use it)
from itertools import pairwise, product
from typing import Any


def laplace_cdf(ratio: float, value: int) -> float:
    """P(X <= value) for P(x) proportional to ratio**|x|.

    >>> laplace_cdf(0.5, 0) + laplace_cdf(0.5, -1)
    1.0
    """
    if value < 0:
        return ratio**-value / (1 + ratio)
    return 1 - ratio ** (value + 1) / (1 + ratio)


def laplace_pmf(ratio: Any, value: int) -> Any:
    """P(X = value), a Fraction when the ratio is one.

    >>> laplace_pmf(Fraction(1, 2), 1)
    Fraction(1, 6)
    """
    return (1 - ratio) / (1 + ratio) * ratio ** abs(value)


def difference_pmf(ratio: Any, value: int) -> Any:
    """P(X - Y = value) for two independent ones.

    >>> total = sum(difference_pmf(Fraction(1, 2), value) for value in range(-80, 81))
    >>> abs(1 - total) < 1e-15
    True
    """
    constant = 1 + 2 * ratio**2 / (1 - ratio**2)
    share = (1 - ratio) / (1 + ratio)
    return share**2 * ratio ** abs(value) * (abs(value) + constant)


def gaussian_weights(variance: float) -> dict[int, float]:
    """The probabilities of the discrete Gaussian on the integers where they exceed 1e-40.

    >>> round(gaussian_weights(1.0)[0], 6)
    0.398942
    """
    far = math.ceil(math.sqrt(2 * variance * 92)) + 1
    weights = {x: math.exp(-x * x / (2 * variance)) for x in range(-far, far + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def exponential_law(weights: list[Any]) -> list[Any]:
    """Probabilities in proportion to weights.

    >>> exponential_law([Fraction(1), Fraction(3)])
    [Fraction(1, 4), Fraction(3, 4)]
    """
    total = sum(weights)
    return [weight / total for weight in weights]


def permute_and_flip_law(weights: list[Any]) -> list[Any]:
    """P(i) = y_i * integral over v in [0, 1] of prod_{j != i} (1 - y_j + y_j v).

    >>> permute_and_flip_law([Fraction(1), Fraction(1, 2)])
    [Fraction(3, 4), Fraction(1, 4)]
    """
    law = []
    for chosen, weight in enumerate(weights):
        polynomial = [weight]
        for other, flip in enumerate(weights):
            if other != chosen:
                longer = [(1 - flip) * c for c in polynomial] + [flip * 0]
                for power, c in enumerate(polynomial):
                    longer[power + 1] += flip * c
                polynomial = longer
        law.append(sum(c / (power + 1) for power, c in enumerate(polynomial)))
    return law


def noisy_max_law(scores: list[int], ratio: Any, reach: int) -> list[Any]:
    """Index probabilities of noisy max with discrete Laplace noise up to `reach`, ties to the
    lowest index. What lies beyond `reach` is left out, so every entry is a lower bound.

    >>> law = noisy_max_law([0, 0], Fraction(1, 2), 60)
    >>> law[0] - law[1] > Fraction(1, 6)
    True
    """
    law = []
    for chosen, score in enumerate(scores):
        total = 0 * ratio
        for noise in range(-reach, reach + 1):
            chance = laplace_pmf(ratio, noise)
            for other, rival in enumerate(scores):
                if other != chosen:
                    chance *= laplace_cdf(ratio, score + noise - rival - (other < chosen))
            total += chance
        law.append(total)
    return law


def gap_law(scores: list[int], ratio: Any, reach: int) -> dict[tuple[int, int], Any]:
    """Joint probabilities of the index and of the gap, for gaps below `reach`.

    >>> law = gap_law([0, 1], 0.5, 60)
    >>> abs(sum(law.values()) - 1) < 1e-12
    True
    """
    law = {}
    for chosen, score in enumerate(scores):
        rivals = [(r, o < chosen) for o, r in enumerate(scores) if o != chosen]

        def at_most(level: int, rivals: Any = rivals) -> Any:
            chance = 1 + 0 * ratio
            for rival, earlier in rivals:
                chance *= laplace_cdf(ratio, level - rival - earlier)
            return chance

        span = range(-reach, reach + 1)
        masses = {
            n: at_most(score + n) - at_most(score + n - 1) for n in range(-2 * reach, reach + 1)
        }
        for gap in range(reach):
            law[chosen, gap] = sum(laplace_pmf(ratio, n) * masses[n - gap] for n in span)
    return law


def plain_gap_law(scores: list[int], ratio: Any, reach: int) -> dict[tuple[int, int], Any]:
    """Joint probabilities of the index and the plain difference to the runner-up, 0 for a tie.

    >>> law = plain_gap_law([0, 1], 0.5, 60)
    >>> abs(sum(law.values()) - 1) < 1e-12
    True
    """
    law = {}
    for chosen, score in enumerate(scores):
        rivals = [(r, o < chosen) for o, r in enumerate(scores) if o != chosen]

        def at_most(level: int, before: int, rivals: Any = rivals) -> Any:
            chance = 1 + 0 * ratio
            for rival, earlier in rivals:
                chance *= laplace_cdf(ratio, level - rival - before * earlier)
            return chance

        for gap in range(reach):
            total = 0 * ratio
            for noise in range(-reach, reach + 1):
                level = score + noise - gap
                mass = at_most(level, gap == 0) - at_most(level - 1, 0)
                total += laplace_pmf(ratio, noise) * mass
            law[chosen, gap] = total
    return law


def top_k_law(weights: list[Any], count: int) -> dict[tuple[int, ...], Any]:
    """Ordered lists without replacement.

    >>> len(top_k_law([1.0, 2.0, 3.0], 2))
    6
    """
    law = {}
    for chosen in product(range(len(weights)), repeat=count):
        if len(set(chosen)) == count:
            chance, left = 1 + 0 * weights[0], sum(weights)
            for index in chosen:
                chance, left = chance * weights[index] / left, left - weights[index]
            law[chosen] = chance
    return law


def largest_ratio(first: Any, second: Any) -> Any:
    """The largest quotient of matching probabilities, both ways; what is impossible in both
    cases says nothing.

    >>> largest_ratio([Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 2), Fraction(1, 2)])
    Fraction(2, 1)
    """
    pairs = [(p, q) for p, q in zip(first, second, strict=True) if p or q]
    return max(max(p / q, q / p) for p, q in pairs)


def rank_distance(counts: Any, target: Any, place: int) -> Any:
    """How many rows a target rank lies outside the ranks that a candidate's rows take up.

    >>> [rank_distance([1, 0, 3], Fraction(5, 2), place) for place in range(3)]
    [Fraction(3, 2), Fraction(3, 2), 0]
    """
    rows = [at for at, count in enumerate(counts) for _ in range(count)]
    lower = sum(at < place for at in rows)
    upper = sum(at <= place for at in rows)
    return lower - target if target < lower else target - upper if target > upper else 0


def quantile_law(counts: Any, targets: Any, ratio: Any, steps: int = 1) -> dict[Any, Any]:
    """Probabilities of the sorted answers, each target's weights ratio**(steps * distance).

    >>> quantile_law([1, 1], [1], Fraction(1, 2))
    {(0,): Fraction(1, 2), (1,): Fraction(1, 2)}
    """
    singles = []
    for target in targets:
        distances = [rank_distance(counts, target, place) for place in range(len(counts))]
        singles.append(exponential_law([ratio ** int(steps * d) for d in distances]))
    law: dict[Any, Any] = {}
    for places in product(range(len(counts)), repeat=len(targets)):
        chance = 1 + 0 * ratio
        for single, place in zip(singles, places, strict=True):
            chance *= single[place]
        answers = tuple(sorted(places))
        law[answers] = law.get(answers, 0 * ratio) + chance
    return law


def division_law(aim: int, tied: int, ratio: Any) -> list[Any]:
    """Probabilities of 0 ... tied for discrete Laplace noise around aim, held within them.

    >>> division_law(0, 2, Fraction(1, 2))
    [Fraction(2, 3), Fraction(1, 6), Fraction(1, 6)]
    """
    upto = [laplace_cdf(ratio, taken - aim) for taken in range(tied)]
    steps = [0 * ratio, *upto, 1 + 0 * ratio]
    return [high - low for low, high in pairwise(steps)]


def nested_law(counts: Any, tree: Any, weights: Any, divide: Any) -> dict[Any, Any]:
    """Probabilities of all answers of a tree (fraction, lower tree, upper tree), in order.

    `weights(distance)` is the weight of a candidate, `divide(aim, tied)` the law of how many tied
    rows go to the lower side; it yields pairs (rows to the lower side, rows to the upper side).

    >>> even = (Fraction(1, 2), None, None)
    >>> nested_law([1, 1], even, lambda distance: Fraction(1, 2) ** int(2 * distance), None)
    {(0,): Fraction(1, 2), (1,): Fraction(1, 2)}
    """
    if tree is None:
        return {(): 1}
    fraction, lower, upper = tree
    target = fraction * sum(counts)
    distances = [rank_distance(counts, target, place) for place in range(len(counts))]
    law: dict[Any, Any] = {}
    for place, chance in enumerate(exponential_law([weights(d) for d in distances])):
        if lower is None and upper is None:
            law[(place,)] = chance
            continue
        tied = counts[place]
        aim = min(max(math.floor(target) - sum(counts[:place]), 0), tied)
        for (below, above), share in divide(aim, tied).items():
            first = nested_law([*counts[:place], below], lower, weights, divide)
            second = nested_law([above, *counts[place + 1 :]], upper, weights, divide)
            for (one, p), (two, q) in product(first.items(), second.items()):
                answers = (*one, place, *(place + index for index in two))
                law[answers] = law.get(answers, 0) + chance * share * p * q
    return law


def partition_chances(factor: Any, delta: Any, units: int) -> list[Any]:
    """The optimal chances for 0, 1, ... units, by their recursion; factor stands for e^epsilon.

    >>> partition_chances(Fraction(2), Fraction(1, 10), 3)
    [Fraction(0, 1), Fraction(1, 10), Fraction(3, 10), Fraction(7, 10)]
    """
    chances = [0 * delta]
    for _ in range(units):
        last = chances[-1]
        grown, faded = factor * last + delta, 1 - (1 - last - delta) / factor
        chances.append(min(grown, faded, 1 + 0 * delta))
    return chances
