"""Which randomizer to use: the one with the least variance, known before anyone is asked."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidValue
from discreet.local.frequencies import mean_variance
from discreet.local.protocol import CategoryRandomizer, NumberRandomizer
from discreet.local.randomizers.hadamard import HadamardResponse
from discreet.local.randomizers.hashing import LocalHashing
from discreet.local.randomizers.hybrid import Hybrid
from discreet.local.randomizers.kary import KaryResponse
from discreet.local.randomizers.numbers import largest_variance
from discreet.local.randomizers.one_bit import OneBit
from discreet.local.randomizers.piecewise import Piecewise
from discreet.local.randomizers.subset import SubsetSelection
from discreet.local.randomizers.unary import UnaryEncoding
from discreet.rationals import Number, positive, whole

__all__ = ["Candidate", "candidates", "choose", "choose_number"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A randomizer with the variance of its estimated counts, per report.

    >>> candidates(categories=2, epsilon=1)[0].randomizer
    KaryResponse(epsilon=Fraction(1, 1), categories=2)
    """

    randomizer: CategoryRandomizer
    variance: float


def candidates(
    *, categories: int, epsilon: Number, report_bits: int = 1024, coin_bits: int | None = None
) -> tuple[Candidate, ...]:
    """Every randomizer whose reports are short enough, the least variance first.

    The variance is the mean over the categories, which no distribution of answers changes.

    Privacy: every candidate is epsilon-DP for each report, by replacing the answer.
    >>> candidates(categories=100, epsilon=1)[0].randomizer
    SubsetSelection(epsilon=Fraction(1, 1), categories=100, size=27)
    """
    value = positive(epsilon, "epsilon")
    whole(categories, "categories", least=2, most=1 << 60)
    whole(report_bits, "report_bits", least=1, most=1 << 20)
    fitting = [
        Candidate(randomizer, mean_variance(randomizer))
        for randomizer in _list_possible(categories, value, coin_bits)
        if randomizer.report_bits <= report_bits
    ]
    if not fitting:
        raise InvalidValue(
            f"no report on {categories} categories fits into {report_bits} bits; allow "
            f"{KaryResponse(epsilon=value, categories=categories).report_bits}."
        )
    return tuple(sorted(fitting, key=lambda one: (one.variance, one.randomizer.report_bits)))


def choose(
    *, categories: int, epsilon: Number, report_bits: int = 1024, coin_bits: int | None = None
) -> CategoryRandomizer:
    """The randomizer of categories with the least variance at this epsilon.

    Privacy: every candidate is epsilon-DP for each report.
    >>> choose(categories=3, epsilon=2)
    KaryResponse(epsilon=Fraction(2, 1), categories=3)
    """
    return candidates(
        categories=categories, epsilon=epsilon, report_bits=report_bits, coin_bits=coin_bits
    )[0].randomizer


def choose_number(
    *, epsilon: Number, lower: Number, upper: Number, step: Number, coin_bits: int | None = None
) -> NumberRandomizer:
    """The randomizer of numbers in a range with the least variance for the worst answer.

    Ties go to the shorter report.
    Privacy: every candidate is epsilon-DP for each report.
    >>> choose_number(epsilon=0.5, lower=0, upper=10, step=1).report_bits
    1
    """
    kinds: tuple[type[OneBit | Piecewise | Hybrid], ...] = (OneBit, Piecewise, Hybrid)
    randomizers: list[NumberRandomizer] = [
        kind(epsilon=epsilon, lower=lower, upper=upper, step=step, coin_bits=coin_bits)
        for kind in kinds
    ]
    return min(randomizers, key=lambda one: (round(largest_variance(one), 12), one.report_bits))


def _list_possible(
    categories: int, epsilon: Fraction, coin_bits: int | None
) -> list[CategoryRandomizer]:
    asked: dict[str, Any] = {"epsilon": epsilon, "categories": categories, "coin_bits": coin_bits}
    possible: list[CategoryRandomizer] = [KaryResponse(**asked), LocalHashing(**asked)]
    if categories < 1 << 24:
        possible.append(HadamardResponse(**asked))
    if categories <= 1 << 20:
        possible.append(UnaryEncoding(**asked))
        sets = SubsetSelection(**asked)
        if sets.size > 1:  # sets of one are k-ary response with longer reports
            possible.append(sets)
    return possible
