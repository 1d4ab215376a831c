"""Components and the least cut of an unweighted graph: how few edges hold it together."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


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


def least_cut(ends: Integers, nodes: int) -> int:
    """The fewest edges whose removal leaves two parts (Stoer and Wagner's algorithm)."""
    if len(np.unique(components(ends, nodes))) > 1:
        return 0
    weight = np.zeros((nodes, nodes), dtype=np.int64)
    np.add.at(weight, (ends[:, 0], ends[:, 1]), 1)
    weight += weight.T
    alive = np.ones(nodes, dtype=bool)
    best = int(weight.sum(axis=1).min())
    for left in range(nodes, 1, -1):
        cut, before, last = _phase(weight, alive, left)
        best = min(best, cut)
        weight[before] += weight[last]
        weight[:, before] += weight[:, last]
        weight[before, before] = 0
        alive[last] = False
    return best


def _phase(weight: Integers, alive: NDArray[np.bool_], left: int) -> tuple[int, int, int]:
    """Add the most tightly bound node until all are in; the last one's cut, and the last two."""
    bound = np.where(alive, 0, -1)
    before = last = int(np.flatnonzero(alive)[0])
    bound += np.where(alive, weight[last], 0)
    bound[last] = -1
    cut = 0
    for _ in range(left - 1):
        before, last = last, int(bound.argmax())
        cut = int(bound[last])
        bound[bound >= 0] += weight[last][bound >= 0]
        bound[last] = -1
    return cut, before, last
