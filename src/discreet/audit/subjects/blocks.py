"""Sample and aggregate: the blocks of two neighbouring tables are computed in real processes, their
private summaries are drawn many times; a bug is planted beside each. Owns inputs and sample sizes.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.subject import Subject, make_subject
from discreet.loss import Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.robust.blocks.blocks import SampleAndAggregate
from discreet.robust.blocks.summaries import BlockMean, BlockMedian, BlockMode, Setting, Summary
from discreet.robust.tested.outcome import Refused

__all__ = ["block_audits"]

_subject = partial(make_subject, "robust")
_BLOCKS, _ROWS = 6, 120
_KEY = b"known to everybody"  # a release draws one and keeps it secret; privacy needs neither
_LATTICE = Lattice(step=1, lower=0, upper=2, missing=0)
_SETTING = Setting(lattice=_LATTICE, blocks=_BLOCKS, moved=1)
_EVEN, _UNEVEN = (0, 0, 0, 2, 2, 2), (0, 0, 2, 2, 2, 2)


def block_audits() -> tuple[Subject, ...]:
    """Sample and aggregate and its summaries, each followed by the bug planted beside it.

    >>> [one.name for one in block_audits()][:2]
    ['SampleAndAggregate', 'SampleAndAggregate: rows dealt instead of units']
    """
    return (*_aggregates(), *_summaries())


def _aggregates() -> Iterator[Subject]:
    """One unit with many rows, there or not. Given the blocks, only the summary draws."""
    mean = BlockMean(price=Pure(epsilon=1))
    aggregate = SampleAndAggregate(blocks=_BLOCKS, lattice=_LATTICE, summary=mean)

    def drawing(units: Callable[[int], Sequence[int]]) -> Callable[[int, int], NDArray[Any]]:
        def draw(rows: int, count: int) -> NDArray[Any]:
            # `len` is run on the rows of each block; the lattice holds it to 2 at most.
            steps = aggregate.values(len, np.zeros(rows), units(rows), key=_KEY)
            return np.array([float(mean.release(steps, aggregate.setting)) for _ in range(count)])

        return draw

    right = _subject(
        "SampleAndAggregate",
        drawing(lambda rows: [7] * rows),
        aggregate.loss(),
        ((0, _ROWS),),
        3_000,
    )
    yield from right.with_bug("rows dealt instead of units", drawing(range), 1_000)


def _summaries() -> Iterator[Subject]:
    def drawing(summary: Summary) -> Callable[[Any], str]:
        def draw(values: Any) -> str:
            outcome = summary.release(np.array(values), _SETTING)
            return "refused" if isinstance(outcome, Refused) else str(outcome)

        return draw

    for kind in (BlockMean, BlockMedian):
        summary = kind(price=Pure(epsilon=1))
        right = _subject(
            kind.__name__, drawing(summary), summary.loss(_SETTING), ((_EVEN, _UNEVEN),), 2_000
        )
        bold = kind(price=Pure(epsilon=16))
        yield from right.with_bug("a sixteenth of the noise", drawing(bold), 1_000)
    stable = BlockMode(epsilon=1, delta=0.02)
    right = _subject(
        "BlockMode",
        drawing(stable),
        stable.loss(_SETTING),
        ((_EVEN, _UNEVEN), ((0,) * 6, (0,) * 5 + (2,))),
        2_000,
    )

    def release_untested(values: Any) -> str:
        return str(int(np.argmax(np.bincount(values, minlength=3))))

    yield from right.with_bug("no test", release_untested, 400)
