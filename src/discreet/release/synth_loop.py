"""The course of a synthesis: count, bin, then choose, measure and fit until the budget is spent.
It asks a source for noisy answers and sees nothing else; given the same answers it takes the same
course, so an interrupted synthesis can be taken up again.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from discreet.loss import Sensitivity
from discreet.rationals import Number, ceil_decimal, floor_decimal, positive, sqrt_up
from discreet.release.junction import Clique, tree_cells
from discreet.release.model import network
from discreet.release.model_fit import Measured, fit
from discreet.release.synth_domain import Attribute, binned
from discreet.release.synth_grade import grading
from discreet.release.synth_model import Synthetic
from discreet.release.synth_ones import estimate_counts
from discreet.release.synth_rounds import SCORE_STEPS, Candidate, Noisy, Ones, Round, Step
from discreet.release.synth_schedule import Schedule, schedule

__all__ = ["Progress", "Source", "develop"]

_MOST_TRIPLES = 1500
_FACTOR = math.sqrt(2 / math.pi)  # the mean size of Gaussian noise over its deviation


class Source(Protocol):
    """Answers steps; None says that an answer was paid for and lost.

    Privacy: every answer costs its step's loss.
    >>> Source.__name__
    'Source'
    """

    def take(self, step: Step) -> tuple[Noisy, ...] | None:
        """The noisy answer to a step.

        Privacy: the step's loss.
        >>> Source.take.__name__
        'take'
        """
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a synthesis is.

    Privacy: post-processing.
    >>> Progress(1, 0.5, 18, 0.1, 0.05).spent
    0.5
    """

    round: int
    spent: float
    cells: int
    moved: float
    """By how much, in total variation, the last round moved what it measured."""
    error: float
    """The total variation that is expected on what was measured so far."""


@dataclass(frozen=True, slots=True)
class _Course:
    """What stays the same for all rounds."""

    attributes: tuple[Attribute, ...]
    sensitivity: Sensitivity
    rho: Fraction
    plan: Schedule
    source: Source
    on_progress: Callable[[Progress], None]

    def variance(self, rho: Fraction) -> Fraction:
        return ceil_decimal(self.sensitivity.l2_squared / (2 * rho), 12)


