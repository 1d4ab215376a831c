"""Growths held against brute force: every small data set, every neighbour, nothing assumed."""

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Any

Rows = tuple[int, ...]


def data_sets(values: int, most: int, least: int = 0) -> list[Rows]:
    """All sorted tuples of numbers below `values` with `least` to `most` entries.

    >>> len(data_sets(2, 2))
    6
    """
    sizes = range(least, most + 1)
    return [rows for n in sizes for rows in combinations_with_replacement(range(values), n)]


def removed(rows: Rows, most: int) -> set[Rows]:
    """What is left when up to `most` rows are taken out.

    >>> sorted(removed((1, 2), 1))
    [(1,), (1, 2), (2,)]
    """
    return {
        tuple(row for place, row in enumerate(rows) if place not in out)
        for count in range(min(most, len(rows)) + 1)
        for out in combinations(range(len(rows)), count)
    }


def added_or_removed(rows: Rows, values: int, unit: int, most: int) -> set[Rows]:
    """Neighbours when one unit of up to `unit` rows is added or removed.

    >>> sorted(added_or_removed((0,), 2, 1, 2))
    [(), (0, 0), (0, 1)]
    """
    found = removed(rows, unit)
    for new in data_sets(values, unit, 1):
        if len(rows) + len(new) <= most:
            found.add(tuple(sorted(rows + new)))
    return found - {rows}


def replaced(rows: Rows, values: int, unit: int) -> set[Rows]:
    """Neighbours when up to `unit` rows take other values.

    >>> sorted(replaced((0,), 3, 1))
    [(1,), (2,)]
    """
    found = set()
    for rest in removed(rows, unit):
        for new in combinations_with_replacement(range(values), len(rows) - len(rest)):
            found.add(tuple(sorted(rest + new)))
    return found - {rows}


def complaints(
    growth: Callable[[Any], Any],
    neighbours: dict[Any, Iterable[Any]],
    *,
    distances: int,
) -> list[str]:
    """What is wrong with a growth on a closed world of data sets and their neighbours."""
    known = {}
    for data in neighbours:
        made = growth(data)
        known[data] = made.exact, [made.at(k) for k in range(distances + 1)]
    found = []
    for data, near in neighbours.items():
        exact, bounds = known[data]
        for other in near:
            moved, later = known[other]
            if abs(exact - moved) > bounds[0]:
                found.append(f"{data} and {other}: the value moves by more than the first bound")
            for k in range(distances):
                if bounds[k] > later[k + 1]:
                    found.append(f"{data} and {other}: the bound at {k} is not one at {k + 1}")
                    break
    return found


def local_sensitivities(
    value: Callable[[Any], Fraction], neighbours: dict[Hashable, Iterable[Any]], distances: int
) -> dict[Hashable, list[Fraction]]:
    """The true A_k of every data set: the largest local sensitivity within distance k."""
    values = {data: Fraction(value(data)) for data in neighbours}
    current = {
        data: max((abs(values[data] - values[other]) for other in near), default=Fraction(0))
        for data, near in neighbours.items()
    }
    found = {data: [current[data]] for data in neighbours}
    for _ in range(distances):
        current = {
            data: max([current[data], *(current[other] for other in near)])
            for data, near in neighbours.items()
        }
        for data, size in current.items():
            found[data].append(size)
    return found
