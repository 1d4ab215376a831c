"""Compares coded rows: distances of tables, association of columns, a classifier trained on one
set and tested on another. Whether what comes out may leave depends on the rows that went in.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.release.synth.model.junction import Clique
from discreet.release.synth.rounds import code_rows

__all__ = ["Classifier", "association", "distances", "train"]

Codes = NDArray[np.int64]
_STEPS = 150


def distances(one: Codes, other: Codes, sizes: tuple[int, ...], order: int) -> dict[Clique, float]:
    """The total variation between all tables of so many columns. Exact rows give exact distances.

    >>> distances(np.array([[0], [1]]), np.array([[0], [0]]), (2,), 1)
    {(0,): 0.5}
    """
    by_clique = {}
    for clique in itertools.combinations(range(len(sizes)), order):
        shares = []
        for rows in (one, other):
            codes, size = code_rows(rows, clique, sizes)
            shares.append(np.bincount(codes, minlength=size) / max(1, len(rows)))
        by_clique[clique] = float(np.abs(shares[0] - shares[1]).sum()) / 2
    return by_clique


def association(rows: Codes, sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """Cramer's V of every two columns: 0 for independent ones, 1 where one decides the other.

    Exact rows give exact values.
    >>> association(np.array([[0, 0], [1, 1]]), (2, 2)).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    matrix = np.eye(len(sizes))
    for one, other in itertools.combinations(range(len(sizes)), 2):
        codes, size = code_rows(rows, (one, other), sizes)
        shares = np.bincount(codes, minlength=size).reshape(sizes[one], sizes[other]) / len(rows)
        outer = np.outer(shares.sum(axis=1), shares.sum(axis=0))
        squares = np.divide((shares - outer) ** 2, outer, out=np.zeros_like(outer), where=outer > 0)
        used = min((shares.sum(axis=1) > 0).sum(), (shares.sum(axis=0) > 0).sum())
        value = np.sqrt(squares.sum() / max(1, used - 1))
        matrix[one, other] = matrix[other, one] = min(1.0, float(value))
    return matrix


@dataclass(frozen=True, slots=True)
class Classifier:
    """A logistic regression on the values of all columns but one, for that one's commonest value.

    As private as the rows it was trained on.
    """

    target: int
    value: int
    weights: tuple[NDArray[np.float64], ...]

    def accuracy(self, rows: Codes) -> float:
        """The share of rows whose value it tells right. Exact rows give an exact share.

        >>> rows = np.array([[0, 0], [1, 1]] * 50)
        >>> train(rows, (2, 2), 1).accuracy(rows)
        1.0
        """
        right = (_scores(self.weights, rows, self.target) > 0) == (
            rows[:, self.target] == self.value
        )
        return float(right.mean())


def train(rows: Codes, sizes: tuple[int, ...], target: int, value: int | None = None) -> Classifier:
    """Train on rows; the value asked for is the target's commonest one unless given.

    As private as the rows.
    >>> train(np.array([[0, 0], [1, 1]] * 50), (2, 2), 1, 1).value
    1
    """
    if not 0 <= target < len(sizes) or len(sizes) < 2:
        raise InvalidValue(f"column {target} of {len(sizes)} cannot be predicted from others.")
    if value is None:
        value = int(np.bincount(rows[:, target], minlength=sizes[target]).argmax())
    truth = (rows[:, target] == value).astype(np.float64)
    weights = tuple(np.zeros(size) for size in (*sizes, 1))  # the last is the constant
    memory = tuple(np.full(len(weight), 1e-8) for weight in weights)
    for _ in range(_STEPS):
        missed = truth - 1 / (1 + np.exp(-np.clip(_scores(weights, rows, target), -30, 30)))
        for at, (weight, seen) in enumerate(zip(weights, memory, strict=True)):
            if at == target:
                continue
            codes = rows[:, at] if at < len(sizes) else np.zeros(len(rows), dtype=np.int64)
            slope = np.bincount(codes, weights=missed, minlength=len(weight)) / len(rows)
            slope -= 1e-4 * weight
            seen += slope**2  # steps shrink with the slopes seen so far
            weight += 0.5 * slope / np.sqrt(seen)
    return Classifier(target, value, weights)


def _scores(
    weights: tuple[NDArray[np.float64], ...], rows: Codes, target: int
) -> NDArray[np.float64]:
    total = np.full(len(rows), weights[-1][0])
    for at in range(rows.shape[1]):
        if at != target:
            total += weights[at][rows[:, at]]
    return total
