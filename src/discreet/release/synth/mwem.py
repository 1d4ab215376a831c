"""Multiplicative weights and the exponential mechanism, offline: one weight for each combination
of values. Pure privacy, few small columns. A round sees exact counts inside `release` only.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.marginals import sum_to
from discreet.linear.weights import multiply_weights
from discreet.loss import Pure, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.selection.exponential import Exponential
from discreet.noise.bits import BitSource
from discreet.rationals import Number, positive
from discreet.release.synth.aim import Progress, Source
from discreet.release.synth.domain import Attribute, Binning
from discreet.release.synth.fitted import Synthetic
from discreet.release.synth.model.fit import Fitted, Measured
from discreet.release.synth.model.graphical import network
from discreet.release.synth.model.junction import Clique
from discreet.release.synth.rounds import SCORE_STEPS, Candidate, Cells, Noisy, code_rows, to_steps

__all__ = ["MOST_COMBINATIONS", "Worst", "reweigh"]

MOST_COMBINATIONS = 1 << 21
"""How many combinations of values weights are kept for."""

_PASSES = 20  # how often all answers so far are gone through after each round
Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Worst:
    """A round: the marginal that the weights miss most, chosen privately, counted with noise.

    With one candidate nothing is chosen: that is how the total is counted.
    Privacy: `loss` [HLM12, Thm. 2.1]: the exponential mechanism and Laplace counts.
    """

    sizes: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    choosing: Fraction
    """The scale of the exponential mechanism; 0 if there is nothing to choose."""
    counting: Fraction
    """The scale of the Laplace noise."""

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """What the round costs.

        Privacy: the sum of its two parts [DMNS06, Lemma 2.6].
        >>> Worst((), (), Fraction(512), Fraction(2)).loss(Sensitivity.single(1)).epsilon
        Fraction(3, 2)
        """
        noise = DiscreteLaplace(scale=self.counting).loss(Sensitivity.single(sensitivity.l1))
        if not self.choosing:
            return noise
        moved = Sensitivity.single(SCORE_STEPS * sensitivity.l1)
        return noise + Exponential(scale=self.choosing).loss(moved).pure()

    def release(self, exact: Cells, bits: BitSource) -> tuple[Noisy, ...]:
        """The chosen marginal with noise.

        Privacy: as `loss` says.
        >>> total = Candidate((), np.zeros(1, dtype=np.int64), 1, 0)
        >>> step = Worst((), (total,), Fraction(0), Fraction(1, 100))
        >>> exact = Cells(np.zeros((1, 0), dtype=np.int64), np.array([7]))
        >>> step.release(exact, __import__("discreet").noise.system)[0].counts.tolist()
        [7]
        """
        tables, scores = [], []
        for candidate in self.candidates:
            codes, size = code_rows(exact.places, candidate.clique, self.sizes)
            tables.append(exact.marginal(codes, size))
            distance = int(np.abs(SCORE_STEPS * tables[-1] - candidate.expected).sum())
            scores.append(distance - candidate.handicap)
        place = Exponential(scale=self.choosing).release(scores, bits) if self.choosing else 0
        noise = DiscreteLaplace(scale=self.counting)
        noisy = np.asarray(noise.release(tables[place], bits), dtype=np.int64)
        variance = 2 * self.counting**2
        return (Noisy(self.candidates[place].clique, noisy, variance),)


def reweigh(
    attributes: Sequence[Attribute],
    source: Source,
    *,
    epsilon: Number,
    sensitivity: Sensitivity,
    rounds: int | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Synthetic:
    """A model with one weight for each combination of values [HLM12, Fig. 1].

    A tenth of epsilon counts the rows; each round spends half of its share on choosing.
    Privacy: post-processing of the source's answers, which cost at most epsilon together.
    """
    sizes = tuple(attribute.size for attribute in attributes)
    if math.prod(sizes) > MOST_COMBINATIONS:
        raise InvalidValue(
            f"these columns have {math.prod(sizes):,} combinations of values; mwem takes "
            f"{MOST_COMBINATIONS:,}. Name fewer columns, or use the method marginals."
        )
    budget, moved = positive(epsilon, "epsilon"), sensitivity.l1
    total_only = Candidate((), np.zeros(1, dtype=np.int64), 1, 0)
    counted = source.take(Worst((), (total_only,), Fraction(0), 10 * moved / budget))
    total = max(1.0, float(counted[0].counts[0])) if counted else 1000.0
    pool = [
        clique
        for order in range(1, min(3, len(sizes)) + 1)
        for clique in itertools.combinations(range(len(sizes)), order)
    ]
    count = rounds or min(len(pool), 4 * len(sizes))
    share = budget * Fraction(9, 10) / count
    weights = np.full(sizes, 1 / math.prod(sizes))
    answers: list[Noisy] = []
    for number in range(1, count + 1):
        choosing = 4 * SCORE_STEPS * moved / share
        counting = 2 * moved / share
        tables = {clique: sum_to(weights, tuple(range(len(sizes))), clique) for clique in pool}
        candidates = [
            Candidate(
                clique,
                to_steps(table.ravel() * total),
                1,
                math.ceil(counting * table.size * SCORE_STEPS),
            )
            for clique, table in tables.items()
        ]
        noisy = source.take(Worst(sizes, tuple(candidates), choosing, counting))
        if not noisy:
            continue
        answers += noisy
        before = tables[noisy[0].clique]
        shares = [
            (answer.clique, answer.counts.reshape(tables[answer.clique].shape) / total)
            for answer in answers
        ]
        weights = multiply_weights(weights, shares, passes=_PASSES)
        moved_by = np.abs(sum_to(weights, tuple(range(len(sizes))), noisy[0].clique) - before)
        noise = float(counting) * noisy[0].counts.size / (2 * total)
        moved_share = float(moved_by.sum()) / 2
        on_progress(Progress(number, number / count, weights.size, moved_share, min(1.0, noise)))
    return _model(tuple(attributes), weights, answers, total)


def _model(
    attributes: tuple[Attribute, ...], weights: Table, answers: Sequence[Noisy], total: float
) -> Synthetic:
    whole: Clique = tuple(range(weights.ndim))
    structure = network(weights.shape, [whole])
    with np.errstate(divide="ignore"):
        factors = {whole: np.log(weights)}
    fitted = Fitted(structure, factors, structure.propagate(factors))
    binnings = tuple(Binning(np.arange(size), np.ones(size)) for size in weights.shape)
    measured = tuple(
        Measured(
            answer.clique,
            (answer.counts / total).reshape([weights.shape[at] for at in answer.clique]),
            np.full([weights.shape[at] for at in answer.clique], float(answer.variance) / total**2),
        )
        for answer in answers
    )
    return Synthetic(attributes, whole, binnings, total, fitted, measured, 1.0)
