"""Where exact tables and noise meet in a release: one measurement after the other. Exact counts
come in by a function and leave as noisy components only.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.components import Components, contrast, scale_of
from discreet.linear.hierarchy import Cut, Hierarchy, cells_of, shape_of
from discreet.linear.marginals import count_cells
from discreet.loss import ZCDP, Price, Pure
from discreet.noise.bits import BitSource, system
from discreet.release.tables.allocation import Contrast, Counts, Measurement

__all__ = ["Exact", "expected", "measured", "paid", "tabulated"]

Exact = Callable[[Cut], NDArray[Any]]
"""The exact table of a cut; what it returns must not leave."""

_WIDEST = 1 << 31  # times counts below 2**31 stays within 64 bits


def measured(
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
    >>> total = Counts((), DiscreteLaplace(scale=Fraction(1, 100)), Pure(epsilon=100))
    >>> round(float(measured([total], (), lambda cut: np.array(7)).table(())), 6)
    7.0
    """
    parts = Components(hierarchies)
    for each in measurements:
        if isinstance(each, Counts):
            noisy = each.noise.release(exact(each.cut), bits)
            parts.add_table(each.cut, noisy, variance=each.variance)
            continue
        if scale_of(each.cut, hierarchies) >= _WIDEST:
            raise InvalidValue(
                f"a table of {cells_of(each.cut, hierarchies):,} cells is too wide for a contrast; "
                "the limit is 2**31. Release fewer columns at once. Nothing was released."
            )
        noisy = each.noise.release(contrast(exact(each.cut), each.cut, hierarchies), bits)
        parts.add_contrast(each.cut, noisy, variance=each.variance)
    return parts


def expected(measurements: Iterable[Measurement], hierarchies: tuple[Hierarchy, ...]) -> Components:
    """Components without values: their variances are those of a release.

    >>> expected([], ()).cuts
    ()
    """
    parts = Components(hierarchies)
    for each in measurements:
        if isinstance(each, Counts):
            parts.know_table(each.cut, variance=each.variance)
        else:
            parts.know_contrast(each.cut, variance=each.variance)
    return parts


def paid(measurements: Sequence[Measurement]) -> Price:
    """What measurements cost together.

    Privacy: losses add [DR14, Cor. 3.15], [BS16, Lemma 1.7].
    >>> from discreet.mechanisms.additive.laplace import DiscreteLaplace
    >>> paid([Counts((), DiscreteLaplace(scale=2), Pure(epsilon=Fraction(1, 2)))] * 2)
    Pure(epsilon=Fraction(1, 1))
    """
    if all(isinstance(each, Contrast) for each in measurements):
        return ZCDP(rho=sum((each.loss.zcdp().rho for each in measurements), Fraction(0)))
    return Pure(
        epsilon=sum(
            (each.loss.epsilon for each in measurements if isinstance(each, Counts)), Fraction(0)
        )
    )


def tabulated(
    codes: Sequence[NDArray[Any]], counts: NDArray[Any], hierarchies: tuple[Hierarchy, ...]
) -> Exact:
    """Exact tables from distinct rows: for every axis the cell of each row, and how many there are.

    The tables are exact.
    >>> import numpy as np
    >>> exact = tabulated([np.array([0, 2])], np.array([5, 1]), (Hierarchy.flat(3),))
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
