"""What the sparse vector mechanisms share: integers in, shares of a price, refusals.
No message carries a value; no float stands between a value and its noise.
"""

import decimal
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import Pure, Relation, Sensitivity
from discreet.noise.bits import BitSource
from discreet.noise.discrete import discrete_laplace

__all__ = [
    "Values",
    "noisy_margins",
    "one_way_reach",
    "reach_of",
    "total",
    "two_thirds",
    "whole_number",
]

Values = Sequence[int] | NDArray[Any]
"""The exact answers of a run, one a question."""

_SAFE = 1 << 61


def whole_number(value: Any) -> int:
    """An integer that is not a boolean; the refusal does not repeat it."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise InvalidValue(
        f"a value of type {type(value).__name__} is compared; the sparse vector technique takes "
        "integers. Round real values with a Lattice first. Nothing was released."
    )


def reach_of(sensitivity: Sensitivity) -> Fraction:
    """How far one unit moves a value, which must not be nothing."""
    if not sensitivity.linf:
        raise InvalidValue("the sensitivity is 0: the answer is public and needs no noise.")
    return sensitivity.linf


def one_way_reach(sensitivity: Sensitivity, relation: Relation) -> Fraction:
    """The same where one unit moves all values the same way; refused under replace."""
    if relation is not Relation.ADD_REMOVE:
        raise UnprovableRequest(
            f"the monotone form under the relation {relation.value}: replacing a unit moves "
            "values both ways. Use the general form. Nothing was released."
        )
    return reach_of(sensitivity)


def total(losses: Iterable[Pure]) -> Pure:
    """The sum of pure losses.

    Privacy: losses add [DR14, Thm. 3.14].
    """
    return sum(losses, Pure(epsilon=0))


def noisy_margins(exact: Values, threshold: int, scale: Fraction, bits: BitSource) -> NDArray[Any]:
    """The values less the threshold, plus noise; never leaves the mechanism.

    Privacy: NONE by itself: what leaves is whether a margin is positive.
    """
    level = whole_number(threshold)
    noise = discrete_laplace(scale=scale, size=len(exact), bits=bits)
    if isinstance(exact, np.ndarray) and exact.dtype.kind in "iu" and noise.dtype.kind == "i":
        if exact.ndim != 1:
            raise InvalidValue(f"the values have {exact.ndim} dimensions; pass one row of them.")
        if max(_largest(exact), _largest(noise), abs(level)) < _SAFE:
            narrow: NDArray[Any] = exact.astype(np.int64) - level + noise
            return narrow
    wide = np.empty(len(exact), dtype=object)
    wide[:] = [
        whole_number(value) - level + int(step) for value, step in zip(exact, noise, strict=True)
    ]
    return wide


def _largest(values: NDArray[Any]) -> int:
    return max(abs(int(values.max())), abs(int(values.min()))) if len(values) else 0


def two_thirds(count: int) -> Fraction:
    """count^(2/3), to twelve places."""
    with decimal.localcontext() as context:
        context.prec = 60
        power = Decimal(count * count) ** (Decimal(1) / 3)
        return Fraction(power.quantize(Decimal(10) ** -12))
