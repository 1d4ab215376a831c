"""Reads deltas, and numbers of distinct units by key. No message carries such a number."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.mechanisms.shared.integers import integer_list
from discreet.rationals import Number, probability

__all__ = ["read_delta", "read_units"]

_SMALLEST_DELTA = Fraction(1, 10**1000)


def read_delta(*, delta: Number) -> Fraction:
    """A delta between 10**-1000 and 1."""
    read = probability(delta, "delta")
    if read == 1:
        raise InvalidValue("delta is 1, which protects nobody; lower it, for instance to 1e-6.")
    if read < _SMALLEST_DELTA:
        raise InvalidValue(
            "delta is 0 or below 1e-1000, and keys that are not public cannot be shown without "
            "one; raise it, for instance to 1e-6."
        )
    return read


def read_units(exact: Any) -> NDArray[Any]:
    """Numbers of units by key, all of them at least 1, as one row of integers.

    Privacy: NONE: the result is exact.
    """
    counts = exact if isinstance(exact, np.ndarray) else np.array(exact)
    if counts.ndim != 1 or (len(counts) and counts.dtype.kind not in "iuO"):
        raise InvalidValue(
            f"the counts are an array of {counts.dtype} with {counts.ndim} dimensions; pass one "
            "row of integers. Nothing was released."
        )
    if len(counts) and counts.min() < 1:
        raise InvalidValue(
            "a key without units was given; which keys are empty is not public, so pass only "
            "keys that some unit has. Nothing was released."
        )
    if counts.dtype.kind == "O":
        integer_list(counts)
    return counts if len(counts) else counts.astype(np.int64)
