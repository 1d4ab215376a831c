"""Privacy-loss values and what they are computed from: sensitivity and the neighbouring relation.
All arithmetic is exact or rounded towards more loss. Knows no mechanism and no data.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.rationals import (
    Number,
    exp_bounds,
    log_bounds,
    nonnegative,
    probability,
    rational,
    sqrt_up,
)

__all__ = [
    "Approximate",
    "BoundedRange",
    "Loss",
    "Pure",
    "Relation",
    "Sensitivity",
    "ZCDP",
    "group",
]


def _count(value: int, name: str) -> int:
    given: object = value
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise InvalidValue(f"{name} is {value!r}; it must be an integer of at least 1.")
    return value


class Relation(StrEnum):
    """Which data sets are neighbours: add/remove one unit, or replace one (n is public)."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"

    @property
    def steps(self) -> int:
        """How many add/remove steps one step of this relation takes.

        >>> Relation.ADD_REMOVE.steps
        1
        """
        return 1 if self is Relation.ADD_REMOVE else 2


@dataclass(frozen=True, slots=True)
class Pure:
    """epsilon-differential privacy.

    Privacy: P(S) <= exp(epsilon) Q(S) for all neighbours and events [DMNS06, Def. 2.1].
    >>> Pure(epsilon=0.1) + Pure(epsilon=0.2)
    Pure(epsilon=Fraction(3, 10))
    """

    epsilon: Fraction

    def __init__(self, *, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", nonnegative(epsilon, "epsilon"))

    def __add__(self, other: "Pure") -> "Pure":
        if not isinstance(other, Pure):
            return NotImplemented
        return Pure(epsilon=self.epsilon + other.epsilon)

    def zcdp(self) -> "ZCDP":
        """The zCDP it implies.

        Privacy: epsilon-DP implies (epsilon^2/2)-zCDP [BS16, Prop. 1.4].
        >>> Pure(epsilon=1).zcdp().rho
        Fraction(1, 2)
        """
        return ZCDP(rho=self.epsilon**2 / 2)

    def approximate(self) -> "Approximate":
        """The same statement with delta = 0.

        Privacy: epsilon-DP is (epsilon, 0)-DP [DKMMN06, Def. 1].
        >>> Pure(epsilon=1).approximate().delta
        Fraction(0, 1)
        """
        return Approximate(epsilon=self.epsilon, delta=0)


@dataclass(frozen=True, slots=True)
class BoundedRange:
    """epsilon-bounded range: the privacy loss varies by at most epsilon over all outcomes.

    Privacy: implies epsilon-DP, and (epsilon^2/8)-zCDP [CR21, Lemma 3.4].
    >>> BoundedRange(epsilon=1).zcdp().rho
    Fraction(1, 8)
    """

    epsilon: Fraction

    def __init__(self, *, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", nonnegative(epsilon, "epsilon"))

    def pure(self) -> Pure:
        """The pure guarantee it implies.

        Privacy: epsilon-bounded range implies epsilon-DP [DR19, Cor. 4.1].
        >>> BoundedRange(epsilon=1).pure()
        Pure(epsilon=Fraction(1, 1))
        """
        return Pure(epsilon=self.epsilon)

    def zcdp(self) -> "ZCDP":
        """The zCDP it implies, four times better than that of pure privacy.

        Privacy: (epsilon^2/8)-zCDP [CR21, Lemma 3.4].
        >>> BoundedRange(epsilon=2).zcdp()
        ZCDP(rho=Fraction(1, 2), delta=Fraction(0, 1))
        """
        return ZCDP(rho=self.epsilon**2 / 8)

    def approximate(self) -> "Approximate":
        """The pure guarantee written with delta = 0.

        Privacy: epsilon-bounded range implies epsilon-DP [DR19, Cor. 4.1].
        >>> BoundedRange(epsilon=1).approximate().epsilon
        Fraction(1, 1)
        """
        return Approximate(epsilon=self.epsilon, delta=0)


@dataclass(frozen=True, slots=True)
class ZCDP:
    """delta-approximate rho-zero-concentrated differential privacy.

    Privacy: outside an event of probability delta, the Renyi divergence of every order a
    is at most rho * a [BS16, Def. 1.1 and 8.1]. Losses add [BS16, Lemma 1.7 and 8.2].
    >>> ZCDP(rho=0.1) + ZCDP(rho=0.2, delta=1e-6)
    ZCDP(rho=Fraction(3, 10), delta=Fraction(1, 1000000))
    """

    rho: Fraction
    delta: Fraction

    def __init__(self, *, rho: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "rho", nonnegative(rho, "rho"))
        object.__setattr__(self, "delta", probability(delta, "delta"))

    def __add__(self, other: "ZCDP") -> "ZCDP":
        if not isinstance(other, ZCDP):
            return NotImplemented
        return ZCDP(rho=self.rho + other.rho, delta=min(Fraction(1), self.delta + other.delta))

    def zcdp(self) -> "ZCDP":
        """Itself, so that every loss can be asked for its zCDP price.

        Privacy: unchanged.
        """
        return self


@dataclass(frozen=True, slots=True)
class Approximate:
    """(epsilon, delta)-differential privacy.

    Privacy: P(S) <= exp(epsilon) Q(S) + delta for all neighbours and events [DKMMN06, Def. 1].
    Losses add [DR14, Thm. 3.16].
    >>> Approximate(epsilon=0.5, delta=1e-6) + Approximate(epsilon=0.5, delta=1e-6)
    Approximate(epsilon=Fraction(1, 1), delta=Fraction(1, 500000))
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, *, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "epsilon", nonnegative(epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(delta, "delta"))

    def __add__(self, other: "Approximate") -> "Approximate":
        if not isinstance(other, Approximate):
            return NotImplemented
        delta = min(Fraction(1), self.delta + other.delta)
        return Approximate(epsilon=self.epsilon + other.epsilon, delta=delta)

    def zcdp(self) -> ZCDP:
        """The approximate zCDP it implies.

        Privacy: (epsilon, delta)-DP implies delta-approximate (epsilon^2/2)-zCDP
        [BS16, Lemma 8.8 with Prop. 1.4].
        >>> Approximate(epsilon=1, delta=1e-6).zcdp().rho
        Fraction(1, 2)
        """
        return ZCDP(rho=self.epsilon**2 / 2, delta=self.delta)

    def approximate(self) -> "Approximate":
        """Itself, so that every (epsilon, delta) statement can be asked for in one way.

        Privacy: unchanged.
        """
        return self


Loss = Pure | BoundedRange | ZCDP | Approximate
"""What one release costs; a filter prices it in its own terms."""


def group(loss: Loss, size: int) -> Loss:
    """The loss for `size` units that act together.

    Privacy: pure losses multiply by the size [DR14, Thm. 2.2], rho by its square
    [BS16, Prop. 1.9], and (epsilon, delta) becomes (size * epsilon,
    delta * (e^(size*epsilon) - 1)/(e^epsilon - 1)), at most the form of [DR14, Sec. 2.3].
    >>> group(Pure(epsilon=0.5), 3)
    Pure(epsilon=Fraction(3, 2))
    """
    _count(size, "size")
    if isinstance(loss, Pure):
        return Pure(epsilon=size * loss.epsilon)
    if isinstance(loss, BoundedRange):
        return BoundedRange(epsilon=size * loss.epsilon)
    if isinstance(loss, ZCDP):
        if loss.delta and size > 1:
            raise UnprovableRequest(
                f"group privacy of zCDP with delta={float(loss.delta):g} has no theorem here; "
                "convert to (epsilon, delta) first. Nothing was computed."
            )
        return ZCDP(rho=size**2 * loss.rho, delta=loss.delta)
    return Approximate(
        epsilon=size * loss.epsilon, delta=min(Fraction(1), loss.delta * _steps_sum(loss, size))
    )


def _steps_sum(loss: Approximate, size: int) -> Fraction:
    """An upper bound on 1 + e^epsilon + ... + e^((size-1) epsilon), as far as it matters."""
    if not loss.delta or size == 1 or not loss.epsilon:
        return Fraction(size)
    # The last term alone brings delta to 1 once the exponent passes ln(1/delta).
    if (size - 1) * loss.epsilon > log_bounds(1 / loss.delta)[1]:
        return 1 / loss.delta
    last = size * exp_bounds((size - 1) * loss.epsilon)[1]
    step = exp_bounds(loss.epsilon)[0] - 1  # not above 0 where epsilon is below the digits kept
    return min(last, (exp_bounds(size * loss.epsilon)[1] - 1) / step) if step > 0 else last


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one unit can move a vector of answers, from public bounds only.

    One unit touches at most `groups` coordinates, moves each by at most `per_group` and all
    together by at most `total` (in lattice steps). The norms are those of the worst placement.
    >>> Sensitivity(groups=3, per_group=2, total=5).l2_squared
    Fraction(9, 1)
    """

    groups: int
    per_group: Fraction
    total: Fraction

    def __init__(self, *, groups: int, per_group: Number, total: Number | None = None) -> None:
        _count(groups, "groups")
        step = nonnegative(per_group, "per_group")
        limit = groups * step if total is None else nonnegative(total, "total")
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "per_group", min(step, limit))
        object.__setattr__(self, "total", min(limit, groups * step))

    @classmethod
    def single(cls, steps: Number) -> "Sensitivity":
        """One coordinate that moves by at most `steps`.

        >>> Sensitivity.single(1).l1
        Fraction(1, 1)
        """
        return cls(groups=1, per_group=steps)

    @classmethod
    def of_sum(
        cls,
        *,
        lower: Number,
        upper: Number,
        rows_per_unit: int = 1,
        groups_per_unit: int = 1,
        groups_in_all: int | None = None,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> "Sensitivity":
        """Sums by group of values in [lower, upper], `rows_per_unit` rows in all from one unit.

        `groups_in_all` is 1 for a sum without groups; None stands for any number of them.

        Rows may be filtered away, so a replaced unit can leave one set of groups and enter
        another: signed bounds count as max(|lower|, |upper|) under add/remove and as the
        distance between the extremes, zero included, under replace.
        >>> Sensitivity.of_sum(lower=-3, upper=5, relation=Relation.REPLACE).per_group
        Fraction(8, 1)
        """
        _count(rows_per_unit, "rows_per_unit")
        _count(groups_per_unit, "groups_per_unit")
        low, high = rational(lower, "lower"), rational(upper, "upper")
        if low > high:
            raise InvalidValue(f"lower is {lower}, above upper {upper}; swap them.")
        largest = max(abs(low), abs(high))
        touched = relation.steps * min(groups_per_unit, rows_per_unit)
        if groups_in_all is not None:
            touched = min(touched, _count(groups_in_all, "groups_in_all"))
        if relation is Relation.ADD_REMOVE:
            return cls(
                groups=touched,
                per_group=rows_per_unit * largest,
                total=rows_per_unit * largest,
            )
        spread = max(high, Fraction(0)) - min(low, Fraction(0))
        return cls(
            groups=touched,
            per_group=rows_per_unit * spread,
            total=2 * rows_per_unit * largest,
        )

    @property
    def linf(self) -> Fraction:
        """The most one coordinate can move."""
        return self.per_group

    @property
    def l1(self) -> Fraction:
        """The most all coordinates together can move."""
        return self.total

    @property
    def l2_squared(self) -> Fraction:
        """The square of the Euclidean norm at the worst placement, exactly.

        Squares are convex, so the worst placement fills coordinates one after the other.
        >>> Sensitivity(groups=10, per_group=10, total=10).l2_squared
        Fraction(100, 1)
        """
        if not self.per_group:
            return Fraction(0)
        full = self.total // self.per_group
        rest = self.total - full * self.per_group
        return full * self.per_group**2 + rest**2

    @property
    def l2(self) -> Fraction:
        """The Euclidean norm at the worst placement, rounded up.

        >>> Sensitivity(groups=4, per_group=1, total=4).l2
        Fraction(2, 1)
        """
        return sqrt_up(self.l2_squared)
