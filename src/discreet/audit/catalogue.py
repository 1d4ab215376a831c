"""What the project audits of itself: every mechanism and randomizer with its own claim, a curator,
and the planted bugs with the samples that suffice to catch them. Owns inputs and sample sizes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import planted
from discreet.audit.blackbox import Progress, audit
from discreet.audit.claims import Claim, GaussianClaim
from discreet.audit.pairs import Pair
from discreet.audit.verdict import Verdict
from discreet.errors import InvalidValue
from discreet.local.hadamard import HadamardResponse
from discreet.local.hashing import LocalHashing
from discreet.local.hybrid import Hybrid
from discreet.local.kary import KaryResponse
from discreet.local.one_bit import OneBit
from discreet.local.piecewise import Piecewise
from discreet.local.prefixes import PrefixExtension
from discreet.local.rappor import Rappor
from discreet.local.subset import SubsetSelection
from discreet.local.unary import UnaryEncoding
from discreet.loss import ZCDP, Approximate, Pure, Sensitivity
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.hamming import HammingNoise
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.lattice import Lattice, Rounded
from discreet.mechanisms.metric import MetricNoise
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.partition import Partition
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.quantiles import Quantiles
from discreet.mechanisms.quantiles_nested import NestedQuantiles
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.threshold import Threshold
from discreet.mechanisms.top_k import TopK
from discreet.mechanisms.truncated_geometric import TruncatedGeometric
from discreet.schema.column import nearest

__all__ = ["Examined", "Subject", "bugs", "examine", "find", "local_subjects", "mechanism_subjects"]

_ONE = Sensitivity.single(1)
_MANY, _FEW = 20_000, 3_000  # samples where outputs come in arrays, and where one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Something to audit: how to draw from it, what it claims, which inputs to try.

    Privacy: none (made-up inputs).
    >>> mechanism_subjects()[0].name
    'DiscreteLaplace'
    """

    name: str
    mechanism: Callable[..., Any]
    claim: Claim
    pairs: Sequence[tuple[Any, Any] | Pair]
    samples: int
    bug: str = ""
    """What is wrong with it, where something is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A subject and its verdict.

    Privacy: none (made-up inputs).
    >>> examine(bugs()[0], false_alarm=1e-3).as_expected
    True
    """

    subject: Subject
    verdict: Verdict

    @property
    def as_expected(self) -> bool:
        """Whether a bug was caught, or a correct mechanism left alone.

        Privacy: none (made-up inputs).
        >>> examine(mechanism_subjects()[0], false_alarm=1e-13).as_expected
        True
        """
        return self.verdict.violated == bool(self.subject.bug)


def examine(subject: Subject, *, false_alarm: float, progress: Progress | None = None) -> Examined:
    """Audit one subject.

    Privacy: a lower bound on epsilon; never evidence that a mechanism is private.
    >>> examine(mechanism_subjects()[0], false_alarm=1e-13).verdict.violated
    False
    """
    verdict = audit(
        subject.mechanism,
        subject.claim,
        pairs=subject.pairs,
        samples=subject.samples,
        false_alarm=false_alarm,
        progress=progress,
    )
    return Examined(subject=subject, verdict=verdict)


def find(name: str, subjects: Sequence[Subject]) -> tuple[Subject, ...]:
    """The subjects of that name; capitals do not count.

    Privacy: none (touches no data).
    >>> [one.name for one in find("discretelaplace", mechanism_subjects())]
    ['DiscreteLaplace']
    """
    found = tuple(one for one in subjects if one.name.casefold() == name.casefold())
    if not found:
        raise InvalidValue(
            f"there is no {name!r} to audit. {nearest(name, [one.name for one in subjects])}"
        )
    return found


def _filled(release: Callable[[Any], Any]) -> Callable[[Any, int], Any]:
    """Many outputs from one call, for mechanisms that treat the parts of an array alike."""
    return lambda exact, count: release(np.full(count, exact))


def _shown(mechanism: Partition) -> Callable[[int, int], NDArray[np.int64]]:
    """Whether a key of this many units is shown; one without units does not exist."""

    def draw(units: int, count: int) -> NDArray[np.int64]:
        shown = np.zeros(count, dtype=np.int64)
        if units:
            shown[mechanism.release(np.full(count, units))] = 1
        return shown

    return draw


