"""Reads exact rows and counts how many of them one neighbouring step can move. No message carries
a value of a row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import Relation
from discreet.rationals import whole

__all__ = [
    "LARGEST",
    "clamp_sorted",
    "count_moved_rows",
    "exact_squares",
    "exact_sum",
    "read_bounds",
    "read_integers",
]

LARGEST = 1 << 60
"""Sums and differences of two such numbers stay within 64 bits."""


def count_moved_rows(relation: Relation, rows_per_unit: int) -> int:
    """How many rows one neighbouring step inserts or deletes in all: r, or 2r under replace."""
    return Relation(relation).steps * whole(rows_per_unit, "rows_per_unit")


def read_integers(
    exact: Any, name: str = "the exact rows", dimensions: int = 1
) -> NDArray[np.int64]:
    """Lattice integers held within +-2**60; anything else is refused, no value repeated.

    Privacy: NONE: the result is exact.
    """
    rows = exact if isinstance(exact, np.ndarray) else np.array(exact)
    if rows.size == 0:  # whether there are rows must not decide between an answer and an error
        return np.zeros(rows.shape if rows.ndim == dimensions else (0,) * dimensions, np.int64)
    if rows.ndim != dimensions or rows.dtype.kind not in "iu" or rows.dtype == np.uint64:
        raise InvalidValue(
            f"{name} are an array of {rows.dtype} with {rows.ndim} dimensions; pass {dimensions} "
            "of integers (lattice steps, Lattice.steps makes them). Nothing was released."
        )
    # A fixed rule for each row, so that nothing later can overflow or depend on another row.
    return np.clip(rows.astype(np.int64), -LARGEST, LARGEST)


def read_bounds(lower: int, upper: int) -> tuple[int, int]:
    """Public bounds of lattice integers."""
    for name, value in (("lower", lower), ("upper", upper)):
        bound: object = value
        if isinstance(bound, bool) or not isinstance(bound, int) or abs(bound) > LARGEST:
            raise InvalidValue(f"{name} is {value!r}; it must be an integer within +-2**60.")
    if lower > upper:
        raise InvalidValue(f"lower is {lower}, above upper {upper}; swap them.")
    return lower, upper


def clamp_sorted(exact: Any, lower: int, upper: int) -> NDArray[np.int64]:
    """The rows in ascending order, each held within the bounds.

    Privacy: NONE: the result is exact.
    """
    return np.sort(np.clip(read_integers(exact), lower, upper))


def exact_sum(values: NDArray[np.int64], most: int) -> int:
    """The sum of integers within +-`most`, in parts that cannot overflow."""
    part = max(1, (1 << 62) // max(1, most))
    return sum(int(values[start : start + part].sum()) for start in range(0, len(values), part))


def exact_squares(values: NDArray[np.int64], most: int) -> int:
    """The sum of squares of integers within +-`most`; slow where squares leave 64 bits."""
    if most < 1 << 31:
        return exact_sum(values * values, most**2)
    return sum(int(value) ** 2 for value in values)
