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
    dimensions = [(1, 1)]  # lengths and strides, from the innermost
    for axis, part in zip(reversed(axes), reversed(parts), strict=True):
        between = prod(sizes[axis + 1 : last])
        _append_dimension(dimensions, between, stride)
        stride *= between
        start += part.start * stride
        _append_dimension(dimensions, part.stop - part.start, stride)
        stride, last = stride * sizes[axis], axis
    _append_dimension(dimensions, prod(sizes[:last]), stride)
    if dimensions[0][0] == 1 and len(dimensions) > 1:
        del dimensions[0]
    return Box(start, *zip(*reversed(dimensions), strict=True))


def _append_dimension(dimensions: list[tuple[int, int]], length: int, stride: int) -> None:
    inner, inner_stride = dimensions[-1]
    if inner * inner_stride == stride:
        dimensions[-1] = (inner * length, inner_stride)
    elif length > 1:
        dimensions.append((length, stride))
