"""Where exact tables and noise meet in a release: one measurement after the other. Exact counts
come in by a function and leave as noisy components only.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.components import Components, contrast, scale_of
from discreet.linear.hierarchy import Cut, Hierarchy, cells_of, shape_of
from discreet.linear.marginals import count_cells
from discreet.loss import ZCDP, Price, Pure
from discreet.noise.bits import BitSource, system
from discreet.release.tables.allocation import Contrast, Counts, Measurement

__all__ = ["Exact", "know_tables", "measure_tables", "sum_losses", "tabulate_cells"]

Exact = Callable[[Cut], NDArray[Any]]
"""The exact table of a cut; what it returns must not leave."""

_WIDEST = 1 << 31  # times counts below 2**31 stays within 64 bits


def measure_tables(
    measurements: Iterable[Measurement],
    hierarchies: tuple[Hierarchy, ...],
    exact: Exact,
    bits: BitSource = system,
) -> Components:
    """Add the noise of every measurement to its exact table.

    Privacy: the sum of the measurements' losses for the relation of their unit
    [DR14, Cor. 3.15], [BS16, Lemma 1.7].
    >>> import numpy as np
    >>> from discreet.mechanisms.additive.laplace import DiscreteLaplace
    >>> total = Counts((), DiscreteLaplace(scale=0.01), Pure(epsilon=100))
    >>> round(float(measure_tables([total], (), lambda cut: np.array(7)).table(())), 6)
    7.0
    """
    parts = Components(hierarchies)
    for measurement in measurements:
        cut, noise, variance = measurement.cut, measurement.noise, measurement.variance
        if isinstance(measurement, Counts):
            parts.add_table(cut, noise.release(exact(cut), bits), variance=variance)
            continue
        if scale_of(cut, hierarchies) >= _WIDEST:
            raise InvalidValue(
                f"a table of {cells_of(cut, hierarchies):,} cells is too wide for a contrast; "
                "the limit is 2**31. Release fewer columns at once. Nothing was released."
            )
        noisy = noise.release(contrast(exact(cut), cut, hierarchies), bits)
        parts.add_contrast(cut, noisy, variance=variance)
    return parts


def know_tables(
    measurements: Iterable[Measurement], hierarchies: tuple[Hierarchy, ...]
) -> Components:
    """Components without values: their variances are those of a release.

    >>> know_tables([], ()).cuts
    ()
    """
    parts = Components(hierarchies)
    for measurement in measurements:
        if isinstance(measurement, Counts):
            parts.know_table(measurement.cut, variance=measurement.variance)
        else:
            parts.know_contrast(measurement.cut, variance=measurement.variance)
    return parts


def sum_losses(measurements: Sequence[Measurement]) -> Price:
    """What measurements cost together.

    Privacy: losses add [DR14, Cor. 3.15], [BS16, Lemma 1.7].
    >>> from discreet.mechanisms.additive.laplace import DiscreteLaplace
    >>> sum_losses([Counts((), DiscreteLaplace(scale=2), Pure(epsilon=0.5))] * 2)
    Pure(epsilon=Fraction(1, 1))
    """
    gaussian = all(isinstance(measurement, Contrast) for measurement in measurements)
    kind: type[Price] = ZCDP if gaussian else Pure
    return kind.total(measurement.loss for measurement in measurements)


def tabulate_cells(
    codes: Sequence[NDArray[Any]], counts: NDArray[Any], hierarchies: tuple[Hierarchy, ...]
) -> Exact:
    """Exact tables from distinct rows: for every axis the cell of each row, and how many there are.

    The tables are exact.
    >>> import numpy as np
    >>> exact = tabulate_cells([np.array([0, 2])], np.array([5, 1]), (Hierarchy.flat(3),))
    >>> exact(((0, 1),)).tolist()
    [5, 0, 1]
    """

    def table(cut: Cut) -> NDArray[Any]:
        sizes = shape_of(cut, hierarchies)
        widths = [
            hierarchies[axis].padded // size for (axis, _), size in zip(cut, sizes, strict=True)
        ]
        blocks = [codes[axis] // width for (axis, _), width in zip(cut, widths, strict=True)]
        return count_cells(blocks, counts, sizes)

    return table
