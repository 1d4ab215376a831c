"""How one clique's table is built from small factors and summed back to small marginals.
Intermediate sums are shared, so many targets cost a few passes over the table. Arrays only; it
must never draw randomness or know where its numbers come from.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.linear.marginals import expand, sum_to
from discreet.release.synth.model.junction import Clique

__all__ = ["Fold", "fold"]

Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fold:
    """A tree of attribute sets: each is summed from its parent, the first is the whole clique.

    >>> fold((0, 1, 2), (2, 3, 4), [(0,), (0, 1)]).nodes
    ((0, 1, 2), (0, 1), (0,))
    """

    sizes: tuple[int, ...]
    nodes: tuple[Clique, ...]
    parents: tuple[int, ...]

    def build(self, factors: Mapping[Clique, Table]) -> Table:
        """The sum of all factors, broadcast to the clique.

        >>> fold((0, 1), (2, 2), [(0,)]).build({(0,): np.array([1.0, 2.0])}).tolist()
        [[1.0, 1.0], [2.0, 2.0]]
        """
        gathered: list[Table | None] = [factors.get(node) for node in self.nodes]
        for place in range(len(self.nodes) - 1, 0, -1):
            mine, parent = gathered[place], self.parents[place]
            if mine is None:
                continue
            wide = expand(mine, self.nodes[place], self.nodes[parent])
            before = gathered[parent]
            gathered[parent] = wide if before is None else before + wide
            gathered[place] = None
        whole = gathered[0]
        shape = tuple(self.sizes[at] for at in self.nodes[0])
        if whole is None:
            return np.zeros(shape)
        fresh = len(self.nodes) > 1 and whole is not factors.get(self.nodes[0])
        owned = fresh and whole.shape == shape and whole.base is None
        return whole if owned else np.broadcast_to(whole, shape).copy()

    def collapse(self, table: Table) -> dict[Clique, Table]:
        """The sums of a table for every node.

        >>> fold((0, 1), (2, 2), [(0,)]).collapse(np.ones((2, 2)))[(0,)].tolist()
        [2.0, 2.0]
        """
        sums = [table]
        for place in range(1, len(self.nodes)):
            parent = self.parents[place]
            sums.append(sum_to(sums[parent], self.nodes[parent], self.nodes[place]))
        return dict(zip(self.nodes, sums, strict=True))


def fold(clique: Clique, sizes: tuple[int, ...], targets: Iterable[Clique]) -> Fold:
    """A cheap tree of sums from a clique to its targets.

    >>> fold((0, 1), (2, 2), []).nodes
    ((0, 1),)
    """
    nodes: list[Clique] = [clique]
    parents: list[int] = [0]

    def descend(place: int, wanted: list[Clique]) -> None:
        whole = nodes[place]
        wanted = [target for target in wanted if target != whole]
        while wanted:
            # The attribute that most targets lack is summed out first, for all of them at once.
            without = max(
                (at for at in whole),
                key=lambda at: (sum(at not in target for target in wanted), sizes[at]),
            )
            shared = [target for target in wanted if without not in target]
            wanted = [target for target in wanted if without in target]
            union = tuple(sorted(set().union(*shared)))
            nodes.append(union)
            parents.append(place)
            descend(len(nodes) - 1, shared)

    descend(0, sorted(set(targets)))
    return Fold(sizes, tuple(nodes), tuple(parents))
