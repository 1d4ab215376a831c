"""The parts of a release that are tables of counts: marginals, and ranges over ordered columns.
Binds the array algorithms to public axes; the noise is theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Loss, Pure
from discreet.noise.bits import BitSource
from discreet.plan.explain import noise_of
from discreet.release.adaptive import Adaptive
from discreet.release.frame import Axis, Cells, Frame
from discreet.release.ladder import Cut, cells_of
from discreet.release.marginals import Marginals, marginal_cut
from discreet.release.measure import tabulated
from discreet.release.ordered import OrderedEstimate, ordered
from discreet.release.ranges import Trees
from discreet.release.running import Running
from discreet.release.settle import settled, to_simplex
from discreet.release.sheets import Column, Preview, Sheet
from discreet.release.workload import Workload

__all__ = ["FINISHES", "MarginalPart", "RangePart"]

FINISHES = ("least-squares", "non-negative")
"""How tables of counts are finished: unbiased and consistent, or also without negative cells."""

_NORMAL = 1.96
_LONGEST_NAME = 60


def _finish(value: str) -> str:
    if value not in FINISHES:
        raise InvalidValue(f"finish is {value!r}; write one of {', '.join(FINISHES)}.")
    return value


def _counted(
    axes: Sequence[Axis], table: NDArray[np.float64], error: float, finish: str
) -> dict[str, NDArray[Any]]:
    """The columns of a table of counts: labels, the estimate, its error and interval."""
    flat = np.asarray(table, dtype=np.float64).ravel()
    columns: dict[str, NDArray[Any]] = {}
    inner = len(flat)
    for axis in axes:  # arrays of pointers to the labels: a table may have a million rows
        inner //= axis.cells
        labels = np.array(axis.labels, dtype=object)
        columns[axis.name] = np.resize(np.repeat(labels, inner), len(flat))
    columns["count"] = flat
    columns["standard_error"] = np.broadcast_to(np.float64(error), flat.shape)
    low = flat - _NORMAL * error
    columns["low"] = low if finish == "least-squares" else np.maximum(low, 0.0)
    columns["high"] = flat + _NORMAL * error
    return columns


@dataclass(frozen=True, slots=True)
class MarginalPart:
    """Marginals over several sets of columns, measured together.

    Privacy: `loss`; docs/proofs/releases.md.
    >>> MarginalPart.__name__
    'MarginalPart'
    """

    name: str
    axes: tuple[Axis, ...]
    sets: Mapping[tuple[str, ...], Cut]
    family: Marginals = field(repr=False)
    finish: str

    @classmethod
    def planned(
        cls,
        frame: Frame,
        name: str,
        sets: Mapping[tuple[str, ...], float],
        *,
        price: Pure | ZCDP,
        finish: str = "least-squares",
    ) -> "MarginalPart":
        """Plan the marginals of these sets of columns, each with its weight.

        Privacy: none (touches no data).
        >>> MarginalPart.planned.__name__
        'planned'
        """
        names = list(dict.fromkeys(each for columns in sets for each in columns))
        axes = tuple(frame.axis(each) for each in names)
        sizes = tuple(axis.cells for axis in axes)
        cuts = {
            columns: marginal_cut([names.index(each) for each in columns], sizes)
            for columns in sets
        }
        weights: dict[Cut, float] = {}
        for columns, cut in cuts.items():
            weights[cut] = weights.get(cut, 0.0) + sets[columns]
        family = Marginals.planned(sizes, weights, price=price, unit=frame.unit)
        return cls(name, axes, cuts, family, _finish(finish))

    @property
    def loss(self) -> Pure | ZCDP:
        """What it costs.

        Privacy: under the unit and relation of its frame.
        >>> MarginalPart.loss.fget is not None
        True
        """
        return self.family.loss

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of its measurements.

        Privacy: under the unit and relation of its frame.
        >>> MarginalPart.losses.fget is not None
        True
        """
        return tuple(each.loss for each in self.family.measurements)

    def facts(self) -> dict[str, Any]:
        """Mechanisms, scales and references for the manifest.

        Privacy: none (touches no data).
        >>> MarginalPart.facts.__name__
        'facts'
        """
        made = [
            {
                "columns": [self.axes[axis].name for axis, _ in each.cut],
                "what": "counts" if isinstance(each.loss, Pure) else "contrasts of counts",
                "noise": noise_of(each.noise),
            }
            for each in self.family.measurements
        ]
        return {
            "kind": "marginals",
            "measurements": made,
            "lattice": "integers",
            "finish": self.finish,
            "reference": "[XHZK23, Thm. 1], [CKS20, Thm. 4], [DMNS06, Prop. 3.3]",
        }

    def preview(self) -> list[Preview]:
        """Its tables and their standard errors.

        Privacy: none (touches no data).
        >>> MarginalPart.preview.__name__
        'preview'
        """
        return [
            Preview(
                self._title(columns),
                cells_of(cut, self.family.ladders),
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

        Privacy: `loss`.
        >>> MarginalPart.release.__name__
        'release'
        """
        codes = [exact.places(axis.name) for axis in self.axes]
        table = tabulated(codes, exact.counts, self.family.ladders)
        parts = self.family.release(table, bits)
        words = "Least squares: unbiased, and every table adds up to the others."
        finished = parts.table
        if self.finish == "non-negative":
            nearer = settled(parts, self.sets.values())
            finished = nearer.table
            words = (
                "Without negative cells; tables add up to each other within "
                f"{nearer.gap:.2g} a cell. Standard errors are those before this step; the root "
                f"mean square error over all cells is at most {nearer.error:.4g}."
            )
        sheets = []
        for columns, cut in self.sets.items():
            axes = [self.axes[axis] for axis, _ in cut]
            found = _counted(axes, finished(cut), sqrt(self.family.variance(cut)), self.finish)
            keys = tuple(axis.name for axis in axes)
            sheets.append(Sheet(self._title(columns), words, found, keys, "count", "low", "high"))
        return sheets


@dataclass(frozen=True, slots=True)
class RangePart:
    """The distribution over one ordered column, or over several: any range, with its error.

    Privacy: `loss`; docs/proofs/releases.md.
    >>> RangePart.__name__
    'RangePart'
    """

    name: str
    axes: tuple[Axis, ...]
    plan: Trees | Running | Adaptive = field(repr=False)
    workload: Workload
    finish: str

    @classmethod
    def planned(
        cls,
        frame: Frame,
        name: str,
        columns: Sequence[str],
        *,
        price: Pure | ZCDP,
        workload: str = "ranges",
        method: str = "best",
        finish: str = "least-squares",
    ) -> "RangePart":
        """Plan the ranges; the method is the one of least error, or adapts to the data.

        Privacy: none (touches no data).
        >>> RangePart.planned.__name__
        'planned'
        """
        axes = tuple(_known(frame.axis(each)) for each in columns)
        if workload not in list(Workload):
            raise InvalidValue(f"{name}: workload is {workload!r}; write ranges or prefixes.")
        asked = Workload(workload)
        plan: Trees | Running | Adaptive
        if method == "adaptive" and len(axes) == 1:
            plan = Adaptive(axes[0].cells, price, frame.unit, asked)
        elif method != "best":
            raise InvalidValue(
                f"{name}: method is {method!r}; write best, or adaptive for one axis."
            )
        elif len(axes) == 1:
            plan = ordered(axes[0].cells, price=price, unit=frame.unit, workload=asked)
        else:
            cells = tuple(axis.cells for axis in axes)
            plan = Trees.planned(cells, price=price, unit=frame.unit, workload=asked)
        return cls(name, axes, plan, asked, _finish(finish))

    @property
    def loss(self) -> Pure | ZCDP:
        """What it costs.

        Privacy: under the unit and relation of its frame.
        >>> RangePart.loss.fget is not None
        True
        """
        return self.plan.loss

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of its mechanisms.

        Privacy: under the unit and relation of its frame.
        >>> RangePart.losses.fget is not None
        True
        """
        if isinstance(self.plan, Trees):
            return tuple(each.loss for each in self.plan.measurements)
        if isinstance(self.plan, Adaptive):
            return (self.plan.choice.loss, self.plan.rest)
        return (self.plan.loss,)

    def facts(self) -> dict[str, Any]:
        """Mechanisms, scales and references for the manifest.

        Privacy: none (touches no data).
        >>> RangePart.facts.__name__
        'facts'
        """
        facts: dict[str, Any] = {
            "kind": "ranges",
            "columns": [axis.name for axis in self.axes],
            "workload": self.workload.value,
            "lattice": "integers",
            "finish": self.finish,
        }
        if isinstance(self.plan, Trees):
            facts["method"] = "level-weighted trees"
            facts["branches"] = [list(each.branches) for each in self.plan.ladders]
            facts["measurements"] = [
                {"levels": [list(pair) for pair in each.cut], "noise": noise_of(each.noise)}
                for each in self.plan.measurements
            ]
            facts["reference"] = "[CKS20, Thm. 4], [DMNS06, Prop. 3.3]"
        elif isinstance(self.plan, Running):
            facts["method"] = "square-root factorisation in steps of 2**-20"
            facts["measurements"] = [{"noise": noise_of(self.plan.noise)}]
            facts["reference"] = "[FHU23, Thm. 1], [CKS20, Thm. 4]"
        else:
            facts["method"] = "blocks of alike cells, then ranges over blocks"
            facts["choice"] = f"exponential mechanism, epsilon {float(self.plan.choice.epsilon):g}"
            facts["reference"] = "[MT07, Thm. 6], [LHM14]"
        return facts

    def preview(self) -> list[Preview]:
        """The root mean square error of a range.

        Privacy: none (touches no data).
        >>> RangePart.preview.__name__
        'preview'
        """
        cells = int(np.prod([axis.cells for axis in self.axes]))
        what = f"root mean square error of {self.workload.value}"
        if isinstance(self.plan, Adaptive):
            return [Preview(self.name, cells, f"{what} (depends on data)", None)]
        return [Preview(self.name, cells, what, self.plan.rmse(self.workload))]

    def release(self, exact: Cells, bits: BitSource) -> list[Sheet]:
        """Measure the histogram.

        Privacy: `loss`.
        >>> RangePart.release.__name__
        'release'
        """
        shape = tuple(axis.cells for axis in self.axes)
        counts = exact.counts
        kept = np.ones(len(counts), dtype=bool)
        places = []
        for axis in self.axes:
            place = exact.places(axis.name) - (exact.frame.axis(axis.name).cells - axis.cells)
            kept &= place >= 0
            places.append(place)
        table = np.zeros(shape, dtype=np.int64)
        np.add.at(table, tuple(place[kept] for place in places), counts[kept])
        found = self.plan.release(table, bits)
        cells = found.histogram()
        if self.finish == "non-negative":
            cells = to_simplex(cells, float(cells.sum()))
        if len(shape) > 1:
            assert isinstance(self.plan, Trees)
            error = sqrt(self.plan.box_variance([(0, 1)] * len(shape)))
            columns = _counted(self.axes, cells, error, self.finish)
            words = "Least squares over all levels; add cells up for any rectangle."
            keys = tuple(axis.name for axis in self.axes)
            drawing = "grid" if len(keys) == 2 else "bars"
            ends = ("count", "low", "high")
            return [Sheet(self.name, words, columns, keys, *ends, drawing=drawing)]
        return [self._single(cells, found)]

    def _single(self, cells: NDArray[np.float64], found: OrderedEstimate) -> Sheet:
        (axis,) = self.axes
        place = np.arange(axis.cells)
        single = np.sqrt(found.variances(place, place + 1))
        upto = np.sqrt(found.variances(np.zeros_like(place), place + 1))
        running = np.cumsum(cells)
        columns: dict[str, Column] = {
            axis.name: axis.labels,
            "count": cells,
            "standard_error": single,
            "cumulative": running,
            "cumulative_standard_error": upto,
            "low": running - _NORMAL * upto,
            "high": running + _NORMAL * upto,
        }
        words = "Counts up to each value; a range is the difference of two of them."
        if isinstance(self.plan, Adaptive):
            words += (
                " Cells that looked alike were merged: errors are those of the noise, without what "
                "merging blurs."
            )
        ends = ("cumulative", "low", "high")
        return Sheet(self.name, words, columns, (axis.name,), *ends, drawing="line")


def _known(axis: Axis) -> Axis:
    """The axis without the place of rows whose value is missing."""
    if not axis.missing:
        return axis
    return Axis(axis.name, axis.sql, axis.codes[1:], axis.labels[1:], axis.step, missing=False)
