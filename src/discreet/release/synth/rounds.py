"""The part of synthetic data that sees exact counts: noisy totals and one-way counts, then rounds
that choose marginals privately and measure them. Every draw is charged to a filter first; what
leaves is noisy counts and chosen names, nothing else.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Price, Sensitivity
from discreet.mechanisms.selection.exponential import Exponential
from discreet.noise.bits import BitSource
from discreet.release.synth.model.junction import Clique, tree_cells

__all__ = [
    "Candidate",
    "Cells",
    "Noise",
    "Noisy",
    "OneWayCounts",
    "Round",
    "SCORE_STEPS",
    "Step",
    "code_rows",
    "to_steps",
    "variance_of",
]

SCORE_STEPS = 256
"""Expected counts enter scores as integers in 1/256 rows, so that scores are exact."""

_MOST_STEPS = 1 << 60  # of one table: beyond it distances would leave 64 bits and come back
_LEAST_VARIANCE = 1e-6
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cells:
    """Exact counts of the distinct rows of a table. Must not leave a release.

    Privacy: NONE; it must not leave a release.
    >>> Cells(np.array([[0, 1]]), np.array([3]))
    Cells()
    """

    places: Integers = field(repr=False)
    counts: Integers = field(repr=False)

    def __post_init__(self) -> None:
        if self.places.ndim != 2 or len(self.places) != len(self.counts):
            raise InvalidValue("cells need one row of places and one count each.")

    def marginal(self, exact_codes: Integers, size: int) -> Integers:
        """Exact counts by a code of the cells.

        Privacy: NONE; it must not leave a release.
        >>> Cells(np.array([[0], [1]]), np.array([3, 4])).marginal(np.array([1, 1]), 3).tolist()
        [0, 7, 0]
        """
        # Sums of integers below 2**53 are exact in the floats that bincount adds in.
        exact = np.bincount(exact_codes, weights=self.counts, minlength=size)
        return exact.astype(np.int64)


class Noise(Protocol):
    """A mechanism that adds noise to integers and knows the noise's variance.

    Privacy: `release` costs at most `loss`: that is the mechanism's own claim.
    """

    @property
    def variance(self) -> float:
        """The variance of the noise."""
        ...

    def loss(self, sensitivity: Sensitivity) -> Price:
        """What one release costs.

        Privacy: under the relation of the sensitivity.
        """
        ...

    def release(self, exact: Any, bits: BitSource) -> Any:
        """The exact integers with noise.

        Privacy: as `loss` says.
        """
        ...


@dataclass(frozen=True, slots=True)
class Noisy:
    """A released marginal: which attributes, its noisy counts, and the variance of the noise."""

    clique: Clique
    counts: Integers = field(repr=False)
    variance: Fraction


@dataclass(frozen=True, slots=True)
class OneWayCounts:
    """The first step: one-way counts of some attributes, each with its own noise.

    Without attributes' sizes for a clique the total is counted.
    Privacy: `loss` [CKS20, Thm. 4], [BS16, Lemma 1.7].
    >>> from discreet.mechanisms.additive.gaussian import DiscreteGaussian
    >>> OneWayCounts((2,), ((0,),), (DiscreteGaussian(sigma=4),)).loss(Sensitivity.single(1)).rho
    Fraction(1, 32)
    """

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    noises: tuple[Noise, ...]

    def loss(self, sensitivity: Sensitivity) -> ZCDP:
        """What the step costs.

        Privacy: the sum of its releases [BS16, Lemma 1.7].
        >>> from discreet.mechanisms.additive.gaussian import DiscreteGaussian
        >>> OneWayCounts((), ((),), (DiscreteGaussian(sigma=2),)).loss(Sensitivity.single(1)).rho
        Fraction(1, 8)
        """
        losses = (noise.loss(sensitivity).zcdp() for noise in self.noises)
        return ZCDP(rho=sum((loss.rho for loss in losses), Fraction(0)))

    def release(self, exact: Cells, bits: BitSource) -> tuple[Noisy, ...]:
        """Noisy counts of every clique.

        Privacy: as `loss` says.
        >>> from discreet.mechanisms.additive.gaussian import DiscreteGaussian
        >>> exact = Cells(np.array([[0], [1]]), np.array([3, 4]))
        >>> step = OneWayCounts((2,), ((0,),), (DiscreteGaussian(sigma=Fraction(1, 1000)),))
        >>> step.release(exact, __import__("discreet").noise.system)[0].counts.tolist()
        [3, 4]
        """
        answers = []
        for clique, noise in zip(self.cliques, self.noises, strict=True):
            codes, size = code_rows(exact.places, clique, self.sizes)
            answers.append(_measure(clique, noise, exact.marginal(codes, size), bits))
        return tuple(answers)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A marginal that may be chosen: what the model expects, its weight and its handicap."""

    clique: Clique
    expected: Integers = field(repr=False)
    """Expected counts in 1/256 rows."""
    weight: int
    handicap: int
    """What the noise would cost, in 1/256 rows."""

    def __post_init__(self) -> None:
        counts = np.asarray(self.expected)
        whole = np.issubdtype(counts.dtype, np.integer)
        # Of these very types: another kind of number could look at what it is subtracted from.
        if not whole or type(self.weight) is not int or self.weight < 0:
            raise InvalidValue(
                f"the candidate {self.clique} has weight {self.weight!r} and expects "
                f"{counts.dtype}; weights are integers of at least 0, expected "
                "counts integers in 1/256 rows. Nothing was run."
            )
        largest = max(abs(int(counts.max())), abs(int(counts.min()))) if counts.size else 0
        if type(self.handicap) is not int or largest * counts.size > _MOST_STEPS:
            raise InvalidValue(
                f"the candidate {self.clique} expects up to {largest} in a cell, less "
                f"{self.handicap!r:.40}; both are integers, the first of at most 2**60 over all "
                "cells. Nothing was run."
            )
        own = np.array(counts, dtype=np.int64)  # nobody else's
        own.setflags(write=False)
        object.__setattr__(self, "expected", own)


