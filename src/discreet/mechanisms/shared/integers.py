"""Adds integer noise to integers without overflow. The type of the result depends on the type of
the input only, never on its values, and no message carries a value.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue

__all__ = ["Draw", "Integers", "add", "clamp_categories", "integer_list", "saturating_sum"]

Integers = TypeVar("Integers", int, list[int], NDArray[Any])
"""One integer, a list or an array of them."""
Draw = Callable[[int], NDArray[Any]]
"""So many independent draws of noise."""

_LIMITS = np.iinfo(np.int64)


def add(exact: Integers, draw: Draw) -> Integers:
    """`exact` plus independent draws; `draw(n)` gives n of them.

    Privacy: that of the noise which `draw` gives.
    """
    noisy: Integers = _add(exact, draw)
    return noisy


def _add(exact: Any, draw: Draw) -> Any:
    if isinstance(exact, np.ndarray):
        return _add_to_array(exact, draw)
    if isinstance(exact, list):
        return _add_to_objects(integer_list(exact), draw)
    return _read_integer(exact) + int(draw(1)[0])


def _read_integer(value: Any) -> int:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise _refusal(type(value).__name__)


def integer_list(exact: Any) -> list[int]:
    """The integers of a sequence, refusing everything else.

    Privacy: NONE: the result is exact.
    """
    return [_read_integer(entry) for entry in exact]


def _refusal(name: str) -> InvalidValue:
    return InvalidValue(
        f"the exact value is of type {name}; noise is added to integers only. "
        "Round real values with a Lattice first. Nothing was released."
    )


def _add_to_objects(exact: list[int], draw: Draw) -> list[int]:
    noise = draw(len(exact))
    return [value + int(step) for value, step in zip(exact, noise, strict=True)]


def _add_to_array(exact: NDArray[Any], draw: Draw) -> NDArray[Any]:
    if exact.dtype.kind == "O" or exact.dtype == np.uint64:  # not all of it fits an int64
        flat = integer_list(exact.ravel())
        noisy = np.empty(len(flat), dtype=object)
        noisy[:] = _add_to_objects(flat, draw)
        return noisy.reshape(exact.shape)
    if exact.dtype.kind not in "iu":
        raise _refusal(f"array of {exact.dtype}")
    noise = draw(exact.size).reshape(exact.shape)
    return saturating_sum(exact.astype(np.int64), noise)


def saturating_sum(exact: NDArray[np.int64], noise: NDArray[Any]) -> NDArray[np.int64]:
    """The sum, held at the ends of the 64-bit range.

    Privacy: post-processing of the unlimited sum [DR14, Prop. 2.1].
    """
    if noise.dtype.kind == "O":
        unlimited = exact.astype(object) + noise
        held = [min(max(int(v), _LIMITS.min), _LIMITS.max) for v in unlimited.ravel()]
        return np.array(held, dtype=np.int64).reshape(exact.shape)
    total: NDArray[np.int64] = exact + noise
    # Overflow happened where both terms have one sign and the wrapped sum has the other.
    wrapped = ((exact ^ total) & (noise ^ total)) < 0
    return np.where(wrapped, np.where(noise < 0, _LIMITS.min, _LIMITS.max), total)


def clamp_categories(exact: NDArray[Any], categories: int) -> NDArray[np.int64]:
    """Categories 0, 1, ..., each moved to the nearest that exists.

    Privacy: NONE: the result is exact.
    """
    if exact.dtype.kind == "O":
        if not all(isinstance(entry, int | np.integer | np.bool_) for entry in exact.ravel()):
            raise InvalidValue("a category is not an integer; number them from 0.")
        clamped = [min(max(int(entry), 0), categories - 1) for entry in exact.ravel()]
        return np.array(clamped, dtype=np.int64).reshape(exact.shape)
    if exact.dtype.kind not in "iub":
        raise InvalidValue(f"categories come as an array of {exact.dtype}; number them from 0.")
    numbers = exact.astype(np.int64) if exact.dtype.kind == "b" else exact
    limited: NDArray[np.int64] = np.maximum(np.minimum(numbers, categories - 1), 0).astype(np.int64)
    return limited
