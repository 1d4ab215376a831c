"""Components and the least cut of an unweighted graph: how few edges hold it together."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Integers", "components", "has_cut"]

Integers = NDArray[np.int64]
"""64-bit integers."""


def components(ends: Integers, nodes: int) -> Integers:
    """A label for each node, the same within a component."""
    label = np.arange(nodes)
    if len(ends) == 0:
        return label
    while True:
        least = label.copy()
        np.minimum.at(least, ends[:, 0], label[ends[:, 1]])
        np.minimum.at(least, ends[:, 1], label[ends[:, 0]])
        least = least[least]
        if np.array_equal(least, label):
            return label
        label = least


def has_cut(ends: Integers, nodes: int, most: int) -> bool:
    """Whether removing at most this many edges leaves two parts.

    Nodes that are bound to each other by more than `most` edges are on one side of every such cut
    and become one, found by scanning nodes in the order of how tightly they are bound to those
    before (Nagamochi and Ibaraki); a node with at most `most` edges is such a cut.
    """
    weight = np.zeros((nodes, nodes), dtype=np.int64)
    np.add.at(weight, (ends[:, 0], ends[:, 1]), 1)
    weight += weight.T
    while len(weight) > 1:
        if int(weight.sum(axis=1).min()) <= most:
            return True
        side = components(_find_bound_pairs(weight, most), len(weight))
        names, label = np.unique(side, return_inverse=True)
        member = np.zeros((len(weight), len(names)), dtype=np.int64)
        member[np.arange(len(weight)), label] = 1
        weight = member.T @ weight @ member
        np.fill_diagonal(weight, 0)
    return False


def _find_bound_pairs(weight: Integers, most: int) -> Integers:
    """Pairs of nodes with more than `most` edge-disjoint paths between them, at least one pair."""
    outside = np.ones(len(weight), dtype=bool)
    reached = np.zeros(len(weight), dtype=np.int64)
    pairs: list[tuple[int, int]] = []
    for _ in range(len(weight)):
        node = int(np.where(outside, reached, -1).argmax())
        outside[node] = False
        reached += weight[node]
        # What is reached by now bounds the paths between this node and a later neighbour.
        tight = np.flatnonzero(outside & (weight[node] > 0) & (reached > most))
        pairs += [(node, int(other)) for other in tight]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
