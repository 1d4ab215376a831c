"""The steps of a synthesis: count, bin, then select, measure and fit until the budget is spent.
They ask a source for noisy answers and see nothing else; the same answers lead to the same
steps, so an interrupted synthesis can be resumed.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from discreet.errors import InvalidValue, with_article
from discreet.loss import Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.rationals import Number, ceil_decimal, floor_decimal, positive, sqrt_up
from discreet.release.synth.domain import Attribute, binned
from discreet.release.synth.fitted import Synthetic
from discreet.release.synth.grade import grading
from discreet.release.synth.model.fit import Fitted, Measured
from discreet.release.synth.model.graphical import Network, network
from discreet.release.synth.model.junction import Clique, tree_cells
from discreet.release.synth.one_way import estimate_counts
from discreet.release.synth.rounds import (
    SCORE_STEPS,
    Candidate,
    Noise,
    Noisy,
    OneWayCounts,
    Round,
    Step,
    variance_of,
)
from discreet.release.synth.schedule import Schedule, schedule
from discreet.release.synth.stages import MEAN_SIZE, Offer, Stages

__all__ = ["Progress", "Source", "run_aim"]

_MOST_TRIPLES = 1500
_PROVED = (DiscreteGaussian, DiscreteLaplace)  # whose claims are proved and tested here


class Source(Protocol):
    """Answers steps; None says that an answer was paid for and lost.

    Every answer costs its step's loss.
    """

    def take(self, step: Step) -> tuple[Noisy, ...] | None:
        """The noisy answer to a step. Costs the step's loss."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a synthesis is."""

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
    stages: Stages
    on_progress: Callable[[Progress], None]

    def noise(self, rho: Fraction) -> Noise:
        """The mechanism that measures for so much, which may cost less and not more."""
        found = self.stages.measure(rho=rho, sensitivity=self.sensitivity)
        cost = found.loss(self.sensitivity).zcdp().rho
        if not 0 < cost <= rho:
            raise InvalidValue(
                f"the measuring costs rho = {float(cost):.6g}; it must cost something, and at "
                f"most the {float(rho):.6g} that it is given. The step was not run."
            )
        if type(found) not in _PROVED:
            raise InvalidValue(
                f"the measuring names {with_article(type(found).__name__)}; it would see "
                "exact counts, so it "
                "must be a DiscreteGaussian or a DiscreteLaplace. The step was not run."
            )
        return found

    def fitted(self, structure: Network, given: tuple[Measured, ...], **more: Any) -> Fitted:
        """The model of the stage that fits, which must be one of this structure."""
        found = self.stages.fit(structure, given, **more)
        if not isinstance(found, Fitted) or found.network is not structure:
            raise InvalidValue(
                f"the fit gave {type(found).__name__}; it must give a Fitted of the network that "
                "it is handed. What was measured is kept and paid for."
            )
        return found


def run_aim(
    attributes: Sequence[Attribute],
    source: Source,
    *,
    rho: Number,
    sensitivity: Sensitivity,
    plan: Schedule | None = None,
    stages: Stages | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Synthetic:
    """A model of a table from noisy answers that cost at most rho together.

    Select, measure, generate with annealing, after [MMSM22, Alg. 1]; each stage is replaceable.
    Privacy: post-processing of the source's answers, whose losses add up to at most rho
    [WRRW23, Sec. 3].
    """
    budget = positive(rho, "rho")
    course = _Course(
        tuple(attributes),
        sensitivity,
        budget,
        plan or schedule(signal=1, attributes=1),
        source,
        stages or Stages(),
        on_progress,
    )
    left = budget
    first = OneWayCounts((), ((),), (course.noise(budget / 100),))
    left -= first.loss(sensitivity).rho
    counted = source.take(first)
    guess = max(1.0, float(counted[0].counts[0])) if counted else 1000.0
    if plan is None:
        signal = guess / math.sqrt(variance_of(course.noise(budget)))
        plan = schedule(signal=signal, attributes=len(attributes))
    course = replace(course, plan=plan)
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
    rows = model.codes(min(200_000, max(10_000, math.ceil(model.total))))
    step = grading(sizes, rows, total=model.total, rho=rho, sensitivity=course.sensitivity)
    found = course.source.take(step)
    return model if found is None else replace(model, marks=step.marks(found))


def _ones(course: _Course, rho: Fraction) -> OneWayCounts:
    """The error of a table grows with its cells: larger ones get more, by the power 2/3."""
    sizes = [attribute.size for attribute in course.attributes]
    parts = [Fraction(round(1000 * min(size, 100) ** (2 / 3))) for size in sizes]
    shares = [part / sum(parts) for part in parts]
    noises = tuple(course.noise(rho * share) for share in shares)
    return OneWayCounts(tuple(sizes), tuple((at,) for at in range(len(sizes))), noises)


def _first(course: _Course, ones: tuple[Noisy, ...], left: Fraction) -> Synthetic:
    """Independent attributes, binned for the noise that measurements will have."""
    plan = course.plan
    measuring = course.noise(left * (1 - Fraction(plan.choosing)) / plan.measurements)
    deviation = math.sqrt(variance_of(measuring))
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
    fitted = course.fitted(network(sizes, []), given, strength=plan.strength * total)
    sorted_binnings = tuple(binnings[at] for at in order)
    return Synthetic(
        course.attributes,
        tuple(order),
        sorted_binnings,
        total,
        fitted,
        given,
        plan.strength * total,
        refit=course.stages.fit,
        draw=course.stages.draw,
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
    choosing = Fraction(plan.choosing)
    held = tuple({one.clique: None for one in model.measured if len(one.clique) > 1})
    most = plan.cells * max(0.1, spent)
    allowed = tuple(
        clique for clique in pool if clique in held or tree_cells(sizes, (*held, clique)) <= most
    )
    noise = course.noise(each * (1 - choosing))
    offer = Offer(model, allowed, math.sqrt(variance_of(noise)))
    candidates = tuple(_proposed(one, allowed) for one in course.stages.select(offer))
    heaviest = max((one.weight for one in candidates), default=0)
    scale = Fraction(1)
    if heaviest:
        # rho = epsilon^2/8 and scale = 2 linf/epsilon, so scale^2 = linf^2/(2 rho).
        moved = SCORE_STEPS * heaviest * course.sensitivity.l1
        scale = ceil_decimal(sqrt_up(moved**2 / (2 * each * choosing)), 12)
    else:  # chance chooses: nothing to pay for, so all goes into measuring
        noise = course.noise(each)
    groups = tuple(binning.groups for binning in model.binnings)
    return Round(sizes, model.places, groups, candidates, plan.picks, scale, noise, held, most)


def _proposed(given: object, allowed: tuple[Clique, ...]) -> Candidate:
    """A copy of a proposal: what is charged is what will be scored, whoever holds the first."""
    if type(given) is not Candidate:
        raise InvalidValue(f"the selection gave {type(given).__name__}; it must give candidates.")
    if given.clique not in allowed:
        raise InvalidValue(f"the selection proposes {given.clique}, which is not on offer.")
    return replace(given, clique=allowed[allowed.index(given.clique)])


def _refitted(course: _Course, model: Synthetic, found: tuple[Noisy, ...], steps: int) -> Synthetic:
    sizes, total = model.sizes, model.total
    new = tuple(_as_measured(each, sizes, total) for each in found)
    measured = (*model.measured, *new)
    structure = network(sizes, [each.clique for each in measured])
    fitted = course.fitted(
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
            MEAN_SIZE * math.sqrt(float(each.variance)) * each.counts.size / (2 * after.total)
            for each in found
        ]
    )
    return float(moved), float(noise)
