"""The part of a release that is a distribution over ordered columns. Binds trees, the factorisation
and adaptive blocks to public axes; the noise is theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.simplex import project_to_simplex
from discreet.loss import Loss, Price
from discreet.mechanisms.combinations.combined import deviations_95
from discreet.noise.bits import BitSource
from discreet.plan.results.explain import noise_of
from discreet.release.frame import Axis, Cells, Frame
from discreet.release.parts.counts import check_finish, tabulate_counts, widen_intervals
from discreet.release.sheets import Column, Preview, Sheet
from discreet.release.tables.adaptive import Adaptive
from discreet.release.tables.ordered import OrderedEstimate, ordered
from discreet.release.tables.ranges import Trees
from discreet.release.tables.running import Running
from discreet.release.tables.workload import Workload

__all__ = ["RangePart"]


@dataclass(frozen=True, slots=True)
class RangePart:
    """The distribution over one ordered column, or over several: any range, with its error.

    Privacy: `loss`; docs/proofs/releases.md.
    """

    name: str
    axes: tuple[Axis, ...]
    plan: Trees | Running | Adaptive = field(repr=False)
    workload: Workload
    finish: str

    @classmethod
    def build(
        cls,
        frame: Frame,
        name: str,
        columns: Sequence[str],
        *,
        price: Price,
        workload: str = "ranges",
        method: str = "best",
        finish: str = "least-squares",
    ) -> "RangePart":
        """Plan the ranges; the method is the one of least error, or adapts to the data."""
        axes = tuple(frame.axis(column).known for column in columns)
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
            plan = Trees.calibrate(cells, price=price, unit=frame.unit, workload=asked)
        return cls(name, axes, plan, asked, check_finish(finish))

    @property
    def loss(self) -> Price:
        """What it costs.

        Privacy: under the unit and relation of its frame.
        """
        return self.plan.loss

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of its mechanisms.

        Privacy: under the unit and relation of its frame.
        """
        if isinstance(self.plan, Trees):
            return tuple(measurement.loss for measurement in self.plan.measurements)
        if isinstance(self.plan, Adaptive):
            return (self.plan.choice.loss, self.plan.rest)
        return (self.plan.loss,)

    def facts(self) -> dict[str, Any]:
        """Mechanisms, scales and references for the manifest."""
        facts: dict[str, Any] = {
            "kind": "ranges",
            "columns": [axis.name for axis in self.axes],
            "workload": self.workload.value,
            "lattice": "integers",
            "finish": self.finish,
        }
        if isinstance(self.plan, Trees):
            facts["method"] = "level-weighted trees"
            facts["branches"] = [list(hierarchy.branches) for hierarchy in self.plan.hierarchies]
            facts["measurements"] = [
                {"levels": [list(pair) for pair in level.cut], "noise": noise_of(level.noise)}
                for level in self.plan.measurements
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
        """The root mean square error of a range."""
        cells = int(np.prod([axis.cells for axis in self.axes]))
        what = f"root mean square error of {self.workload.value}"
        if isinstance(self.plan, Adaptive):
            return [Preview(self.name, cells, f"{what} (depends on data)", None)]
        return [Preview(self.name, cells, what, self.plan.rmse(self.workload))]

    def release(self, exact: Cells, bits: BitSource) -> list[Sheet]:
        """Measure the histogram.

        Privacy: as `loss` says.
        """
        estimate = self.plan.release(exact.table(self.axes), bits)
        cells = unbiased = estimate.histogram()
        if self.finish == "non-negative":
            cells = project_to_simplex(cells, float(cells.sum()))
        if len(self.axes) > 1:
            assert isinstance(self.plan, Trees)
            error = sqrt(self.plan.box_variance([(0, 1)] * len(self.axes)))
            words = "Least squares over all levels; add cells up for any rectangle."
            half_width = error * deviations_95(estimate.noises)
            sheet = tabulate_counts(
                self.name,
                words,
                self.axes,
                cells,
                unbiased,
                error=error,
                half_width=half_width,
                finish=self.finish,
            )
            return [replace(sheet, drawing="grid" if len(self.axes) == 2 else "bars")]
        return [self._single(cells, unbiased, estimate)]

    def _single(
        self, cells: NDArray[np.float64], unbiased: NDArray[np.float64], estimate: OrderedEstimate
    ) -> Sheet:
        (axis,) = self.axes
        place = np.arange(axis.cells)
        single = np.sqrt(estimate.variances(place, place + 1))
        upto = np.sqrt(estimate.variances(np.zeros_like(place), place + 1))
        running = np.cumsum(cells)
        reach = upto * deviations_95(estimate.noises)
        low, high = widen_intervals(running, np.cumsum(unbiased), reach, finish=self.finish)
        columns: dict[str, Column] = {
            axis.name: axis.labels,
            "count": cells,
            "standard_error": single,
            "cumulative": running,
            "cumulative_standard_error": upto,
            "low": low,
            "high": high,
        }
        words = "Counts up to each value; a range is the difference of two of them."
        promise = "95% intervals"
        if isinstance(self.plan, Adaptive):
            promise = "95% intervals of the noise alone"
            words += (
                " Cells that looked alike were merged: errors and intervals are those of the "
                "noise, without what merging blurs."
            )
        ends = ("cumulative", "low", "high")
        keys = (axis.name,)
        return Sheet(self.name, words, columns, keys, *ends, drawing="line", promise=promise)
