"""Noisy marginals that are made to agree: least squares in units of the noise, by another way."""

import itertools
import math

import numpy as np

from discreet.linear.consistency import agree_marginals
from discreet.noise import SeededBits

SIZES = (2, 3, 2)
CLIQUES = ((0,), (0, 1), (1, 2), (0, 1, 2))
VARIANCES = (0.5, 1.0, 0.25, 2.0)


def noisy(seed):
    found = {}
    for place, (clique, variance) in enumerate(zip(CLIQUES, VARIANCES, strict=True)):
        shape = tuple(SIZES[at] for at in clique)
        words = np.empty(math.prod(shape), dtype=np.uint64)
        SeededBits(seed + place).fill(words.view(np.uint8))
        found[clique] = ((words * 2.0**-64).reshape(shape), variance)
    return found


def summing(clique):
    """The matrix that sums the joint table to a marginal."""
    rows = list(itertools.product(*(range(SIZES[at]) for at in clique)))
    cells = list(itertools.product(*map(range, SIZES)))
    return np.array([[float(tuple(c[at] for at in clique) == r) for c in cells] for r in rows])


def test_it_is_the_weighted_least_squares_solution_with_total_one():
    given = noisy(4)
    whole = np.concatenate([summing(c) / math.sqrt(v) for c, (_, v) in given.items()])
    target = np.concatenate([t.ravel() / math.sqrt(v) for t, v in given.values()])
    # The total is fixed by a row that outweighs everything.
    whole = np.vstack([whole, 1e5 * np.ones(12)])
    target = np.append(target, 1e5)
    joint = np.linalg.lstsq(whole, target, rcond=None)[0]
    found = agree_marginals(given)
    for clique in CLIQUES:
        assert np.allclose(found[clique].ravel(), summing(clique) @ joint, atol=1e-6)


def test_overlaps_agree():
    found = agree_marginals(noisy(9))
    assert np.allclose(found[(0, 1)].sum(axis=0), found[(1, 2)].sum(axis=1))
    assert np.allclose(found[(0, 1, 2)].sum(axis=2), found[(0, 1)])
    assert np.allclose([table.sum() for table in found.values()], 1)


def test_what_agrees_stays():
    table = np.arange(1.0, 13.0).reshape(SIZES) / 78
    given = {
        (0, 1): (table.sum(axis=2), 1.0),
        (1, 2): (table.sum(axis=0), 3.0),
        (1,): (table.sum(axis=(0, 2)), 0.1),
    }
    found = agree_marginals(given)
    assert all(np.allclose(found[clique], given[clique][0]) for clique in given)
