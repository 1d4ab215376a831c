"""The parts of a release that are statistics of values: sums, means, variances, covariances, lines
and quantiles, by public groups. Each is a priced question of its own that shares the one statement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import Loss, Price
from discreet.noise.bits import BitSource
from discreet.plan.parts.candidates import CandidateQuery
from discreet.plan.parts.measures import Chosen, at_least_one_step
from discreet.plan.pipeline import Plan
from discreet.plan.results.evaluate import buckets, estimates, find_picked, ranks_off, values_of
from discreet.plan.results.explain import error_of, noise_of
from discreet.plan.results.released import Released
from discreet.plan.sql.expressions import bounded, scope
from discreet.query.algebra import Options, Statistic
from discreet.query.expression import aggregates_of
from discreet.release.frame import Axis, Cells, Frame
from discreet.release.sheets import Preview, Sheet
from discreet.release.texts import Texts

__all__ = ["StatisticsPart"]

_LEVEL = Fraction(95, 100)
_ADDITIVE = frozenset(  # their measures are counts of rows and sums over rows
    {
        Statistic.ROWS,
        Statistic.VALUES,
        Statistic.SUM,
        Statistic.AVERAGE,
        Statistic.VARIANCE_SAMPLE,
        Statistic.VARIANCE_POPULATION,
        Statistic.DEVIATION_SAMPLE,
        Statistic.DEVIATION_POPULATION,
        Statistic.COVARIANCE_SAMPLE,
        Statistic.COVARIANCE_POPULATION,
        Statistic.CORRELATION,
        Statistic.SLOPE,
        Statistic.INTERCEPT,
    }
)
_CHOSEN = frozenset(
    {Statistic.QUANTILE, Statistic.MINIMUM, Statistic.MAXIMUM, Statistic.MODE}
)  # chosen by how many rows have each value, which adds up too


@dataclass(frozen=True, slots=True)
class StatisticsPart:
    """Statistics by public groups: what a question would answer, out of the release's one pass.

    Privacy: `loss`, that of its plan.
    """

    name: str
    by: tuple[str, ...]
    plan: Plan = field(repr=False)
    frame: Frame = field(repr=False)

    @classmethod
    def build(
        cls,
        frame: Frame,
        name: str,
        select: Mapping[str, str],
        *,
        by: Sequence[str] = (),
        price: Price,
    ) -> "StatisticsPart":
        """Plan the statistics, each a name and an SQL aggregate, by these columns of the release.

        The plan must be one of the frame's own rows: the noise is chosen for it, the exact values
        are the frame's.
        """
        if len(set(by)) < len(by):
            raise InvalidValue(f"{name}: by is {list(by)}; name each column once.")
        texts = Texts(frame.session, frame.table)
        keys = {column: frame.axis(column).sql for column in by}
        sql, expected = texts.question(where=frame.where, keys=keys, outputs=select)
        session = frame.session
        terms: dict[str, Any] = {price.currency.value: price.amount}
        plan = session.plan_question(sql, **terms)
        if plan.selection is not None or plan.query.limit or plan.query.having is not None:
            raise InvalidValue(f"{name}: a release has public groups only, and all of them.")
        texts.check_agreement(plan.query, expected, name)
        _check_rows(frame, plan, name)
        _check_additive(plan, name)
        for measure in plan.measures:
            frame.measure_place(measure.terms)
        for pick in plan.picks:
            _find_axis(frame, pick)
        return cls(name, tuple(by), plan, frame)

    @property
    def loss(self) -> Price:
        """What it costs.

        Privacy: under the unit and relation of its table.
        """
        return self.plan.cost

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of its measures; quantiles and modes count with the rest of the price.

        Privacy: under the unit and relation of its table.
        """
        if self.plan.picks:
            return (self.plan.cost,)
        return tuple(
            noise.loss(at_least_one_step(measure.sensitivity))
            for noise, measure in zip(self.plan.noises, self.plan.measures, strict=True)
        )

    def facts(self) -> dict[str, Any]:
        """Mechanisms, scales and references for the manifest."""
        measurements = [
            {
                "what": measure.name,
                "noise": noise_of(noise),
                "l1": float(measure.sensitivity.l1),
                "l2": float(measure.sensitivity.l2),
                "lattice_step": str(measure.step),
            }
            for measure, noise in zip(self.plan.measures, self.plan.noises, strict=True)
        ]
        measurements += [
            {"what": pick.name, "noise": noise_of(choice), "lattice_step": str(pick.step)}
            for pick, choice in zip(self.plan.picks, self.plan.choices, strict=True)
        ]
        return {
            "kind": "statistics",
            "question": self.plan.question,
            "measurements": measurements,
            "lattice": "multiples of each measure's step",
            "reference": "[CKS20, Thm. 4], [DMNS06, Prop. 3.3], [Smi11]",
        }

    def preview(self) -> list[Preview]:
        """The 95% half-width of every statistic, where it does not depend on a secret count."""
        groups = len(self.plan.groups)
        return [
            Preview(self.name, groups, f"95% half-width of {column}", error)
            for column, error in error_of(self.plan).items()
        ]

    def release(self, exact: Cells, bits: BitSource) -> list[Sheet]:
        """Its table.

        Privacy: as `loss` says.
        """
        return [self._sheet(self.add_noise(exact, bits))]

    def add_noise(self, exact: Cells, bits: BitSource) -> Released:
        """Add each measure up by group, add its noise, choose its quantiles.

        Privacy: as `loss` says.
        """
        group, count = self._groups(exact)
        noisy: list[NDArray[Any]] = []
        for measure, noise in zip(self.plan.measures, self.plan.noises, strict=True):
            column = exact.measure(measure.terms)
            total = np.zeros(count, dtype=column.dtype)
            np.add.at(total, group[group >= 0], column[group >= 0])
            noisy.append(noise.release(total, bits))
        for pick, choice in zip(self.plan.picks, self.plan.choices, strict=True):
            rows = [
                pick.release(choice, counts, bits)
                for counts in _histograms(exact, self.frame, pick, group, count)
            ]
            table = np.array(rows, dtype=np.int64).reshape(count, pick.columns)
            noisy += [table[:, place] for place in range(pick.columns)]
        return Released(self.plan, self.plan.groups, tuple(noisy))

    def _groups(self, exact: Cells) -> tuple[NDArray[np.int64], int]:
        """For each cell the place of its group among the plan's, -1 where it is in none."""
        size = 1
        group = np.zeros(len(exact.counts), dtype=np.int64)
        outside = np.zeros(len(group), dtype=bool)
        columns = scope(self.plan.table, self.plan.dialect)
        keys = zip(self.by, self.plan.query.keys, self.plan.domains, strict=True)
        for name, key, domain in keys:
            step = bounded(key.expression, columns).step
            place = {code: index for index, code in enumerate(domain.codes)}
            codes = _convert_codes(step, self.frame.axis(name))
            known = np.array(
                [-1 if code is None else place.get(code, -1) for code in codes], dtype=np.int64
            )
            key_place = known[exact.places(name)]
            outside |= key_place < 0
            group = group * len(domain.codes) + key_place
            size *= len(domain.codes)
        return np.where(outside, -1, group), size

    def _sheet(self, released: Released) -> Sheet:
        columns: dict[str, list[Any]] = dict(released.keys())
        first = ""
        for name, estimate in estimates(released).items():
            output = next(output for output in self.plan.query.outputs if output.name == name)
            chosen = find_picked(self.plan, output.expression)
            if chosen is not None:
                columns[name] = values_of(released, chosen)
                columns |= _ranks(released, name, chosen)
                continue
            columns[name] = estimate.value.tolist()
            columns[f"{name}_low"] = [_blank_infinite(end) for end in estimate.low]
            columns[f"{name}_high"] = [_blank_infinite(end) for end in estimate.high]
            first = first or name
        words = "With 95% intervals, each for one statistic in one group."
        if not first:
            words = "Quantiles are values on the lattice; their error is in ranks."
        if any(pick.width > 1 for pick in self.plan.picks):
            words += (
                " A quantile with a bucket is the bucket's middle: the error in ranks holds for "
                "some value in the bucket, not always for the middle."
            )
        if not first:
            value = self.plan.query.outputs[0].name
            numbers = all(isinstance(cell, int | float) for cell in columns[value])
            if not numbers:
                columns["place"] = list(range(len(released.groups)))
            return Sheet(self.name, words, columns, self.by, value if numbers else "place")
        ends = (f"{first}_low", f"{first}_high")
        return Sheet(self.name, words, columns, self.by, first, *ends)


