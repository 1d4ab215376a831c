"""The exact law of the choice of blocks, written down a second time for the tests."""

from fractions import Fraction
from typing import Any


def halvings(start: int, stop: int) -> list[tuple[tuple[int, int], ...]]:
    """All ways to halve an interval into blocks, again and again.

    >>> halvings(0, 2)
    [((0, 2),), ((0, 1), (1, 2))]
    """
    found = [((start, stop),)]
    if stop - start > 1:
        middle = (start + stop) // 2
        found += [
            one + other for one in halvings(start, middle) for other in halvings(middle, stop)
        ]
    return found


def distance(values: Any) -> int:
    """The least sum of distances to a centre, by trying all centres.

    >>> distance([3, 0, 1])
    3
    """
    centres = range(min(values), max(values) + 1)
    return min(sum(abs(value - centre) for value in values) for centre in centres)


def blocks_law(counts: Any, ratio: Any, badness: Any = distance) -> dict[tuple[int, ...], Any]:
    """The probability of every choice, by the ends of its blocks; `ratio` is exp(-rate).

    >>> blocks_law([1, 0], Fraction(1, 2))
    {(0, 2): Fraction(2, 3), (0, 1, 2): Fraction(1, 3)}
    """
    weights = {}
    for choice in halvings(0, len(counts)):
        weight = ratio ** sum(badness(counts[start:stop]) for start, stop in choice)
        cut = len(choice) - 1
        whole = sum(stop - start > 1 for start, stop in choice)  # single cells cannot be cut
        weight *= Fraction(4, 5) ** whole * Fraction(1, 5) ** cut
        weights[(0, *(stop for _, stop in choice))] = weight
    total = sum(weights.values())
    return {choice: weight / total for choice, weight in weights.items()}
