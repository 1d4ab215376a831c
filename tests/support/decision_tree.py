"""The exact law of code that draws through coins and dice, by running it on every outcome.

`flips` and `dice` are replaced, wherever `modules` imported them, by versions that branch; the code
under test is run once for each leaf of its decision tree, and the leaf's probability is the product
of the brackets' lower ends (60 digits, so the total misses 1 by less than 1e-30 per coin).
"""

import sys
from collections.abc import Callable, Hashable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

MOST_LEAVES = 300_000


class Branches:
    """Runs through the tree: each follows a path, then the first branch of everything new."""

    def __init__(self, path: list[int]) -> None:
        self.path = path
        self.sizes: list[int] = []
        self.chance = Fraction(1)

    def choose(self, chances: list[Fraction]) -> int:
        """The branch to take; those that cannot happen are not there."""
        possible = [branch for branch, chance in enumerate(chances) if chance]
        depth = len(self.sizes)
        if depth == len(self.path):
            self.path.append(0)
        self.sizes.append(len(possible))
        branch = possible[self.path[depth]]
        self.chance *= chances[branch]
        return branch

    def flips(self, bounds, size, _bits) -> Any:
        """Coins that come up both ways."""
        low = bounds(60)[0]
        return np.array([self.choose([1 - low, low]) == 1 for _ in range(size)], dtype=np.bool_)

    def dice(self, sides, size, _bits) -> Any:
        """Dice that show every side."""
        fair = [Fraction(1, sides)] * sides
        return np.array([self.choose(fair) for _ in range(size)], dtype=np.int64)

    def turn(self) -> bool:
        """Go on to the next leaf; False where this was the last."""
        path = self.path[: len(self.sizes)]
        while path and path[-1] + 1 == self.sizes[len(path) - 1]:
            path.pop()
        if path:
            path[-1] += 1
        self.path, self.sizes, self.chance = path, [], Fraction(1)
        return bool(path)


def law(run: Callable[[], Hashable], monkeypatch) -> dict[Hashable, Fraction]:
    """The probability of every result of `run`."""
    chances: dict[Hashable, Fraction] = {}
    branches = Branches([])
    leaves = 0
    with monkeypatch.context() as patch:
        for module, tool in _drawing_modules():
            patch.setattr(module, tool, getattr(branches, tool))
        while True:
            result = run()
            chances[result] = chances.get(result, Fraction(0)) + branches.chance
            if not branches.turn():
                return chances
            leaves += 1
            if leaves > MOST_LEAVES:
                raise AssertionError("the decision tree is too large to enumerate")


def _drawing_modules() -> list[tuple[ModuleType, str]]:
    """Wherever the modules of the local model imported `flips` or `dice`."""
    modules = [
        module
        for module in list(sys.modules.values())
        if (name := getattr(module, "__name__", "")).startswith("discreet.local.")
        or name.endswith(".randomized_response")
    ]
    return [(each, tool) for each in modules for tool in ("flips", "dice") if hasattr(each, tool)]


def largest_ratio(laws: list[dict[Hashable, Fraction]]) -> Fraction:
    """The largest ratio of the probabilities of one result under two laws."""
    results = set().union(*laws)
    largest = Fraction(1)
    for result in results:
        chances = [one.get(result, Fraction(0)) for one in laws]
        if min(chances) == 0:
            raise AssertionError(f"{result} is possible for one answer and impossible for another")
        largest = max(largest, max(chances) / min(chances))
    return largest