def _ranks(released: Released, name: str, chosen: Chosen) -> dict[str, list[Any]]:
    """How many ranks a quantile, or rows a mode, is off with 95%, and the bucket it holds for."""
    size = len(released.groups)
    within = buckets(released, _LEVEL).get(name)
    if within is None:
        return {f"{name}_ranks_off_95": [ranks_off(released.plan, chosen, _LEVEL)] * size}
    return {
        f"{name}_bucket_low": [bucket.low for bucket in within],
        f"{name}_bucket_high": [bucket.high for bucket in within],
        f"{name}_bucket_ranks_off_95": [bucket.ranks for bucket in within],
    }


def _blank_infinite(value: Any) -> float:
    number = float(value)
    return number if isfinite(number) else float("nan")


def _check_rows(frame: Frame, plan: Plan, name: str) -> None:
    """Refuse a plan for other rows than those the frame will read."""
    ours, theirs = plan.contribution, frame.plan.contribution
    same = (
        plan.tables == frame.plan.tables
        and plan.query.source == frame.plan.query.source
        and plan.query.where == frame.plan.query.where
        and plan.query.options == frame.plan.query.options == Options()
        and (ours.rows_per_unit, ours.relation) == (theirs.rows_per_unit, theirs.relation)
    )
    if not same:
        raise InvalidValue(
            f"{name}: it was planned for other rows than the release reads; the table may just "
            "have changed. Plan the release again. Nothing was run or charged."
        )