def _counted(mechanism: Threshold) -> Callable[[int, int], NDArray[np.float64]]:
    """The noisy count of a key, or NaN where it is hidden."""

    def draw(units: int, count: int) -> NDArray[np.float64]:
        shown = np.full(count, np.nan)
        if units:
            kept, noisy = mechanism.release(np.full(count, units))
            shown[kept] = noisy
        return shown

    return draw


def _histogram(release: Callable[[NDArray[Any]], list[int]]) -> Callable[[Any], tuple[int, ...]]:
    return lambda exact: tuple(release(np.array(exact)))


def _steps(rounded: Rounded) -> Callable[[Any], float]:
    return lambda exact: float(rounded.release(exact))


def mechanism_subjects() -> tuple[Subject, ...]:
    """Every mechanism of `discreet.mechanisms`, with inputs where its claim is nearly used up.

    Privacy: none (made-up inputs).
    >>> "NestedQuantiles" in [one.name for one in mechanism_subjects()]
    True
    """
    return (*_additive(), *_selecting(), *_keys())


def _additive() -> Iterator[Subject]:
    laplace, gaussian = DiscreteLaplace(scale=1), DiscreteGaussian(sigma=1)
    numbers = ((0, 1), (-1, 0), (1 << 40, (1 << 40) + 1))
    cut = TruncatedGeometric(scale=1, lower=0, upper=4)
    lattice = Lattice(step=0.5, lower=0, upper=10)
    real = Rounded(mechanism=DiscreteLaplace(scale=2), lattice=lattice)
    flips = HammingNoise(scale=1, dimension=3)
    places = MetricNoise.between([0, 1, 3], lambda one, other: abs(one - other), scale=2)
    coin = RandomizedResponse(epsilon=1, categories=3)
    yield _subject(laplace, _filled(laplace.release), laplace.loss(_ONE), numbers, _MANY)
    yield _subject(gaussian, _filled(gaussian.release), gaussian.loss(_ONE), numbers, _MANY)
    yield _subject(cut, _filled(cut.release), cut.loss(_ONE), ((0, 1), (3, 4)), _MANY)
    yield _subject(real, _steps(real), real.loss(_ONE), ((0.0, 1.0), (2.25, 3.25)), _FEW)
    bits = (([0, 0, 0], [1, 0, 0]),)
    yield _subject(flips, flips.release, flips.loss(_ONE), bits, _FEW)
    yield _subject(places, places.release, places.loss(_ONE), ((0, 1),), _FEW)
    yield _subject(coin, _filled(coin.release), coin.loss(_ONE), ((0, 1),), _MANY)


def _selecting() -> Iterator[Subject]:
    scores = (([0, 1, 0, 0], [1, 0, 1, 1]), ([0, 0, 0, 0], [1, 1, -1, -1]))
    for kind in (Exponential, PermuteAndFlip, NoisyMax):
        chosen = kind(scale=2)
        yield _subject(chosen, chosen.release, chosen.loss(_ONE), scores, _FEW)
    first = TopK(scale=2, count=2)
    yield _subject(first, first.release, first.pure_loss(_ONE), scores, _FEW)
    rows = (((0, 4, 0, 0), (1, 4, 0, 0)), ((4, 0, 0, 0), (4, 1, 0, 0)))
    for many in (
        Quantiles(fractions=(0.25, 0.5), scale=1),
        NestedQuantiles(fractions=(0.25, 0.5), scale=1),
    ):
        yield _subject(many, _histogram(many.release), many.pure_loss(_ONE), rows, _FEW)


def _keys() -> Iterator[Subject]:
    units = ((0, 1), (2, 3))
    rule = Partition(epsilon=1, delta=0.05)
    yield _subject(rule, _shown(rule), rule.loss(), units, _MANY)
    cut = Threshold(noise=DiscreteLaplace(scale=1), threshold=4)
    yield _subject(cut, _counted(cut), cut.loss(_ONE), units, _MANY)


def _subject(
    value: object, draw: Callable[..., Any], claim: Any, pairs: Sequence[Any], samples: int
) -> Subject:
    name = type(value).__name__
    return Subject(name=name, mechanism=draw, claim=claim, pairs=pairs, samples=samples)


