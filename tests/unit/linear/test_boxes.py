"""A box of values is the same cells however it is found: by start and strides, or by slices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidValue
from discreet.linear.arrays import load_kernels, view_box
from discreet.linear.boxes import box_of
from discreet.linear.domain import Domain
from discreet.linear.predicates import Predicate


@st.composite
def boxes(draw):
    """Sizes, some axes and a slice of each."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    axes = sorted(draw(st.sets(st.integers(0, len(sizes) - 1))))
    parts = []
    for axis in axes:
        start = draw(st.integers(0, sizes[axis] - 1))
        parts.append(slice(start, draw(st.integers(start + 1, sizes[axis]))))
    return sizes, axes, parts


@given(boxes())
def test_a_box_covers_what_its_slices_cover(found):
    sizes, axes, parts = found
    cells = np.arange(np.prod(sizes)).reshape(sizes)
    index = [slice(None)] * len(sizes)
    for axis, part in zip(axes, parts, strict=True):
        index[axis] = part
    box = box_of(sizes, axes, parts)
    view = view_box(cells.reshape(-1), box)
    assert sorted(view.reshape(-1)) == sorted(cells[tuple(index)].reshape(-1))
    assert len(box.shape) <= len(axes) + 1
    assert all(length > 1 for length in box.shape) or box.shape == (1,)


def test_neighbours_in_memory_are_one_dimension():
    assert box_of([2] * 8, [0, 1], [slice(1, 2), slice(0, 1)]) == (128, (64,), (1,))
    assert box_of([2] * 8, [6, 7], [slice(1, 2), slice(0, 1)]) == (2, (64,), (4,))
    assert box_of([3, 5, 2], [1], [slice(1, 3)]) == (2, (3, 4), (10, 1))


def test_writing_through_a_box_changes_the_cells():
    cells = np.ones(24)
    part = view_box(cells, box_of([2, 3, 4], [1], [slice(1, 2)]))
    part *= 3
    assert cells.reshape(2, 3, 4)[:, 1].tolist() == [[3.0] * 4] * 2
    assert cells.sum() == pytest.approx(24 + 2 * 8)
    assert load_kernels(cells) is None


@pytest.mark.parametrize(("axis", "values"), [(0, 5), (0, 1), (3, 2), (-1, 2)])
def test_a_predicate_of_another_universe_has_no_box_in_this_one(axis, values):
    """Views by strides check nothing: they would read and write memory beyond the cells."""
    mask = np.zeros(values, dtype=np.bool_)
    mask[-1] = True
    with pytest.raises(InvalidValue, match="of this domain"):
        Predicate((axis,), mask).box(Domain.binary(3))