def develop(
    attributes: Sequence[Attribute],
    source: Source,
    *,
    rho: Number,
    sensitivity: Sensitivity,
    plan: Schedule | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Synthetic:
    """A model of a table from noisy answers that cost at most rho together.

    Select, measure, generate with annealing, after [MMSM22, Alg. 1].
    Privacy: post-processing of the source's answers, whose losses add up to at most rho
    [WRRW23, Sec. 3].
    >>> develop.__name__
    'develop'
    """
    budget = positive(rho, "rho")
    course = _Course(
        tuple(attributes),
        sensitivity,
        budget,
        plan or schedule(signal=1, attributes=1),
        source,
        on_progress,
    )
    left = budget
    first = Ones((), ((),), (course.variance(budget / 100),))
    left -= first.loss(sensitivity).rho
    counted = source.take(first)
    guess = max(1.0, float(counted[0].counts[0])) if counted else 1000.0
    if plan is None:
        signal = guess / math.sqrt(float(course.variance(budget)))
        plan = schedule(signal=signal, attributes=len(attributes))
    course = _Course(course.attributes, sensitivity, budget, plan, source, on_progress)
    ones: tuple[Noisy, ...] | None = None
    while ones is None:  # what was lost is paid for; the rest is shared out again
        step = _ones(course, floor_decimal(left * Fraction(plan.ones), 12))
        left -= step.loss(sensitivity).rho
        ones = source.take(step)
    kept = floor_decimal(budget * Fraction(plan.grade), 12)
    model = _rounds(course, _first(course, ones, left - kept), left - kept)
    return _graded(course, model, kept)


def _graded(course: _Course, model: Synthetic, rho: Fraction) -> Synthetic:
    """The model with its own noisy marks."""
    sizes = tuple(attribute.size for attribute in model.attributes)
    rows = model.codes(min(200_000, max(10_000, math.ceil(model.total))), None)
    step = grading(sizes, rows, total=model.total, rho=rho, sensitivity=course.sensitivity)
    found = course.source.take(step)
    return model if found is None else replace(model, marks=step.marks(found))


def _ones(course: _Course, rho: Fraction) -> Ones:
    """The error of a table grows with its cells: larger ones get more, by the power 2/3."""
    sizes = [attribute.size for attribute in course.attributes]
    parts = [Fraction(round(1000 * min(size, 100) ** (2 / 3))) for size in sizes]
    shares = [part / sum(parts) for part in parts]
    variances = tuple(course.variance(rho * share) for share in shares)
    return Ones(tuple(sizes), tuple((at,) for at in range(len(sizes))), variances)


def _first(course: _Course, ones: tuple[Noisy, ...], left: Fraction) -> Synthetic:
    """Independent attributes, binned for the noise that measurements will have."""
    plan = course.plan
    deviation = math.sqrt(
        float(course.sensitivity.l2_squared)
        * plan.measurements
        / (2 * float(left) * (1 - plan.choosing))
    )
    weights = [1 / (len(each.counts) * float(each.variance)) for each in ones]
    sums = [float(each.counts.sum()) for each in ones]
    total = max(1.0, sum(map(lambda a, b: a * b, weights, sums)) / sum(weights))
    binnings, measured = [], []
    for attribute, each in zip(course.attributes, ones, strict=True):
        sigma = math.sqrt(float(each.variance))
        counts = estimate_counts(
            each.counts.astype(np.float64), attribute, sigma=sigma, total=total
        )
        binnings.append(binned(attribute, counts, most=plan.groups, least=plan.least * deviation))
        groups = binnings[-1]
        noisy = np.bincount(groups.groups, weights=counts, minlength=groups.count) / total
        # The estimate is better than its noise; a tenth of the variance keeps the fit close.
        variance = 0.1 * float(each.variance) * groups.members / total**2
        measured.append((noisy, np.asarray(variance, dtype=np.float64)))
    order = sorted(range(len(binnings)), key=lambda at: (binnings[at].count, at))
    sizes = tuple(binnings[at].count for at in order)
    given = tuple(Measured((place,), *measured[at]) for place, at in enumerate(order))
    fitted = fit(network(sizes, []), given, strength=plan.strength * total)
    sorted_binnings = tuple(binnings[at] for at in order)
    return Synthetic(
        course.attributes,
        tuple(order),
        sorted_binnings,
        total,
        fitted,
        given,
        plan.strength * total,
    )


def _rounds(course: _Course, model: Synthetic, left: Fraction) -> Synthetic:
    plan, whole = course.plan, left
    pool = _pool(len(course.attributes))
    each = left / plan.measurements
    for number in itertools.count(1):
        if not pool or left <= whole / 10**6:
            return model
        if left < 2 * plan.picks * each:
            each = left / plan.picks
        step = _round(course, model, pool, each, float(1 - left / whole))
        if not step.candidates:
            return model
        left -= step.loss(course.sensitivity).rho
        found = course.source.take(step)
        last = left <= whole / 10**6
        if found:
            before = model
            model = _refitted(course, model, found, plan.steps * (4 if last else 1))
            moved, noise = _movement(before, model, found)
            if moved < noise:  # nothing was learned at this noise: take less of it from now on
                each *= 4
            spent = float(1 - left / course.rho)
            cells = model.fitted.network.tree.cells
            course.on_progress(Progress(number, spent, cells, moved, model.expected_error))
    raise AssertionError


def _pool(count: int) -> tuple[Clique, ...]:
    pairs = tuple(itertools.combinations(range(count), 2))
    triples = tuple(itertools.combinations(range(count), 3))
    return (*pairs, *triples) if len(triples) <= _MOST_TRIPLES else pairs


def _round(
    course: _Course, model: Synthetic, pool: tuple[Clique, ...], each: Fraction, spent: float
) -> Round:
    plan, sizes = course.plan, model.sizes
    variance = course.variance(each * (1 - Fraction(plan.choosing)))
    deviation = math.sqrt(float(variance))
    held = tuple({one.clique: None for one in model.measured if len(one.clique) > 1})
    most = plan.cells * max(0.1, spent)
    allowed = [
        clique for clique in pool if clique in held or tree_cells(sizes, (*held, clique)) <= most
    ]
    expected = model.expected(allowed, min(1_000_000, max(20_000, math.ceil(4 * model.total))))
    count = len(course.attributes)
    candidates = tuple(
        Candidate(
            clique,
            np.rint(table * (model.total * SCORE_STEPS)).astype(np.int64),
            _weight(len(clique), count),
            math.ceil(_FACTOR * deviation * len(table) * SCORE_STEPS),
        )
        for clique, table in expected.items()
    )
    heaviest = max((one.weight for one in candidates), default=1)
    # rho = epsilon^2/8 and scale = 2 linf/epsilon, so scale^2 = linf^2/(2 rho).
    moved = SCORE_STEPS * heaviest * course.sensitivity.l1
    scale = ceil_decimal(sqrt_up(moved**2 / (2 * each * Fraction(plan.choosing))), 12)
    groups = [binning.groups for binning in model.binnings]
    return Round(
        sizes, model.places, tuple(groups), candidates, plan.picks, scale, variance, held, most
    )


def _weight(size: int, count: int) -> int:
    """How much a marginal of this size overlaps all triples of attributes, summed [MMSM22]."""
    width = min(3, count)
    return sum(
        shared * math.comb(size, shared) * math.comb(count - size, width - shared)
        for shared in range(1, min(size, width) + 1)
    )


def _refitted(course: _Course, model: Synthetic, found: tuple[Noisy, ...], steps: int) -> Synthetic:
    sizes, total = model.sizes, model.total
    new = tuple(_as_measured(each, sizes, total) for each in found)
    measured = (*model.measured, *new)
    structure = network(sizes, [each.clique for each in measured])
    fitted = fit(
        structure,
        measured,
        strength=course.plan.strength * total,
        start=model.fitted.factors,
        steps=steps,
        tolerance=0.02,
    )
    return replace(model, fitted=fitted, measured=measured)


def _as_measured(noisy: Noisy, sizes: tuple[int, ...], total: float) -> Measured:
    shape = tuple(sizes[at] for at in noisy.clique)
    variance = np.full(shape, float(noisy.variance) / total**2)
    return Measured(noisy.clique, (noisy.counts / total).reshape(shape), variance)


def _movement(before: Synthetic, after: Synthetic, found: tuple[Noisy, ...]) -> tuple[float, float]:
    """The mean total variation between the models on what was measured, and that of the noise."""
    cliques = [each.clique for each in found]
    rows = min(1_000_000, max(20_000, math.ceil(4 * before.total)))
    old, new = before.expected(cliques, rows), after.expected(cliques, rows)
    moved = np.mean([np.abs(old[clique] - new[clique]).sum() / 2 for clique in cliques])
    noise = np.mean(
        [
            _FACTOR * math.sqrt(float(each.variance)) * each.counts.size / (2 * after.total)
            for each in found
        ]
    )
    return float(moved), float(noise)
