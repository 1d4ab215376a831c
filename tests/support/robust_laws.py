"""Exact output laws of the robust mechanisms, and small data sets with all that lies around them.
A ratio stands for exp(-1/scale); a fraction keeps everything rational.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction  # noqa: F401 - the examples below use it
from itertools import combinations_with_replacement
from typing import Any

from support.mechanism_laws import laplace_pmf

REFUSED = "refused"


def upper_tail(ratio: Any, start: int) -> Any:
    """P(X >= start) of the discrete Laplace law with this ratio.

    >>> upper_tail(Fraction(1, 2), 0)
    Fraction(2, 3)
    """
    if start > 0:
        return ratio**start / (1 + ratio)
    if start < -400:
        return 1 + 0 * ratio  # nearer to 1 than any claim in the tests
    return 1 - ratio ** (1 - start) / (1 + ratio)


def passing(distance: int, threshold: int, ratio: Any) -> Any:
    """How likely a distance passes a test.

    >>> passing(5, 5, Fraction(1, 2))
    Fraction(1, 3)
    """
    return upper_tail(ratio, threshold + 1 - distance)


def checked_law(
    value: int, distance: int, *, threshold: int, test: Any, noise: Any, reach: int
) -> dict[Any, Any]:
    """A refusal, or the value with noise (exactly the value if the noise's ratio is None).

    What lies more than `reach` from 0 is one outcome on each side.
    >>> sum(checked_law(1, 3, threshold=2, test=Fraction(1, 2), noise=None, reach=9).values())
    Fraction(1, 1)
    """
    chance = passing(distance, threshold, test)
    law: dict[Any, Any] = {REFUSED: 1 - chance}
    if noise is None:
        law[value] = chance
        return law
    for output in range(-reach, reach + 1):
        law[output] = chance * laplace_pmf(noise, output - value)
    law["above"] = chance * upper_tail(noise, reach + 1 - value)
    law["below"] = chance * upper_tail(noise, reach + 1 + value)
    return law


def data_sets(values: Iterable[Any], most: int) -> Iterator[tuple[Any, ...]]:
    """All multisets of at most this many rows.

    >>> len(list(data_sets((0, 1), 2)))
    6
    """
    universe = list(values)
    for size in range(most + 1):
        yield from combinations_with_replacement(universe, size)


def one_move(rows: tuple[Any, ...], values: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """What inserting or deleting one row makes of a multiset.

    >>> sorted(one_move((0,), (0, 1)))
    [(), (0, 0), (0, 1)]
    """
    yield from {tuple(sorted((*rows, value))) for value in values}
    yield from {rows[:place] + rows[place + 1 :] for place in range(len(rows))}


def around(rows: tuple[Any, ...], values: Iterable[Any], moves: int) -> list[set[tuple[Any, ...]]]:
    """For 0, 1, ... moves all multisets within that many.

    >>> [len(near) for near in around((), (0, 1), 2)]
    [1, 3, 6]
    """
    universe = list(values)
    within = [{rows}]
    for _ in range(moves):
        near = set(within[-1])
        for one in within[-1]:
            near.update(one_move(one, universe))
        within.append(near)
    return within


def spread_of(function: Callable[[Any], int], rows: Iterable[Any]) -> tuple[int, int]:
    """The least and the greatest value over several data sets.

    >>> spread_of(len, [(), (1,)])
    (0, 1)
    """
    found = [function(one) for one in rows]
    return min(found), max(found)
