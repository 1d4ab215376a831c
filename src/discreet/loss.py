"""Privacy-loss values and what they are computed from: sensitivity and the neighbouring relation.
All arithmetic is exact or rounded towards more loss. Knows no mechanism and no data.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar, Literal

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.rationals import (
    Number,
    exp_bounds,
    log_bounds,
    nonnegative,
    probability,
    rational,
    sqrt_down,
    sqrt_up,
    whole,
)

__all__ = [
    "Approximate",
    "BoundedRange",
    "Currency",
    "Loss",
    "Price",
    "Pure",
    "Relation",
    "Sensitivity",
    "ZCDP",
    "group",
]


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


class Currency(StrEnum):
    """The terms in which a loss is stated and a budget adds up: epsilon, or rho of zCDP.

    Privacy: epsilons add [DR14, Cor. 3.15], and so does rho [BS16, Lemma 1.7].
    """

    EPSILON = "epsilon"
    RHO = "rho"

    def price(self, amount: Number) -> "Price":
        """The price of this amount.

        Privacy: epsilon-DP [DMNS06, Def. 2.1] or rho-zCDP [BS16, Def. 1.1].
        >>> Currency("rho").price(1).currency
        <Currency.RHO: 'rho'>
        """
        return Pure(epsilon=amount) if self is Currency.EPSILON else ZCDP(rho=amount)


@dataclass(frozen=True, slots=True)
class Pure:
    """epsilon-differential privacy.

    Privacy: P(S) <= exp(epsilon) Q(S) for all neighbours and events [DMNS06, Def. 2.1].
    >>> Pure(epsilon=0.1) + Pure(epsilon=0.2)
    Pure(epsilon=Fraction(3, 10))
    """

    currency: ClassVar[Literal[Currency.EPSILON]] = Currency.EPSILON
    epsilon: Fraction

    def __init__(self, *, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", nonnegative(epsilon, "epsilon"))

    def __add__(self, other: "Pure") -> "Pure":
        if not isinstance(other, Pure):
            return NotImplemented
        return Pure(epsilon=self.epsilon + other.epsilon)

    @property
    def amount(self) -> Fraction:
        """How much it is, in its currency."""
        return self.epsilon

    @staticmethod
    def of(amount: Number) -> "Pure":
        """The price of this amount.

        Privacy: epsilon-DP [DMNS06, Def. 2.1].
        """
        return Pure(epsilon=amount)

    @staticmethod
    def total(losses: "Iterable[Loss]") -> "Pure":
        """What losses cost together under a pure price, which only pure losses can.

        Privacy: epsilons add [DR14, Cor. 3.15].
        >>> Pure.total([Pure(epsilon=1), BoundedRange(epsilon=2)])
        Pure(epsilon=Fraction(3, 1))
        """
        return sum((loss.pure() for loss in losses), Pure(epsilon=0))

    def share(self, part: Fraction) -> "Pure":
        """A part of the price.

        Privacy: epsilons add, so the parts of a price cost the price [DR14, Cor. 3.15].
        >>> Pure(epsilon=1).share(Fraction(1, 2))
        Pure(epsilon=Fraction(1, 2))
        """
        return Pure(epsilon=self.epsilon * part)

    def largest_epsilon(self) -> Fraction:
        """The epsilon of a pure mechanism that costs this price."""
        return self.epsilon

    def require_rho(self, what: str) -> "ZCDP":
        """Refuse to pay for what only rho can pay for; `what` opens the message.

        Privacy: nothing is charged.
        """
        raise UnprovableRequest(
            f"{what}, and the budget is pure. Ask the custodian for a grant with delta. "
            "Nothing was run or charged."
        )

    def with_delta(self, *, delta: Number) -> "Approximate":
        """The same statement outside an event of probability `delta`.

        Privacy: (epsilon, delta)-DP [DKMMN06, Def. 1].
        """
        return Approximate(epsilon=self.epsilon, delta=delta)

    def pure(self) -> "Pure":
        """Itself, so that every loss can be asked for its pure price.

        Privacy: unchanged.
        """
        return self

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

    currency: ClassVar[Literal[Currency.EPSILON]] = Currency.EPSILON
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

    currency: ClassVar[Literal[Currency.RHO]] = Currency.RHO
    rho: Fraction
    delta: Fraction

    def __init__(self, *, rho: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "rho", nonnegative(rho, "rho"))
        object.__setattr__(self, "delta", probability(delta, "delta"))

    def __add__(self, other: "ZCDP") -> "ZCDP":
        if not isinstance(other, ZCDP):
            return NotImplemented
        return ZCDP(rho=self.rho + other.rho, delta=min(Fraction(1), self.delta + other.delta))

    @property
    def amount(self) -> Fraction:
        """How much it is, in its currency; delta is beside it."""
        return self.rho

    @staticmethod
    def of(amount: Number) -> "ZCDP":
        """The price of this amount, without delta.

        Privacy: rho-zCDP [BS16, Def. 1.1].
        """
        return ZCDP(rho=amount)

    @staticmethod
    def total(losses: "Iterable[Loss]") -> "ZCDP":
        """What losses cost together, each by the zCDP that it implies.

        Privacy: rho adds [BS16, Lemma 1.7 and 8.2].
        >>> ZCDP.total([Pure(epsilon=1), BoundedRange(epsilon=2)]).rho
        Fraction(1, 1)
        """
        return sum((loss.zcdp() for loss in losses), ZCDP(rho=0))

    def share(self, part: Fraction) -> "ZCDP":
        """A part of the price, without delta.

        Privacy: rho adds, so the parts of a price cost the price [BS16, Lemma 1.7].
        >>> ZCDP(rho=1).share(Fraction(1, 2)).rho
        Fraction(1, 2)
        """
        return ZCDP(rho=self.rho * part)

    def largest_epsilon(self) -> Fraction:
        """The epsilon of a pure mechanism that costs at most this price, rounded down.

        epsilon-DP implies (epsilon^2/2)-zCDP [BS16, Prop. 1.4].
        >>> ZCDP(rho=2).largest_epsilon()
        Fraction(2, 1)
        """
        return sqrt_down(2 * self.rho)

    def require_rho(self, _what: str) -> "ZCDP":
        """Itself: rho pays for everything that has a price.

        Privacy: unchanged.
        """
        return self

    def with_delta(self, *, delta: Number) -> "ZCDP":
        """The same statement outside an event of probability `delta`.

        Privacy: delta-approximate rho-zCDP [BS16, Def. 8.1].
        """
        return ZCDP(rho=self.rho, delta=delta)

    def pure(self) -> Pure:
        """The pure guarantee it implies: none, unless nothing was released.

        Privacy: 0-zCDP is 0-DP [BS16, Def. 1.1].
        >>> ZCDP(rho=0).pure()
        Pure(epsilon=Fraction(0, 1))
        """
        if self.rho or self.delta:
            raise _impure_error(self)
        return Pure(epsilon=0)

    def zcdp(self) -> "ZCDP":
        """Itself, so that every loss can be asked for its zCDP price.

        Privacy: unchanged.
        """
        return self

    def approximate(self) -> "Approximate":
        """Refuse: zCDP states an epsilon for every delta, and none of its own.

        Privacy: nothing is stated.
        """
        raise UnprovableRequest(
            f"{self!r} makes no (epsilon, delta) statement of its own; compose it with "
            "zcdp(losses, delta=...). Nothing was computed."
        )


@dataclass(frozen=True, slots=True)
class Approximate:
    """(epsilon, delta)-differential privacy.

    Privacy: P(S) <= exp(epsilon) Q(S) + delta for all neighbours and events [DKMMN06, Def. 1].
    Losses add [DR14, Thm. 3.16].
    >>> Approximate(epsilon=0.5, delta=1e-6) + Approximate(epsilon=0.5, delta=1e-6)
    Approximate(epsilon=Fraction(1, 1), delta=Fraction(1, 500000))
    """

    currency: ClassVar[Literal[Currency.EPSILON]] = Currency.EPSILON
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

    def pure(self) -> Pure:
        """The pure guarantee it states, which has no delta.

        Privacy: (epsilon, 0)-DP is epsilon-DP [DKMMN06, Def. 1].
        >>> Approximate(epsilon=1, delta=0).pure()
        Pure(epsilon=Fraction(1, 1))
        """
        if self.delta:
            raise _impure_error(self)
        return Pure(epsilon=self.epsilon)

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

Price = Pure | ZCDP
"""What a question may cost, in the terms of the account that pays."""


def _impure_error(loss: Loss) -> UnprovableRequest:
    return UnprovableRequest(
        f"{loss!r} cannot be paid from a pure budget: it states no epsilon at delta=0. Use a "
        "pure mechanism (Laplace noise), or a budget with a delta. Nothing was charged."
    )


def group(loss: Loss, size: int) -> Loss:
    """The loss for `size` units that act together.

    Privacy: pure losses multiply by the size [DR14, Thm. 2.2], rho by its square
    [BS16, Prop. 1.9], and (epsilon, delta) becomes (size * epsilon,
    delta * (e^(size*epsilon) - 1)/(e^epsilon - 1)), at most the form of [DR14, Sec. 2.3].
    >>> group(Pure(epsilon=0.5), 3)
    Pure(epsilon=Fraction(3, 2))
    """
    whole(size, "size")
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
        epsilon=size * loss.epsilon, delta=min(Fraction(1), loss.delta * _sum_steps(loss, size))
    )


def _sum_steps(loss: Approximate, size: int) -> Fraction:
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
        whole(groups, "groups")
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
        whole(rows_per_unit, "rows_per_unit")
        whole(groups_per_unit, "groups_per_unit")
        low, high = rational(lower, "lower"), rational(upper, "upper")
        if low > high:
            raise InvalidValue(f"lower is {lower}, above upper {upper}; swap them.")
        largest = max(abs(low), abs(high))
        touched = relation.steps * min(groups_per_unit, rows_per_unit)
        if groups_in_all is not None:
            touched = min(touched, whole(groups_in_all, "groups_in_all"))
        if relation is Relation.ADD_REMOVE:
            return cls(
                groups=touched, per_group=rows_per_unit * largest, total=rows_per_unit * largest
            )
        spread = max(high, Fraction(0)) - min(low, Fraction(0))
        return cls(
            groups=touched, per_group=rows_per_unit * spread, total=2 * rows_per_unit * largest
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
