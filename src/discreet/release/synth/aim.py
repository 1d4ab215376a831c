"""The steps of a synthesis: count, bin, then choose, measure and fit until the budget is spent.
It asks a source for noisy answers and sees nothing else; given the same answers it takes the same
steps, so an interrupted synthesis can be taken up again.
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
from discreet.release.synth.domain import Attribute, bin_values
from discreet.release.synth.fitted import Synthetic
from discreet.release.synth.grade import plan_grade
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
class _Setup:
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
        mechanism = self.stages.measure(rho=rho, sensitivity=self.sensitivity)
        cost = mechanism.loss(self.sensitivity).zcdp().rho
        if not 0 < cost <= rho:
            raise InvalidValue(
                f"the measuring costs rho = {float(cost):.6g}; it must cost something, and at "
                f"most the {float(rho):.6g} that it is given. The step was not run."
            )
        if type(mechanism) not in _PROVED:
            raise InvalidValue(
                f"the measuring names {with_article(type(mechanism).__name__)}; it would see "
                "exact counts, so it "
                "must be a DiscreteGaussian or a DiscreteLaplace. The step was not run."
            )
        return mechanism

    def fit(self, structure: Network, marginals: tuple[Measured, ...], **more: Any) -> Fitted:
        """The model of the stage that fits, which must be one of this structure."""
        model = self.stages.fit(structure, marginals, **more)
        if not isinstance(model, Fitted) or model.network is not structure:
            raise InvalidValue(
                f"the fit gave {type(model).__name__}; it must give a Fitted of the network that "
                "it is handed. What was measured is kept and paid for."
            )
        return model


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
    setup = _Setup(
        tuple(attributes),
        sensitivity,
        budget,
        plan or schedule(signal=1, attributes=1),
        source,
        stages or Stages(),
        on_progress,
    )
    remaining = budget
    first = OneWayCounts((), ((),), (setup.noise(budget / 100),))
    remaining -= first.loss(sensitivity).rho
    counted = source.take(first)
    guess = max(1.0, float(counted[0].counts[0])) if counted else 1000.0
    if plan is None:
        signal = guess / math.sqrt(variance_of(setup.noise(budget)))
        plan = schedule(signal=signal, attributes=len(attributes))
    setup = replace(setup, plan=plan)
    ones: tuple[Noisy, ...] | None = None
    while ones is None:  # what was lost is paid for; the rest is shared out again
        step = _plan_ones(setup, floor_decimal(remaining * Fraction(plan.ones), 12))
        remaining -= step.loss(sensitivity).rho
        ones = source.take(step)
    reserved = floor_decimal(budget * Fraction(plan.grade), 12)
    remaining -= reserved
    model = _run_rounds(setup, _fit_ones(setup, ones, remaining), remaining)
    return _grade(setup, model, reserved)


def _grade(setup: _Setup, model: Synthetic, rho: Fraction) -> Synthetic:
    """The model with its own noisy marks."""
    sizes = tuple(attribute.size for attribute in model.attributes)
    rows = model.codes(min(200_000, max(10_000, math.ceil(model.total))))
    step = plan_grade(sizes, rows, total=model.total, rho=rho, sensitivity=setup.sensitivity)
    answers = setup.source.take(step)
    return model if answers is None else replace(model, marks=step.marks(answers))


def _plan_ones(setup: _Setup, rho: Fraction) -> OneWayCounts:
    """The error of a table grows with its cells: larger ones get more, by the power 2/3."""
    sizes = [attribute.size for attribute in setup.attributes]
    parts = [Fraction(round(1000 * min(size, 100) ** (2 / 3))) for size in sizes]
    shares = [part / sum(parts) for part in parts]
    noises = tuple(setup.noise(rho * share) for share in shares)
    return OneWayCounts(tuple(sizes), tuple((at,) for at in range(len(sizes))), noises)


def _fit_ones(setup: _Setup, ones: tuple[Noisy, ...], remaining: Fraction) -> Synthetic:
    """Independent attributes, binned for the noise that measurements will have."""
    plan = setup.plan
    measuring = setup.noise(remaining * (1 - Fraction(plan.choosing)) / plan.measurements)
    deviation = math.sqrt(variance_of(measuring))
    weights = [1 / (len(answer.counts) * float(answer.variance)) for answer in ones]
    sums = [float(answer.counts.sum()) for answer in ones]
    total = max(1.0, sum(map(lambda a, b: a * b, weights, sums)) / sum(weights))
    binnings, measured = [], []
    for attribute, answer in zip(setup.attributes, ones, strict=True):
        sigma = math.sqrt(float(answer.variance))
        raw = answer.counts.astype(np.float64)
        counts = estimate_counts(raw, attribute, sigma=sigma, total=total)
        least = plan.least * deviation
        groups = bin_values(attribute, counts, most=plan.groups, least=least)
        binnings.append(groups)
        noisy = np.bincount(groups.groups, weights=counts, minlength=groups.count) / total
        # The estimate is better than its noise; a tenth of the variance keeps the fit close.
        variance = 0.1 * float(answer.variance) * groups.members / total**2
        measured.append((noisy, np.asarray(variance, dtype=np.float64)))
    order = sorted(range(len(binnings)), key=lambda at: (binnings[at].count, at))
    sizes = tuple(binnings[at].count for at in order)
    marginals = tuple(Measured((place,), *measured[at]) for place, at in enumerate(order))
    fitted = setup.fit(network(sizes, []), marginals, strength=plan.strength * total)
    sorted_binnings = tuple(binnings[at] for at in order)
    return Synthetic(
        setup.attributes,
        tuple(order),
        sorted_binnings,
        total,
        fitted,
        marginals,
        plan.strength * total,
        refit=setup.stages.fit,
        draw=setup.stages.draw,
    )


def _run_rounds(setup: _Setup, model: Synthetic, remaining: Fraction) -> Synthetic:
    plan, whole = setup.plan, remaining
    pool = _list_pool(len(setup.attributes))
    share = remaining / plan.measurements
    for number in itertools.count(1):
        if not pool or remaining <= whole / 10**6:
            return model
        if remaining < 2 * plan.picks * share:
            share = remaining / plan.picks
        step = _plan_round(setup, model, pool, share, float(1 - remaining / whole))
        if not step.candidates:
            return model
        remaining -= step.loss(setup.sensitivity).rho
        answers = setup.source.take(step)
        last = remaining <= whole / 10**6
        if answers:
            before = model
            model = _refit(setup, model, answers, plan.steps * (4 if last else 1))
            moved, noise = _compare(before, model, answers)
            if moved < noise:  # nothing was learned at this noise: take less of it from now on
                share *= 4
            spent = float(1 - remaining / setup.rho)
            cells = model.fitted.network.tree.cells
            setup.on_progress(Progress(number, spent, cells, moved, model.expected_error))
    raise AssertionError


def _list_pool(count: int) -> tuple[Clique, ...]:
    pairs = tuple(itertools.combinations(range(count), 2))
    triples = tuple(itertools.combinations(range(count), 3))
    return (*pairs, *triples) if len(triples) <= _MOST_TRIPLES else pairs


def _plan_round(
    setup: _Setup, model: Synthetic, pool: tuple[Clique, ...], share: Fraction, spent: float
) -> Round:
    plan, sizes = setup.plan, model.sizes
    choosing = Fraction(plan.choosing)
    held = tuple({one.clique: None for one in model.measured if len(one.clique) > 1})
    most = plan.cells * max(0.1, spent)
    allowed = tuple(
        clique for clique in pool if clique in held or tree_cells(sizes, (*held, clique)) <= most
    )
    noise = setup.noise(share * (1 - choosing))
    offer = Offer(model, allowed, math.sqrt(variance_of(noise)))
    candidates = tuple(_check_proposal(one, allowed) for one in setup.stages.select(offer))
    heaviest = max((one.weight for one in candidates), default=0)
    scale = Fraction(1)
    if heaviest:
        # rho = epsilon^2/8 and scale = 2 linf/epsilon, so scale^2 = linf^2/(2 rho).
        moved = SCORE_STEPS * heaviest * setup.sensitivity.l1
        scale = ceil_decimal(sqrt_up(moved**2 / (2 * share * choosing)), 12)
    else:  # chance chooses: nothing to pay for, so all goes into measuring
        noise = setup.noise(share)
    groups = tuple(binning.groups for binning in model.binnings)
    return Round(sizes, model.places, groups, candidates, plan.picks, scale, noise, held, most)


def _check_proposal(candidate: object, allowed: tuple[Clique, ...]) -> Candidate:
    """A copy of a proposal: what is charged is what will be scored, whoever holds the first."""
    if type(candidate) is not Candidate:
        raise InvalidValue(
            f"the selection gave {type(candidate).__name__}; it must give candidates."
        )
    if candidate.clique not in allowed:
        raise InvalidValue(f"the selection proposes {candidate.clique}, which is not on offer.")
    return replace(candidate, clique=allowed[allowed.index(candidate.clique)])


def _refit(setup: _Setup, model: Synthetic, answers: tuple[Noisy, ...], steps: int) -> Synthetic:
    sizes, total = model.sizes, model.total
    new = tuple(_to_marginal(answer, sizes, total) for answer in answers)
    measured = (*model.measured, *new)
    structure = network(sizes, [marginal.clique for marginal in measured])
    fitted = setup.fit(
        structure,
        measured,
        strength=setup.plan.strength * total,
        start=model.fitted.factors,
        steps=steps,
        tolerance=0.02,
    )
    return replace(model, fitted=fitted, measured=measured)


def _to_marginal(noisy: Noisy, sizes: tuple[int, ...], total: float) -> Measured:
    shape = tuple(sizes[at] for at in noisy.clique)
    variance = np.full(shape, float(noisy.variance) / total**2)
    return Measured(noisy.clique, (noisy.counts / total).reshape(shape), variance)


def _compare(
    before: Synthetic, after: Synthetic, answers: tuple[Noisy, ...]
) -> tuple[float, float]:
    """The mean total variation between the models on what was measured, and that of the noise."""
    cliques = [answer.clique for answer in answers]
    rows = min(1_000_000, max(20_000, math.ceil(4 * before.total)))
    old, new = before.estimate_shares(cliques, rows), after.estimate_shares(cliques, rows)
    moved = np.mean([np.abs(old[clique] - new[clique]).sum() / 2 for clique in cliques])
    noise = np.mean(
        [
            MEAN_SIZE * math.sqrt(float(answer.variance)) * answer.counts.size / (2 * after.total)
            for answer in answers
        ]
    )
    return float(moved), float(noise)