@dataclass(frozen=True, slots=True)
class Round:
    """A round: choose `picks` candidates one after the other, then measure them.

    A candidate that shares two attributes with one already chosen is not chosen in the same round.
    Privacy: `loss`, for every sequence of choices: each exponential mechanism is charged as
    bounded range [CR21, Lemma 3.4], each marginal by its noise [CKS20, Thm. 4].
    """

    sizes: tuple[int, ...]
    columns: tuple[int, ...]
    """The column of the exact places behind each attribute."""
    groups: tuple[Integers, ...] = field(repr=False)
    """For each attribute the group of each value."""
    candidates: tuple[Candidate, ...] = field(repr=False)
    picks: int
    scale: Fraction
    """Of the exponential mechanism, on scores in 1/256 rows times weights."""
    noise: Noise
    held: tuple[Clique, ...] = ()
    """What the model holds already."""
    most_cells: float = math.inf
    """How large the model may become with what is chosen; public, as the choices are."""

    def __post_init__(self) -> None:
        for candidate in self.candidates:
            clique, shape = candidate.clique, candidate.expected.shape
            cells = math.prod(self.sizes[at] for at in clique)
            if shape != (cells,):
                raise InvalidValue(
                    f"the candidate {clique} expects counts of shape {shape}; "
                    f"its table has {cells:,} cells. Nothing was run."
                )
        groups = tuple(np.array(group, dtype=np.int64) for group in self.groups)
        for size, group in zip(self.sizes, groups, strict=False):
            if group.size and not 0 <= group.min() <= group.max() < size:
                raise InvalidValue(f"a value is in no group of {size}. Nothing was run.")
        object.__setattr__(self, "groups", groups)

    def loss(self, sensitivity: Sensitivity) -> ZCDP:
        """What the round costs at most.

        Privacy: the sum over picks of a selection and a measurement [BS16, Lemma 1.7].
        >>> from discreet.mechanisms.additive.gaussian import DiscreteGaussian
        >>> step = Round((), (), (), (), 1, Fraction(1), DiscreteGaussian(sigma=2))
        >>> step.loss(Sensitivity.single(1)).rho
        Fraction(1, 8)
        """
        heaviest = max((candidate.weight for candidate in self.candidates), default=0)
        # One unit moves the distance of a table from a fixed one by at most its l1.
        moved = Sensitivity.single(SCORE_STEPS * heaviest * sensitivity.l1) if heaviest else None
        choice = Exponential(scale=self.scale).loss(moved).zcdp().rho if moved else Fraction(0)
        return ZCDP(rho=self.picks * (choice + self.noise.loss(sensitivity).zcdp().rho))

    def release(self, exact: Cells, bits: BitSource) -> tuple[Noisy, ...]:
        """The chosen marginals with noise.

        Privacy: as `loss` says.
        >>> from discreet.mechanisms.additive.gaussian import DiscreteGaussian
        >>> step = Round((), (), (), (), 0, Fraction(1), DiscreteGaussian(sigma=2))
        >>> step.release(Cells(np.zeros((1, 0), dtype=np.int64), np.array([1])), None)
        ()
        """
        grouped = np.empty((len(exact.counts), len(self.columns)), dtype=np.int64)
        for at, (column, group) in enumerate(zip(self.columns, self.groups, strict=True)):
            grouped[:, at] = group[exact.places[:, column]]
        tables, scores = [], []
        for candidate in self.candidates:
            codes, size = code_rows(grouped, candidate.clique, self.sizes)
            counts = exact.marginal(codes, size)
            tables.append(counts)
            distance = int(np.abs(SCORE_STEPS * counts - candidate.expected).sum())
            scores.append(candidate.weight * (distance - candidate.handicap))
        return self._choose(tables, scores, bits)

    def _choose(
        self, tables: list[Integers], scores: list[int], bits: BitSource
    ) -> tuple[Noisy, ...]:
        remaining = list(range(len(self.candidates)))
        answers: list[Noisy] = []
        choice = Exponential(scale=self.scale)
        while remaining and len(answers) < self.picks:
            offered = [scores[at] for at in remaining]
            fast = max(map(abs, offered)) < 1 << 62
            place = remaining[choice.release(np.array(offered) if fast else offered, bits)]
            clique = self.candidates[place].clique
            answers.append(_measure(clique, self.noise, tables[place], bits))
            held = (*self.held, *(answer.clique for answer in answers))
            remaining = [
                at
                for at in remaining
                if len(set(self.candidates[at].clique) & set(clique)) < 2
                and self._fits(held, self.candidates[at].clique)
            ]
        return tuple(answers)

    def _fits(self, held: tuple[Clique, ...], clique: Clique) -> bool:
        return clique in self.held or tree_cells(self.sizes, (*held, clique)) <= self.most_cells


