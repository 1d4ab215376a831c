"""Where the cells lie that a box of values covers: a start, and lengths with their strides.
Knows no weights. Dimensions that lie together in memory are one.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

__all__ = ["Box", "box_of"]


class Box(NamedTuple):
    """Places of cells, counted in cells: the innermost dimension is the last."""

    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def box_of(sizes: Sequence[int], axes: Sequence[int], parts: Sequence[slice]) -> Box:
    """The cells whose attributes at `axes` have values in these slices."""
    start, stride, last = 0, 1, len(sizes)
    found = [(1, 1)]  # lengths and strides, from the innermost
    for axis, part in zip(reversed(axes), reversed(parts), strict=True):
        between = prod(sizes[axis + 1 : last])
        _add(found, between, stride)
        stride *= between
        start += part.start * stride
        _add(found, part.stop - part.start, stride)
        stride, last = stride * sizes[axis], axis
    _add(found, prod(sizes[:last]), stride)
    if found[0][0] == 1 and len(found) > 1:
        del found[0]
    return Box(start, *(tuple(each) for each in zip(*reversed(found), strict=True)))


def _add(found: list[tuple[int, int]], length: int, stride: int) -> None:
    inner, its = found[-1]
    if inner * its == stride:
        found[-1] = (inner * length, its)
    elif length > 1:
        found.append((length, stride))
