"""Weights by slices and tables against one dense array and written-out predicates."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.linear.domain import Domain
from discreet.linear.predicates import Predicate
from discreet.linear.weights import Weights

sizes = st.lists(st.integers(1, 4), min_size=1, max_size=7).filter(lambda s: np.prod(s) <= 4096)


@st.composite
def cases(draw):
    chosen = tuple(draw(sizes))
    domain = Domain(tuple(f"a{n}" for n in range(len(chosen))), chosen)
    predicates = []
    for _ in range(draw(st.integers(1, 4))):
        axes = tuple(sorted(draw(st.sets(st.integers(0, len(chosen) - 1), max_size=4))))
        shape = tuple(chosen[axis] for axis in axes)
        if draw(st.booleans()) and axes:
            picked = {axis: draw(st.integers(0, chosen[axis] - 1)) for axis in axes}
            predicates.append(Predicate.where(picked, domain))
        else:
            seed = draw(st.integers(0, 2**32 - 1))
            predicates.append(Predicate(axes, np.random.default_rng(seed).random(shape) < 0.5))
    return domain, predicates, draw(st.integers(0, 2**32 - 1))


def written_out(predicate, domain):
    shape = [size if axis in predicate.axes else 1 for axis, size in enumerate(domain.sizes)]
    return np.broadcast_to(predicate.mask.reshape(shape), domain.sizes)


@settings(max_examples=150, deadline=None)
@given(cases(), st.floats(0.01, 100))
def test_sums_and_updates_are_those_of_the_dense_array(case, factor):
    domain, predicates, seed = case
    dense = np.random.default_rng(seed).random(domain.sizes) + 0.01
    weights = Weights.of(domain, dense)
    for predicate in predicates:
        mask = written_out(predicate, domain)
        assert np.isclose(weights.share(predicate), dense[mask].sum() / dense.sum())
        weights.scale(predicate, factor)
        dense = np.where(mask, dense * factor, dense)
        assert np.allclose(weights.cells(), dense / dense.sum())
        table = weights.table(predicate.axes)
        dropped = tuple(a for a in range(len(domain.sizes)) if a not in predicate.axes)
        assert np.allclose(table, (dense / dense.sum()).sum(axis=dropped))


@settings(max_examples=100, deadline=None)
@given(cases(), st.floats(0.001, 0.999))
def test_a_move_reaches_its_share_and_keeps_all_else_in_proportion(case, share):
    domain, predicates, seed = case
    weights = Weights.of(domain, np.random.default_rng(seed).random(domain.sizes) + 0.01)
    for predicate in predicates:
        mask = written_out(predicate, domain)
        before = weights.cells()
        weights.move(predicate, share)
        after = weights.cells()
        if mask.all() or not mask.any():
            assert np.allclose(before, after)
            continue
        assert np.isclose(weights.share(predicate), share)
        for part in (mask, ~mask):
            assert np.allclose(after[part] / after[part].sum(), before[part] / before[part].sum())


@settings(max_examples=100, deadline=None)
@given(cases())
def test_a_box_is_known_as_one(case):
    for predicate in case[1]:
        box = predicate.slices
        if box is not None:
            filled = np.zeros(predicate.mask.shape, dtype=bool)
            filled[box] = True
            assert (filled == predicate.mask).all()
