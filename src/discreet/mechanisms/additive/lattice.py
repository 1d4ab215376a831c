"""The way from real-valued queries to integer mechanisms: clamp, round to public steps, charge
the rounding to the sensitivity, release, and give back multiples of the step.
The output lattice depends on the declared step only, never on data.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InvalidValue
from discreet.loss import Loss, Relation, Sensitivity
from discreet.mechanisms.protocol import Mechanism
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, ceil_float, positive, rational

__all__ = ["Lattice", "Rounded"]

_LARGEST_POWER_OF_TEN = 9_999  # decimals beyond it count as infinite or as zero


@dataclass(frozen=True, slots=True)
class Lattice:
    """Multiples of a public step, and the public bounds that values are clamped to.

    Infinities clamp to the bounds like any large value; NaN counts as `missing` (the lower bound
    unless declared). A float is read as the decimal it prints as; ties round half to even.

    Privacy: NONE by itself: places are exact, and noise is added to them.
    >>> Lattice(step=0.01, lower=0, upper=100).steps(2.345)
    234
    """

    step: Fraction
    lower: Fraction
    upper: Fraction
    missing: Fraction

    def __init__(
        self, *, step: Number, lower: Number, upper: Number, missing: Number | None = None
    ) -> None:
        low, high = rational(lower, "lower"), rational(upper, "upper")
        if low > high:
            raise InvalidValue(f"lower is {lower}, above upper {upper}; swap them.")
        constant = low if missing is None else rational(missing, "missing")
        if not low <= constant <= high:
            raise InvalidValue(f"missing is {missing}; it must lie in [{lower}, {upper}].")
        object.__setattr__(self, "step", positive(step, "step"))
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "missing", constant)

    def steps(self, exact: Any) -> Any:
        """The value clamped and rounded to whole steps; of a list or an array, a list of them.

        Privacy: not private by itself: the result is exact and goes to a mechanism.
        >>> Lattice(step=1, lower=0, upper=10).steps([0.5, 1.5, float("inf"), float("nan")])
        [0, 2, 10, 0]
        """
        if isinstance(exact, np.ndarray):
            return [self._steps(value) for value in exact.ravel().tolist()]
        if isinstance(exact, list):
            return [self._steps(value) for value in exact]
        return self._steps(exact)

    def _steps(self, exact: Any) -> int:
        if isinstance(exact, Decimal):
            exact = _make_comparable(exact)
        if isinstance(exact, float) and not math.isfinite(exact):
            value = self.missing
            if not math.isnan(exact):
                value = self.upper if exact > 0 else self.lower
        else:
            try:
                value = min(max(rational(exact, "the exact value"), self.lower), self.upper)
            except InvalidValue:  # must not repeat the value
                raise InvalidValue(
                    f"the exact value is of type {type(exact).__name__}, not a number. "
                    "Nothing was released."
                ) from None
        return round(value / self.step)  # a Fraction rounds half to even

    def values(self, noisy: Any) -> Any:
        """The exact multiples of the step that numbers of steps stand for.

        >>> Lattice(step=0.01, lower=0, upper=100).values(234)
        Fraction(117, 50)
        """
        if isinstance(noisy, int):
            return noisy * self.step
        return [int(count) * self.step for count in noisy]

    def sensitivity(self, real: Sensitivity) -> Sensitivity:
        """The sensitivity in steps of an aggregate that is rounded once, after it is computed.

        Two values at most d steps apart round to integers at most floor(d) + 1 apart, and d when
        it is an even integer; each touched coordinate pays that once.
        >>> Lattice(step=1, lower=0, upper=100).sensitivity(Sensitivity.single(0.1)).linf
        Fraction(1, 1)
        """
        span = round(self.upper / self.step) - round(self.lower / self.step)
        most = min(_round_distance(real.per_group / self.step), span)
        total = math.floor(real.total / self.step) + real.groups
        return Sensitivity(groups=real.groups, per_group=most, total=min(total, real.groups * most))

    def sum_sensitivity(
        self,
        *,
        rows_per_unit: int = 1,
        groups_per_unit: int = 1,
        groups_in_all: int | None = None,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> Sensitivity:
        """The sensitivity in steps of a sum whose records are each rounded before they are added.

        Nothing is added for rounding: the rounded bounds are the bounds of the rounded values.
        >>> Lattice(step=0.01, lower=0, upper=100).sum_sensitivity().linf
        Fraction(10000, 1)
        """
        return Sensitivity.of_sum(
            lower=round(self.lower / self.step),
            upper=round(self.upper / self.step),
            rows_per_unit=rows_per_unit,
            groups_per_unit=groups_per_unit,
            groups_in_all=groups_in_all,
            relation=relation,
        )


def _make_comparable(exact: Decimal) -> Decimal | float:
    """A decimal, or the float that clamps and rounds the same where it is no ordinary number."""
    if exact.is_nan():
        return math.nan
    if exact.is_finite() and abs(exact.adjusted()) <= _LARGEST_POWER_OF_TEN:
        return exact
    if exact.is_infinite() or exact.adjusted() > 0:
        return -math.inf if exact.is_signed() else math.inf
    return -0.0 if exact.is_signed() else 0.0


def _round_distance(steps: Fraction) -> int:
    """How far apart two numbers `steps` apart can be once rounded half to even."""
    whole = math.floor(steps)
    return whole if steps == whole and whole % 2 == 0 else whole + 1


@dataclass(frozen=True, slots=True)
class Rounded:
    """An integer mechanism applied to a real-valued query through a lattice.

    Privacy: that of the mechanism at the sensitivity of the rounded query.
    >>> from discreet.mechanisms.additive.laplace import DiscreteLaplace
    >>> lattice = Lattice(step=0.5, lower=0, upper=100)
    >>> noisy = Rounded(mechanism=DiscreteLaplace(scale=2), lattice=lattice).release(7.3)
    >>> (noisy / lattice.step).denominator
    1
    """

    mechanism: Mechanism
    lattice: Lattice

    def __init__(self, *, mechanism: Mechanism, lattice: Lattice) -> None:
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "lattice", lattice)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The cost of one release; the sensitivity is that of the real-valued query.

        Privacy: the mechanism's loss at `Lattice.sensitivity`, for the relation of the sensitivity
        [DMNS06, Prop. 3.3], [CKS20, Thm. 4].
        >>> from discreet.mechanisms.additive.laplace import DiscreteLaplace
        >>> lattice = Lattice(step=0.5, lower=0, upper=100)
        >>> Rounded(mechanism=DiscreteLaplace(scale=8), lattice=lattice).loss(
        ...     Sensitivity.single(1))
        Pure(epsilon=Fraction(1, 4))
        """
        return self.mechanism.loss(self.lattice.sensitivity(sensitivity))

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """Noisy multiples of the step: a Fraction, or a list of them for a list or an array.

        Privacy: as `loss` says.
        """
        return self.lattice.values(self.mechanism.release(self.lattice.steps(exact), bits))

    def error(self, confidence: Number) -> float:
        """The half-width around a value within the bounds: the noise and half a step of
        rounding.
        """
        noise = Fraction(self.mechanism.error(confidence))
        return ceil_float((noise + Fraction(1, 2)) * self.lattice.step)
