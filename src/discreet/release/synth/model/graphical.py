"""The graphical model: log-linear factors over a junction tree, and belief propagation on it.
A model is made of released numbers only; no exact count may ever enter it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.linear.marginals import expand, sum_to
from discreet.release.synth.model.folds import Fold, fold
from discreet.release.synth.model.junction import Clique, JunctionTree, junction_tree

__all__ = ["Beliefs", "Network", "network"]

Table = NDArray[np.float64]
_LEAST = 1e-280  # sums below it are taken for nothing, so that no ratio overflows


@dataclass(frozen=True, slots=True)
class Beliefs:
    """The marginals of a model on its cliques and factors, and its log partition function.

    >>> beliefs = network((2, 2), [(0, 1)]).propagate({(0,): np.log([1.0, 3.0])})
    >>> beliefs.marginals[(0,)].tolist()
    [0.25, 0.75]
    """

    log_partition: float
    marginals: Mapping[Clique, Table] = field(repr=False)
    """Probabilities on every factor's attributes."""
    cliques: tuple[Table, ...] = field(repr=False)
    """Probabilities on every clique of the tree."""


@dataclass(frozen=True, slots=True)
class Network:
    """The structure of a model: a junction tree, the factors it carries and how to sum them.

    >>> network((2, 3, 4), [(0, 1), (1, 2)]).tree.cells
    18
    """

    tree: JunctionTree
    factors: tuple[Clique, ...]
    folds: tuple[Fold, ...] = field(repr=False)
    homes: Mapping[Clique, int] = field(repr=False)

    def propagate(self, factors: Mapping[Clique, Table]) -> Beliefs:
        """Exact marginals of the model with these log factors.

        Two sweeps over the tree [LS88, Sec. 5].
        >>> round(network((2, 2), []).propagate({}).log_partition, 6)
        1.386294
        """
        tree, separators = self.tree, self.tree.separators
        held: list[dict[Clique, Table]] = [{} for _ in tree.cliques]
        for clique, factor in factors.items():
            held[self.homes[clique]][clique] = factor
        total, upward = 0.0, [np.ones(())] * len(tree.cliques)
        tables = list(upward)
        for place in range(len(tree.cliques) - 1, -1, -1):
            table = self.folds[place].build(held[place])
            peak = float(table.max())
            total += peak
            table -= peak
            tables[place] = np.exp(table, out=table)
            upward[place] = message = sum_to(table, tree.cliques[place], separators[place])
            scale = float(message.max())
            total += math.log(scale)
            message = message / scale
            if place:
                parent = held[tree.parents[place]]
                with np.errstate(divide="ignore"):
                    logarithm = np.log(message)
                known = parent.get(separators[place])
                parent[separators[place]] = logarithm if known is None else known + logarithm
            else:
                table /= scale
        return self._distribute(total, tables, upward)

    def _distribute(self, total: float, tables: list[Table], upward: list[Table]) -> Beliefs:
        tree, separators = self.tree, self.tree.separators
        sums: list[dict[Clique, Table]] = []
        for place, clique in enumerate(tree.cliques):
            table = tables[place]
            if place:
                above = sums[tree.parents[place]][separators[place]]
                # A separator cell without mass below has none above: the parent holds the message.
                own = upward[place]
                ratio = np.divide(above, own, out=np.zeros_like(own), where=own > _LEAST)
                table *= expand(ratio, separators[place], clique)
            sums.append(self.folds[place].collapse(table))
        marginals = {clique: sums[self.homes[clique]][clique] for clique in self.factors}
        return Beliefs(total, marginals, tuple(tables))


def network(sizes: tuple[int, ...], factors: list[Clique]) -> Network:
    """The structure for these factors: every attribute gets a factor of its own besides.

    >>> network((2, 2), [(0, 1)]).factors
    ((0,), (0, 1), (1,))
    """
    tree = junction_tree(sizes, factors)
    wanted = tuple(sorted({*factors, *((at,) for at in range(len(sizes)))}))
    homes: dict[Clique, int] = {}
    for clique in wanted:
        home = tree.home(clique)
        assert home is not None
        homes[clique] = home
    targets: list[set[Clique]] = [set() for _ in tree.cliques]
    for clique, home in homes.items():
        targets[home].add(clique)
    for place, separator in enumerate(tree.separators):
        if place:
            targets[tree.parents[place]].add(separator)
    folds = tuple(
        fold(clique, tree.sizes, wanted_here)
        for clique, wanted_here in zip(tree.cliques, targets, strict=True)
    )
    return Network(tree, wanted, folds, homes)