def local_subjects() -> tuple[Subject, ...]:
    """Every randomizer of `discreet.local`; neighbours are any two answers of one person.

    Privacy: none (made-up inputs).
    >>> local_subjects()[0].name
    'KaryResponse'
    """
    words = {"epsilon": 1, "categories": 4}
    number = {"epsilon": 1, "lower": 0, "upper": 4, "step": 1}
    categories: tuple[Any, ...] = (
        KaryResponse(**words),
        UnaryEncoding(**words),
        HadamardResponse(**words),
        SubsetSelection(**words),
        Rappor(categories=3, blur=0.5, low=0.25, high=0.75),
    )
    numbers: tuple[Any, ...] = (OneBit(**number), Piecewise(**number), Hybrid(**number))
    hashing, prefix = LocalHashing(**words), PrefixExtension(epsilon=1, width=3, first=2, step=1)
    plain = tuple(
        _subject(each, _filled(each.release), each.loss(), pairs, _MANY)
        for kind, pairs in ((categories, ((0, 1), (1, 2))), (numbers, ((0, 4), (1, 3))))
        for each in kind
    )
    return (
        *plain,
        _subject(hashing, _supported(hashing), hashing.loss(), ((0, 1),), _MANY),
        _subject(prefix, _extended(prefix), prefix.loss(), ((0, 7),), _MANY),
    )


def _supported(hashing: LocalHashing) -> Callable[[int, int], NDArray[Any]]:
    """Every report names a hash function of its own; what it says is which answers it fits."""
    return lambda exact, count: hashing.supported(hashing.release(np.full(count, exact)))


def _extended(prefix: PrefixExtension) -> Callable[[int, int], NDArray[Any]]:
    def draw(exact: int, count: int) -> NDArray[Any]:
        rows = prefix.release(np.full(count, exact))
        return np.column_stack([rows[:, 0], prefix.hashing.supported(rows[:, 1:])])

    return draw


_MIXED = ((-2,) * 4 + (0,) * 5, (-1,) * 9)  # some queries rise while the others fall
_RISING = ((-1, -1, -1, 0), (0, 0, 0, 1))  # counts: all of them rise


def bugs() -> tuple[Subject, ...]:
    """The planted bugs, each with the samples for each input that are known to suffice.

    Privacy: none (made-up inputs).
    >>> bugs()[0].samples
    3000
    """
    one, two = Pure(epsilon=1), Pure(epsilon=2)
    zcdp, normal = ZCDP(rho=Fraction(1, 8)), GaussianClaim(sigma=2)
    small = Approximate(epsilon=1, delta=0.01)
    unmoved, exchanged = ((0,) * 4, (1,) * 4), ((0, 1), (1, 0))
    rows: tuple[tuple[str, Callable[..., Any], Claim, Any, int], ...] = (
        ("half the noise", planted.laplace(0.5), one, (0, 1), 3_000),
        ("a fifth too little noise", planted.laplace(0.8), one, (0, 1), 28_000),
        ("sensitivity doubled", planted.laplace(1, factor=2), one, (0, 1), 4_000),
        ("sparse vector with its value", planted.sparse_values(1), one, _RISING, 280_000),
        ("query noise without c", planted.sparse_without_count(2, 5), two, _MIXED, 400_000),
        ("no query noise", planted.sparse_without_query_noise(1), one, exchanged, 4_000),
        ("no cut-off", planted.sparse_without_stop(2), two, _MIXED, 400_000),
        ("noisy max with its value", planted.noisy_max_with_value(1), one, unmoved, 120_000),
        ("noise in floats", planted.float_laplace(1.0), one, (0, 1), 3_000),
        ("half the Gaussian noise, as zCDP", planted.gaussian(1), zcdp, (0, 1), 10_000),
        ("half the Gaussian noise", planted.gaussian(1), normal, (0, 1), 10_000),
        ("a delta too large", planted.response(0.5, delta=0.05), small, (0, 1), 10_000),
        ("the lottery of a sample", planted.lottery(0.05), small, (0, 1), 10_000),
    )
    return tuple(
        Subject(name=name, mechanism=draw, claim=claim, pairs=(pair,), samples=samples, bug=name)
        for name, draw, claim, pair, samples in rows
    )
