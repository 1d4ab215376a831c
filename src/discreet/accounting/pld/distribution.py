"""Privacy-loss distributions: what a batch of mechanisms costs together, bracketed.
Owns the public values only; the arithmetic is in the distribution_* modules.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Self

from discreet.accounting.pld.mechanisms import (
    GaussianNoise,
    LaplaceNoise,
    Mechanism,
    SubsampledGaussianNoise,
    TwoPoint,
    assemble,
    directions,
)
from discreet.accounting.pld.query import delta_range, epsilon_range
from discreet.errors import InvalidValue
from discreet.rationals import (
    Number,
    floor_float,
    nonnegative,
    positive,
    probability,
    strict_probability,
    whole,
)

__all__ = ["Bracket", "Distribution"]

_MOST_COPIES = 2**53
_LARGEST = 10**100  # of an epsilon or a squared ratio: what floats compute with


@dataclass(frozen=True, slots=True)
class Bracket:
    """A number known to lie between `lower` and `upper`.

    Charge `upper`; `lower` says how much could be gained.
    >>> Bracket(lower=1.0, upper=1.5).width
    0.5
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise InvalidValue(f"lower is {self.lower}, above upper {self.upper}; swap them.")

    @property
    def width(self) -> float:
        """The distance between the two bounds; 0 where both are infinite."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower


def _read_below_one(value: Number, name: str) -> Fraction:
    number = probability(value, name)
    if number == 1:
        raise InvalidValue(f"{name} is 1; it must be below 1.")
    return number


def _check_size(number: Fraction, name: str) -> Fraction:
    if number > _LARGEST:
        raise InvalidValue(f"{name} is above the limit of 1e100; such noise protects nothing.")
    return number


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """The privacy loss of a batch of mechanisms whose parameters are fixed in advance.

    A value: `+` and `*` only record what is composed, in any order; questions are answered by
    certified Fourier inversion of the exact loss, discretised only where no closed form is known.
    Privacy: bounds hold for every pair of neighbours under add/remove of one unit, whatever
    the order of the mechanisms; the later *queries* may be adaptive, the parameters not
    [ZDW22, Thm. 10].
    >>> batch = 1000 * Distribution.laplace(epsilon=0.01)
    >>> batch.epsilon(delta=1e-6).upper < 1.36295  # basic composition says 10
    True
    """

    parts: tuple[tuple[Mechanism, int], ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidValue("a Distribution of no mechanisms; compose at least one.")

    @classmethod
    def laplace(cls, *, epsilon: Number) -> Self:
        """Laplace noise of scale 1/epsilon on a query of sensitivity 1.

        Privacy: epsilon-DP under add/remove [DMNS06, Prop. 3.3].
        >>> Distribution.laplace(epsilon=1).epsilon(delta=0.1).upper < 0.7893
        True
        """
        price = _check_size(positive(epsilon, "epsilon"), "epsilon")
        return cls(((LaplaceNoise(epsilon=price), 1),))

    @classmethod
    def gaussian(cls, *, sigma: Number, sensitivity: Number = 1) -> Self:
        """Gaussian noise of standard deviation sigma on a query of this l2 sensitivity.

        Privacy: its exact curve under add/remove [BW18, Thm. 8].
        >>> Distribution.gaussian(sigma=2).delta(epsilon=0.5).upper < 0.0525
        True
        """
        ratio = positive(sensitivity, "sensitivity") / positive(sigma, "sigma")
        return cls(((GaussianNoise(_check_size(ratio**2, "(sensitivity/sigma)^2")), 1),))

    @classmethod
    def randomized_response(cls, *, epsilon: Number) -> Self:
        """The truth with probability e^epsilon / (1 + e^epsilon), else the opposite.

        Privacy: epsilon-DP, as `pure`: randomized response is the worst such mechanism.
        >>> Distribution.randomized_response(epsilon=1) == Distribution.pure(epsilon=1)
        True
        """
        return cls.pure(epsilon=epsilon)

    @classmethod
    def pure(cls, *, epsilon: Number) -> Self:
        """Any epsilon-DP mechanism, at its worst.

        Privacy: epsilon-DP under the relation it was proved for [MV16, Lemma 3.2].
        >>> (2 * Distribution.pure(epsilon=1)).epsilon(delta=0).upper
        2.0
        """
        price = _check_size(positive(epsilon, "epsilon"), "epsilon")
        return cls(((TwoPoint(epsilon=price, delta=Fraction(0)), 1),))

    @classmethod
    def approximate(cls, *, epsilon: Number, delta: Number) -> Self:
        """Any (epsilon, delta)-DP mechanism, at its worst.

        Privacy: (epsilon, delta)-DP under the relation it was proved for [MV16, Lemma 3.2].
        >>> Distribution.approximate(epsilon=1, delta=1e-6).epsilon(delta=1e-6).upper
        1.0
        """
        price = _check_size(positive(epsilon, "epsilon"), "epsilon")
        return cls(((TwoPoint(epsilon=price, delta=_read_below_one(delta, "delta")), 1),))

    @classmethod
    def subsampled_gaussian(cls, *, rate: Number, sigma: Number) -> Self:
        """Gaussian noise on a sum over a Poisson sample; each unit is in it with this rate.

        Privacy: the worse of both directions of add/remove, at sensitivity 1 [ZDW22, Thm. 11].
        >>> step = Distribution.subsampled_gaussian(rate=0.01, sigma=1)
        >>> (100 * step).epsilon(delta=1e-6).upper < 1.9
        True
        """
        if positive(rate, "rate") == 1:
            return cls.gaussian(sigma=sigma)
        share, deviation = _read_below_one(rate, "rate"), positive(sigma, "sigma")
        return cls(((SubsampledGaussianNoise(rate=share, sigma=deviation), 1),))

    @classmethod
    def compose(cls, *distributions: "Distribution") -> Self:
        """Everything in these distributions, run on the same data.

        Losses of independent mechanisms add up [ZDW22, Thm. 10].
        >>> one = Distribution.pure(epsilon=1)
        >>> Distribution.compose(one, one) == 2 * one
        True
        """
        return cls(tuple(part for batch in distributions for part in batch.parts))

    def __add__(self, other: "Distribution") -> "Distribution":
        if not isinstance(other, Distribution):
            return NotImplemented
        return Distribution(self.parts + other.parts)

    def __mul__(self, count: int) -> "Distribution":
        whole(count, "count")
        return Distribution(tuple((mechanism, count * copies) for mechanism, copies in self.parts))

    __rmul__ = __mul__

    def _counts(self) -> Counter[Mechanism]:
        counts: Counter[Mechanism] = Counter()
        for mechanism, copies in self.parts:
            counts[mechanism] += copies
        if max(counts.values()) > _MOST_COPIES:
            raise InvalidValue(
                f"{max(counts.values())} copies of one mechanism; the limit is 2**53. "
                "Compose its advanced bound instead."
            )
        return counts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Distribution):
            return NotImplemented
        return self._counts() == other._counts()

    def __hash__(self) -> int:
        return hash(frozenset(self._counts().items()))

    def _groups(self) -> dict[type[Mechanism], list[tuple[Mechanism, int]]]:
        groups: dict[type[Mechanism], list[tuple[Mechanism, int]]] = {}
        for mechanism, copies in self._counts().items():
            groups.setdefault(type(mechanism), []).append((mechanism, copies))
        return groups

    def epsilon(self, *, delta: Number, tolerance: float = 1e-4) -> Bracket:
        """The smallest epsilon at which the batch is (epsilon, delta)-DP, bracketed.

        The bracket is at most `tolerance` wide, relative, unless delta is out of reach of floating
        point; then it is wider, never wrong. (upper, delta)-DP under add/remove;
        docs/proofs/distributions.md.
        >>> Distribution.gaussian(sigma=1).epsilon(delta=0)
        Bracket(lower=inf, upper=inf)
        """
        limit = probability(delta, "delta")
        strict_probability(tolerance, "tolerance")
        groups = self._groups()
        low, high = 0.0, 0.0
        for direction in directions(groups.keys()):
            build = partial(assemble, groups, direction)
            if low:  # a rough look often shows that this direction is the better one
                rough = epsilon_range(build, delta=limit, tolerance=0.03)
                if rough[1] <= low:
                    continue
            lower, upper = epsilon_range(build, delta=limit, tolerance=tolerance)
            low, high = max(low, lower), max(high, upper)
        return Bracket(low, high)

    def delta(self, *, epsilon: Number, tolerance: float = 1e-4) -> Bracket:
        """The smallest delta at which the batch is (epsilon, delta)-DP, bracketed.

        Privacy: (epsilon, upper)-DP under add/remove; docs/proofs/distributions.md.
        >>> Distribution.gaussian(sigma=1).delta(epsilon=1).lower > 0.1269
        True
        """
        place = floor_float(nonnegative(epsilon, "epsilon"))
        strict_probability(tolerance, "tolerance")
        groups = self._groups()
        low, high = 0.0, 0.0
        for direction in directions(groups.keys()):
            build = partial(assemble, groups, direction)
            lower, upper = delta_range(build, epsilon=place, tolerance=tolerance, known=low)
            low, high = max(low, lower), max(high, upper)
        return Bracket(low, high)