def _check_additive(plan: Plan, name: str) -> None:
    """Refuse what is not the sum of its values in the frame's cells, or chosen by row counts."""
    for output in plan.query.outputs:
        for aggregate in aggregates_of(output.expression):
            if aggregate.statistic not in _ADDITIVE | _CHOSEN:
                raise InvalidValue(
                    f"{name}: {output.name} is made of {aggregate.statistic}, which does not add "
                    "up over the cells of a release: one unit may be in several. Ask it as a "
                    "question of its own. Nothing was run or charged."
                )


def _find_axis(frame: Frame, pick: CandidateQuery) -> str:
    column = pick.column.casefold()
    for axis in frame.axes:
        if column and axis.sql.casefold() in (column, f'"{column}"'):
            return axis.name
    raise InvalidValue(
        f"quantiles of {pick.name}: a release takes them of a plain column among its columns. "
        "Name the column there. Nothing was charged."
    )


def _convert_codes(step: Fraction, axis: Axis) -> list[int | None]:
    """The codes of an axis on another lattice; None for those that are not on it, and for rows
    without a value.
    """
    ratio = axis.step / step
    converted: list[int | None] = []
    for code in axis.codes:
        whole, rest = divmod(code * ratio.numerator, ratio.denominator)
        converted.append(None if rest else whole)
    if axis.missing:
        converted[0] = None
    return converted


def _histograms(
    exact: Cells, frame: Frame, pick: CandidateQuery, group: NDArray[np.int64], count: int
) -> list[NDArray[np.int64]]:
    """How many rows of each group have each candidate."""
    name = _find_axis(frame, pick)
    axis = frame.axis(name)
    codes = _convert_codes(pick.step, axis)
    candidates = np.array(
        [-1 if code is None else code // pick.width - pick.first for code in codes], dtype=np.int64
    )
    candidates[(candidates < 0) | (candidates >= pick.candidates)] = -1
    chosen = candidates[exact.places(name)]
    counted = (group >= 0) & (chosen >= 0)
    table = np.zeros((count, pick.candidates), dtype=np.int64)
    np.add.at(table, (group[counted], chosen[counted]), exact.counts[counted])
    return list(table)
