"""The part of a release that is a family of marginals, and how any table of counts is written down.
Binds the array algorithms to public axes; the noise is theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.consistency import make_consistent
from discreet.linear.hierarchy import Cut, cells_of
from discreet.loss import Currency, Loss, Price
from discreet.noise.bits import BitSource
from discreet.plan.results.explain import noise_of
from discreet.release.frame import Axis, Cells, Frame
from discreet.release.sheets import Preview, Sheet
from discreet.release.tables.marginals import Marginals, marginal_cut
from discreet.release.tables.measure import tabulate_cells

__all__ = ["FINISHES", "MarginalPart", "check_finish", "tabulate_counts", "widen_intervals"]

FINISHES = ("least-squares", "non-negative")
"""How tables of counts are finished: unbiased and consistent, or also without negative cells."""

_LONGEST_NAME = 60


def check_finish(value: str) -> str:
    """One of the ways to finish tables of counts.

    >>> check_finish("least-squares")
    'least-squares'
    """
    if value not in FINISHES:
        raise InvalidValue(f"finish is {value!r}; write one of {', '.join(FINISHES)}.")
    return value


def widen_intervals(
    value: NDArray[np.float64],
    unbiased: NDArray[np.float64],
    half_width: float | NDArray[np.float64],
    *,
    finish: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of intervals around unbiased counts, drawn out to the counts that are told.

    No exact count is negative, so neither are the ends where the counts told are not.
    >>> noisy, unbiased = np.array([0.0, 4.0]), np.array([-9.0, 7.0])
    >>> [end.tolist() for end in widen_intervals(noisy, unbiased, 2.0, finish="non-negative")]
    [[0.0, 4.0], [0.0, 9.0]]
    """
    low, high = unbiased - half_width, unbiased + half_width
    if finish == "non-negative":
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    return np.minimum(low, value), np.maximum(high, value)


def tabulate_counts(
    name: str,
    words: str,
    axes: Sequence[Axis],
    table: NDArray[np.float64],
    unbiased: NDArray[np.float64],
    *,
    error: float,
    half_width: float,
    finish: str,
) -> Sheet:
    """A table of counts as it is written: labels, the estimate, its error and interval.

    The interval holds for the unbiased estimate, which the table is not if it was finished.
    >>> from fractions import Fraction
    >>> yes = Axis("smoker", "smoker", (0, 1), (False, True), Fraction(1), missing=False)
    >>> noisy = np.array([3.0, 5.0])
    >>> columns = tabulate_counts(
    ...     "n", "", [yes], noisy, noisy, error=1.0, half_width=2.5, finish="least-squares").columns
    >>> list(columns), columns["high"].tolist()
    (['smoker', 'count', 'standard_error', 'low', 'high'], [5.5, 7.5])
    """
    flat = np.asarray(table, dtype=np.float64).ravel()
    columns: dict[str, NDArray[Any]] = {}
    inner = len(flat)
    for axis in axes:  # arrays of pointers to the labels: a table may have a million rows
        inner //= axis.cells
        labels = np.array(axis.labels, dtype=object)
        columns[axis.name] = np.resize(np.repeat(labels, inner), len(flat))
    columns["count"] = flat
    columns["standard_error"] = np.broadcast_to(np.float64(error), flat.shape)
    ends = widen_intervals(flat, np.ravel(unbiased), half_width, finish=finish)
    columns["low"], columns["high"] = ends
    keys = tuple(axis.name for axis in axes)
    return Sheet(name, words, columns, keys, "count", "low", "high")


@dataclass(frozen=True, slots=True)
class MarginalPart:
    """Marginals over several sets of columns, measured together.

    Privacy: `loss`; docs/proofs/releases.md.
    """

    name: str
    axes: tuple[Axis, ...]
    sets: Mapping[tuple[str, ...], Cut]
    family: Marginals = field(repr=False)
    finish: str

    @classmethod
    def build(
        cls,
        frame: Frame,
        name: str,
        sets: Mapping[tuple[str, ...], float],
        *,
        price: Price,
        finish: str = "least-squares",
    ) -> "MarginalPart":
        """Plan the marginals of these sets of columns, each with its weight."""
        names = list(dict.fromkeys(column for columns in sets for column in columns))
        axes = tuple(frame.axis(column) for column in names)
        sizes = tuple(axis.cells for axis in axes)
        cuts = {
            columns: marginal_cut([names.index(column) for column in columns], sizes)
            for columns in sets
        }
        weights: dict[Cut, float] = {}
        for columns, cut in cuts.items():
            weights[cut] = weights.get(cut, 0.0) + sets[columns]
        family = Marginals.calibrate(sizes, weights, price=price, unit=frame.unit)
        return cls(name, axes, cuts, family, check_finish(finish))

    @property
    def loss(self) -> Price:
        """What it costs.

        Privacy: under the unit and relation of its frame.
        """
        return self.family.loss

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of its measurements.

        Privacy: under the unit and relation of its frame.
        """
        return tuple(measurement.loss for measurement in self.family.measurements)

    def facts(self) -> dict[str, Any]:
        """Mechanisms, scales and references for the manifest."""
        measurements = [
            {
                "columns": [self.axes[axis].name for axis, _ in measurement.cut],
                "what": "counts"
                if measurement.loss.currency is Currency.EPSILON
                else "contrasts of counts",
                "noise": noise_of(measurement.noise),
            }
            for measurement in self.family.measurements
        ]
        return {
            "kind": "marginals",
            "measurements": measurements,
            "lattice": "integers",
            "finish": self.finish,
            "reference": "[XHZK23, Thm. 1], [CKS20, Thm. 4], [DMNS06, Prop. 3.3]",
        }

    def preview(self) -> list[Preview]:
        """Its tables and their standard errors."""
        return [
            Preview(
                self._title(columns),
                cells_of(cut, self.family.hierarchies),
                "standard error of a count",
                sqrt(self.family.variance(cut)),
            )
            for columns, cut in self.sets.items()
        ]

    def _title(self, columns: tuple[str, ...]) -> str:
        if len(self.sets) == 1:
            return self.name
        joined = "_".join((self.name, *columns))
        place = list(self.sets).index(columns) + 1
        return joined if len(joined) < _LONGEST_NAME else f"{self.name}_{place}"

    def release(self, exact: Cells, bits: BitSource) -> list[Sheet]:
        """Measure and estimate every table.

        Privacy: as `loss` says.
        """
        codes = [exact.places(axis.name) for axis in self.axes]
        exact_tables = tabulate_cells(codes, exact.counts, self.family.hierarchies)
        parts = self.family.release(exact_tables, bits)
        words = "Least squares: unbiased, and every table adds up to the others."
        finished = parts.table
        if self.finish == "non-negative":
            nearer = make_consistent(parts, self.sets.values())
            finished = nearer.table
            words = (
                "Without negative cells; tables add up to each other within "
                f"{nearer.gap:.2g} a cell. Standard errors are those before this step, intervals "
                "are drawn out to what it gave; the root mean square error over all cells is at "
                f"most {nearer.error:.4g}."
            )
        return [
            tabulate_counts(
                self._title(columns),
                words,
                [self.axes[axis] for axis, _ in cut],
                finished(cut),
                parts.table(cut),
                error=sqrt(self.family.variance(cut)),
                half_width=self.family.half_width(cut),
                finish=self.finish,
            )
            for columns, cut in self.sets.items()
        ]
