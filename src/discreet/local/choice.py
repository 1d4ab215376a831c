"""Which randomizer to use: the one with the least variance, known before anyone is asked."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import InvalidValue
from discreet.local._answers import whole
from discreet.local.frequencies import mean_variance
from discreet.local.hadamard import HadamardResponse
from discreet.local.hashing import LocalHashing
from discreet.local.kary import KaryResponse
from discreet.local.protocol import CategoryRandomizer
from discreet.local.subset import SubsetSelection
from discreet.local.unary import UnaryEncoding
from discreet.rationals import Number, positive

__all__ = ["Candidate", "candidates", "choose"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A randomizer with the variance of its estimated counts, per report.

    Privacy: none (touches no data).
    >>> candidates(categories=2, epsilon=1)[0].randomizer
    KaryResponse(epsilon=Fraction(1, 1), categories=2)
    """

    randomizer: CategoryRandomizer
    variance: float


def candidates(
    *, categories: int, epsilon: Number, report_bits: int = 1024
) -> tuple[Candidate, ...]:
    """Every randomizer whose reports are short enough, the least variance first.

    The variance is the mean over the categories, which no distribution of answers changes.
    Privacy: none (touches no data).
    >>> [type(c.randomizer).__name__ for c in candidates(categories=100, epsilon=1)][:2]
    ['SubsetSelection', 'UnaryEncoding']
    """
    value = positive(epsilon, "epsilon")
    whole(categories, "categories", least=2, most=1 << 60)
    whole(report_bits, "report_bits", least=1, most=1 << 20)
    found = [
        Candidate(randomizer, mean_variance(randomizer))
        for randomizer in _possible(categories, value)
        if randomizer.report_bits <= report_bits
    ]
    if not found:
        raise InvalidValue(
            f"no report on {categories} categories fits into {report_bits} bits; allow "
            f"{KaryResponse(epsilon=value, categories=categories).report_bits}."
        )
    return tuple(sorted(found, key=lambda c: (c.variance, c.randomizer.report_bits)))


def choose(*, categories: int, epsilon: Number, report_bits: int = 1024) -> CategoryRandomizer:
    """The randomizer of categories with the least variance at this epsilon.

    Privacy: none (touches no data); every candidate is epsilon-DP for each report.
    >>> choose(categories=3, epsilon=2)
    KaryResponse(epsilon=Fraction(2, 1), categories=3)
    >>> type(choose(categories=10**6, epsilon=1)).__name__
    'LocalHashing'
    """
    found = candidates(categories=categories, epsilon=epsilon, report_bits=report_bits)
    return found[0].randomizer


def _possible(categories: int, epsilon: Fraction) -> list[CategoryRandomizer]:
    found: list[CategoryRandomizer] = [KaryResponse(epsilon=epsilon, categories=categories)]
    found.append(LocalHashing(epsilon=epsilon, categories=categories))
    if categories < 1 << 24:
        found.append(HadamardResponse(epsilon=epsilon, categories=categories))
    if categories <= 1 << 20:
        found.append(UnaryEncoding(epsilon=epsilon, categories=categories))
        sets = SubsetSelection(epsilon=epsilon, categories=categories)
        if sets.size > 1:  # sets of one are k-ary response with longer reports
            found.append(sets)
    return found