class Step(Protocol):
    """What may be asked of the exact counts, at a price known before.

    Privacy: `release` costs at most `loss`.
    """

    def loss(self, sensitivity: Sensitivity) -> Price:
        """What the step costs at most.

        Privacy: under the relation of the sensitivity.
        """
        ...

    def release(self, exact: Cells, bits: BitSource) -> tuple[Noisy, ...]:
        """The noisy answer.

        Privacy: as `loss` says.
        """
        ...


def code_rows(places: Integers, clique: Clique, sizes: Sequence[int]) -> tuple[Integers, int]:
    """One code for each row's values of these attributes, and how many codes there are.

    Exact where the places are exact.
    >>> code_rows(np.array([[1, 2]]), (0, 1), (2, 3))[0].tolist()
    [5]
    """
    codes = np.zeros(len(places), dtype=np.int64)
    size = 1
    for at in clique:
        codes = codes * sizes[at] + places[:, at]
        size *= sizes[at]
    return codes, size


def to_steps(rows: NDArray[np.floating[Any]]) -> Integers:
    """Expected rows in 1/256 rows, held where distances from them add up within 64 bits.

    >>> to_steps(np.array([1.0, 2.5])).tolist(), to_steps(np.array([1e30])).tolist() == [1 << 60]
    ([256, 640], True)
    """
    most = _MOST_STEPS / max(1, rows.size)
    held: Integers = np.rint(np.clip(np.nan_to_num(rows * SCORE_STEPS), 0, most)).astype(np.int64)
    return held


def variance_of(noise: Noise) -> float:
    """The variance that a fit supposes: noise that is never seen has one of zero, which no weight
    could be made of.

    >>> from discreet.mechanisms.additive.gaussian import DiscreteGaussian
    >>> variance_of(DiscreteGaussian(sigma=0.01)), variance_of(DiscreteGaussian(sigma=3))
    (1e-06, 9.0)
    """
    return max(noise.variance, _LEAST_VARIANCE)


def _measure(clique: Clique, noise: Noise, exact: Integers, bits: BitSource) -> Noisy:
    noisy = np.asarray(noise.release(exact, bits), dtype=np.int64)
    return Noisy(clique, noisy, Fraction(variance_of(noise)))
