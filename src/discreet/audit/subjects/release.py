"""What `discreet.release` is made of, on arrays: marginals, ranges, running sums, adaptive blocks,
and the steps of synthetic data, with a bug planted beside each. Owns their inputs and sample sizes;
whole releases that charge a session are in `services_release`.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.subject import Subject, make_subject
from discreet.linear.hierarchy import Cut
from discreet.loss import ZCDP, Pure, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import system
from discreet.release.synth.mwem import Worst
from discreet.release.synth.rounds import SCORE_STEPS, Candidate, Cells, OneWayCounts, Round, Step
from discreet.release.tables.adaptive import Adaptive
from discreet.release.tables.allocation import Unit
from discreet.release.tables.marginals import Marginals, every
from discreet.release.tables.ranges import Trees
from discreet.release.tables.running import Running

__all__ = ["release_audits"]

_subject = partial(make_subject, "release")
_ONE = Sensitivity.single(1)
_CELLS = ((3, 0, 0, 3), (4, 0, 0, 3))  # one row more in the first cell
_BLOCKS = ((3, 3, 3, 3), (4, 3, 3, 3))


def release_audits() -> tuple[Subject, ...]:
    """Each followed by the bug planted beside it.

    >>> [one.name for one in release_audits()][:2]
    ['Marginals', 'Marginals: a twentieth of the noise']
    """
    return (*_marginals(), *_ranges(), *_adaptive(), *_steps())


def _tables(family: Marginals) -> Callable[[Any], tuple[float, ...]]:
    """All wanted tables of a square of cells."""

    def draw(exact: Any) -> tuple[float, ...]:
        cells = np.array(exact).reshape(family.sizes)

        def table(cut: Cut) -> NDArray[np.int64]:
            wanted = [axis for axis, _ in cut]
            summed = tuple(axis for axis in range(cells.ndim) if axis not in wanted)
            return np.asarray(cells.sum(axis=summed))

        noisy = family.release(table)
        return tuple(float(value) for cut in family.wanted for value in noisy.table(cut).ravel())

    return draw


def _marginals() -> Iterator[Subject]:
    wanted = every((2, 2), [1, 2])
    for name, price, bold in (
        ("Marginals", Pure(epsilon=1), Pure(epsilon=20)),
        ("Marginals by Gaussian noise", ZCDP(rho=Fraction(1, 8)), ZCDP(rho=50)),
    ):
        family, wrong = (
            Marginals.calibrate((2, 2), wanted, price=amount) for amount in (price, bold)
        )
        right = _subject(name, _tables(family), family.loss, (_CELLS,), 1_000)
        yield from right.with_bug("a twentieth of the noise", _tables(wrong), 400)


def _histogram(plan: Any) -> Callable[[Any], tuple[float, ...]]:
    return lambda exact: tuple(plan.release(np.array(exact)).histogram().tolist())


def _ranges() -> Iterator[Subject]:
    trees, bold = (Trees.calibrate((4,), price=Pure(epsilon=epsilon)) for epsilon in (1, 20))
    right = _subject("Trees", _histogram(trees), trees.loss, (_CELLS,), 1_000)
    yield from right.with_bug("a twentieth of the noise", _histogram(bold), 400)
    sums, loud = (
        Running.calibrate(4, rho=rho, unit=Unit()) for rho in (Fraction(1, 8), Fraction(50))
    )
    right = _subject("Running", _histogram(sums), sums.loss, (_CELLS,), 1_000)
    yield from right.with_bug("a twentieth of the noise", _histogram(loud), 400)


def _adaptive() -> Iterator[Subject]:
    adaptive, noise = Adaptive(cells=4, price=Pure(epsilon=1)), DiscreteLaplace(scale=1)
    right = _subject("Adaptive", _histogram(adaptive), adaptive.loss, (_BLOCKS,), 400)

    def unpaid(exact: Any) -> tuple[float, ...]:
        """Blocks of equal cells chosen for nothing: where they end says which cells are equal."""
        counts = np.array(exact)
        starts = (0, *(np.flatnonzero(np.diff(counts)) + 1).tolist())
        noisy = noise.release(np.add.reduceat(counts, starts))
        return (float(len(starts)), *np.asarray(noisy, dtype=float).tolist())

    yield from right.with_bug("the choice of blocks is not paid for", unpaid, 400)


_CANDIDATES = tuple(Candidate((axis,), np.full(2, 500), 1, 0) for axis in (0, 1))
_ROWS = ((((0, 0),) * 3, ((0, 0),) * 4), ((), ((1, 1),)))


def _steps() -> Iterator[Subject]:
    """A step says which marginals it chose, and their noisy counts."""
    groups, scale = (np.arange(2), np.arange(2)), Fraction(2 * SCORE_STEPS)
    enough, little = (DiscreteGaussian.of_variance(variance) for variance in (2, Fraction(1, 50)))
    cases: tuple[tuple[str, Step, Step], ...] = (
        (
            "OneWayCounts of synthetic data",
            OneWayCounts((2, 2), ((0,), (1,)), (enough, enough)),
            OneWayCounts((2, 2), ((0,), (1,)), (little, little)),
        ),
        (
            "Round of synthetic data",
            Round((2, 2), (0, 1), groups, _CANDIDATES, 1, scale, enough),
            Round((2, 2), (0, 1), groups, _CANDIDATES, 1, scale, little),
        ),
        (
            "Worst of multiplicative weights",
            Worst((2, 2), _CANDIDATES, 2 * scale, Fraction(2)),
            Worst((2, 2), _CANDIDATES, 2 * scale, Fraction(1, 50)),
        ),
    )
    for name, step, bold in cases:
        right = _subject(name, _draw_step(step), step.loss(_ONE), _ROWS, 1_000)
        yield from right.with_bug("hardly any noise", _draw_step(bold), 400)


def _draw_step(step: Step) -> Callable[[Any], str]:
    def draw(rows: Any) -> str:
        places = np.array(rows, dtype=np.int64).reshape(-1, 2)
        marginals = step.release(Cells(places, np.ones(len(rows), dtype=np.int64)), system)
        return " ".join(f"{noisy.clique}:{noisy.counts.tolist()}" for noisy in marginals)

    return draw
