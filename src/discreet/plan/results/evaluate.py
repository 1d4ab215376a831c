"""From noisy measures to the columns of an answer: values, intervals, HAVING, ORDER BY, LIMIT.
Post-processing only: nothing in this file ever sees an exact value.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UnsafeQuery
from discreet.plan.model import Plan
from discreet.plan.parts.candidates import QuantileMethod
from discreet.plan.parts.intervals import (
    Estimate,
    at_least,
    box,
    correct_for_sample,
    difference,
    finite,
    hold_within,
    quotient,
    square,
)
from discreet.plan.parts.keys import Label
from discreet.plan.parts.measures import Chosen, Estimator
from discreet.plan.parts.pairs import estimate_pair
from discreet.plan.results.combination import combination
from discreet.plan.results.released import Released
from discreet.query.algebra import (
    Aggregate,
    Arithmetic,
    Compare,
    Expression,
    Field,
    IntervalEnd,
    Junction,
    Literal,
    Member,
    Negation,
    Statistic,
)
from discreet.query.expression import aggregates_of
from discreet.rationals import Number, probability

__all__ = [
    "Bucket",
    "Estimate",
    "buckets",
    "estimates",
    "find_picked",
    "find_ranked",
    "keep_rows",
    "ranks_off",
    "simple_measure",
    "values_of",
]


_ROUNDED = 2.0**-52


@dataclass(frozen=True, slots=True)
class Bucket:
    """The values from low to high, at least one of which has a rank off by at most so many rows.

    In other words: at most the wanted rank plus `ranks` rows are below `low`, and at least the
    wanted rank less `ranks` rows are at most `high`. Which value it is depends on the data.
    """

    low: Label
    high: Label
    ranks: float


def simple_measure(plan: Plan, expression: Expression) -> int | None:
    """The measure that a column is, if it is just one; None for anything computed."""
    if not isinstance(expression, Aggregate):
        return None
    estimator = dict(plan.estimators)[expression]
    if isinstance(estimator, Chosen) or len(estimator.positions) > 1:
        return None
    return estimator.positions[0]


def find_picked(plan: Plan, expression: Expression) -> Chosen | None:
    """The selected value that a column is, if it is one."""
    estimator = dict(plan.estimators).get(expression) if isinstance(expression, Aggregate) else None
    return estimator if isinstance(estimator, Chosen) else None


def find_ranked(plan: Plan, expression: Expression) -> Chosen | None:
    """The selected value that a column is, if its error is stated in ranks or rows."""
    chosen = find_picked(plan, expression)
    return None if chosen is None or plan.ways[chosen.pick] is QuantileMethod.SMOOTH else chosen


def ranks_off(plan: Plan, chosen: Chosen, confidence: Number) -> float:
    """How many rows the rank of a selected value, or the count of a mode, may be off.

    The choice promises that of a candidate. Where a candidate is a bucket of several values any
    number of rows may be between them, so nothing can be promised for the one that is named.
    """
    if plan.picks[chosen.pick].width > 1:
        return math.inf
    return plan.choices[chosen.pick].error(confidence)


def buckets(released: Released, confidence: Number) -> dict[str, list[Bucket]]:
    """For every quantile that is chosen from buckets, the bucket of each group."""
    plan = released.plan
    columns = {}
    for output in plan.query.outputs:
        chosen = find_ranked(plan, output.expression)
        if chosen is not None and plan.picks[chosen.pick].width > 1:
            pick, ranks = plan.picks[chosen.pick], plan.choices[chosen.pick].error(confidence)
            places = released.noisy[chosen.position]
            columns[output.name] = [Bucket(*pick.ends(int(place)), ranks) for place in places]
    return columns


def values_of(released: Released, chosen: Chosen) -> list[Label]:
    """What the selected values of every group are called."""
    pick = released.plan.picks[chosen.pick]
    return [pick.value(int(code)) for code in released.noisy[chosen.position]]


def estimates(released: Released, confidence: Number = Fraction(95, 100)) -> dict[str, Estimate]:
    """Every output column, with intervals that cover with at least this probability.

    A sum of measures with known factors has the interval of its noises together. Another column
    made of several measures gets each of them at a level that adds up to the whole (Bonferroni),
    and interval arithmetic from there. A selected value has its public bounds.
    """
    level = probability(confidence, "confidence")
    outputs = released.plan.query.outputs
    columns: dict[str, Estimate] = {}
    for output in outputs:
        if not isinstance(output.expression, IntervalEnd):
            columns[output.name] = _estimate(released, output.expression, level)
    for output in outputs:
        if isinstance(output.expression, IntervalEnd):
            of = columns[output.expression.output]
            end = of.low if output.expression.side == "low" else of.high
            columns[output.name] = Estimate(end, end, end)
    return {output.name: columns[output.name] for output in outputs}


def _estimate(
    released: Released,
    expression: Expression,
    level: Fraction,
    columns: Mapping[str, NDArray[Any]] = MappingProxyType({}),
) -> Estimate:
    plan, size = released.plan, len(released.groups)
    estimators = dict(plan.estimators)
    mentioned = frozenset(aggregates_of(expression))
    used = {
        place
        for aggregate, estimator in plan.estimators
        if isinstance(estimator, Estimator) and aggregate in mentioned
        for place in estimator.positions
    }
    each = 1 - (1 - level) / max(1, len(used))

    def estimate_measure(place: int) -> Estimate:
        step = float(plan.measures[place].step)
        value = released.noisy[place].astype(np.float64) * step
        width = plan.noises[place].error(each) * step
        return Estimate(value, value - width, value + width)

    def estimate_choice(place: Chosen) -> Estimate:
        pick = plan.picks[place.pick]
        lattice = [pick.lattice(int(candidate)) for candidate in released.noisy[place.position]]
        step = float(pick.step)
        return Estimate(
            np.array(lattice, dtype=np.float64) * step,
            np.full(size, pick.lower * step),
            np.full(size, pick.upper * step),
        )

    def leaf(part: Expression) -> Estimate:
        if isinstance(part, Aggregate):
            estimator = estimators[part]
            if isinstance(estimator, Chosen):
                return estimate_choice(estimator)
            return _aggregate(estimator, estimate_measure)
        if isinstance(part, Literal) and isinstance(part.value, Fraction):
            constant = np.full(size, float(part.value))
            return Estimate(constant, constant, constant)
        if isinstance(part, Field) and part.name in columns:
            named = columns[part.name].astype(np.float64)
            return Estimate(named, named, named)
        raise UnsafeQuery(f"{type(part).__name__} cannot stand in a result column.")

    with np.errstate(all="ignore"):  # what overflows is held at the largest float
        column = _combine(expression, leaf)
        summed = combination(plan, expression) if isinstance(expression, Arithmetic) else None
        if summed is None or summed.ratios:
            return column
        width = summed.error(plan, level)
        assert width is not None
        largest, operations = _size(expression, leaf)
        # Wider by what floats may have rounded on the way.
        reach = width + (largest + width) * (_ROUNDED * (operations + 4))
        return finite(Estimate(column.value, column.value - reach, column.value + reach))


def _size(
    expression: Expression, leaf: Callable[[Expression], Estimate]
) -> tuple[NDArray[np.float64], int]:
    """How large the parts of a sum are at most on the way, and how many operations it takes."""
    if not isinstance(expression, Arithmetic):
        return np.abs(leaf(expression).value), 1
    (left, before), (right, after) = (
        _size(part, leaf) for part in (expression.left, expression.right)
    )
    operation = {"*": np.multiply, "/": np.divide}.get(expression.operator, np.add)
    return operation(left, right), before + after


def _combine(expression: Expression, leaf: Callable[[Expression], Estimate]) -> Estimate:
    if not isinstance(expression, Arithmetic):
        return leaf(expression)
    left, right = _combine(expression.left, leaf), _combine(expression.right, leaf)
    if expression.operator == "+":
        result = Estimate(left.value + right.value, left.low + right.low, left.high + right.high)
    elif expression.operator == "-":
        result = difference(left, right)
    elif expression.operator == "*":
        result = box(np.multiply, left, right)
    else:
        result = quotient(left, right)
    return finite(result)


def _aggregate(estimator: Estimator, estimate_measure: Callable[[int], Estimate]) -> Estimate:
    parts = [estimate_measure(place) for place in estimator.positions]
    if len(parts) == 1:
        return parts[0]
    if estimator.second is not None:
        return estimate_pair(estimator.statistic, parts, estimator.axis, estimator.second)
    step = float(estimator.step)
    low, high = estimator.lower * step, estimator.upper * step
    if estimator.statistic is Statistic.AVERAGE:
        return _average(*parts, centre=estimator.centre * step, low=low, high=high)
    sample = estimator.statistic in (Statistic.VARIANCE_SAMPLE, Statistic.DEVIATION_SAMPLE)
    # The variance of two extreme values: n/(n - 1) is 2 there, its largest.
    most = ((high - low) / 2) ** 2 * (2 if sample else 1)
    known = at_least(2.0 if sample else 1.0, parts[0])
    variance = _variance(known, parts[1], parts[2])
    if sample:
        variance = correct_for_sample(variance, known)
    if estimator.statistic in (Statistic.VARIANCE_SAMPLE, Statistic.VARIANCE_POPULATION):
        return hold_within(variance, parts[0], 0.0, most)
    roots = (np.sqrt(np.maximum(end, 0.0)) for end in (variance.value, variance.low, variance.high))
    return hold_within(Estimate(*roots), parts[0], 0.0, most**0.5)


def _average(
    count: Estimate, total: Estimate, *, centre: float, low: float, high: float
) -> Estimate:
    """centre + total/count inside the bounds; with no noisy rows the middle and all of them."""
    ratio = box(np.divide, total, at_least(1.0, count))
    moved = Estimate(*(centre + end for end in (ratio.value, ratio.low, ratio.high)))
    return hold_within(moved, count, low, high)


def _variance(count: Estimate, first: Estimate, second: Estimate) -> Estimate:
    """second/count - (first/count)^2."""
    mean = box(np.divide, first, count)
    return difference(box(np.divide, second, count), square(mean))


def keep_rows(released: Released, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
    """Which groups the answer shows, and in which order: HAVING, ORDER BY, LIMIT on noisy
    values.
    """
    level = Fraction(95, 100)
    plan, size = released.plan, len(released.groups)

    def value(expression: Expression) -> NDArray[Any]:
        chosen = find_picked(plan, expression)
        if chosen is not None:
            return np.array(values_of(released, chosen))
        match expression:
            case Field(name):
                return columns[name]
            case Literal(constant):
                number = float(constant) if isinstance(constant, Fraction) else constant
                return np.full(size, number, dtype=None if number is not None else object)
            case Compare() | Junction() | Negation() | Member():
                return np.asarray(_truth(expression, value))
        return _estimate(released, expression, level, columns).value

    query = plan.query
    rows = np.arange(size)
    if query.having is not None:
        rows = rows[_truth(query.having, value)]
    # Leading groups whose count is not shown come in the order in which they were chosen.
    ranked = plan.ranking is not None and not plan.ranking.shown
    for order in () if ranked else reversed(query.order):
        keys = value(order.expression)[rows]
        if order.direction == "descending":
            # Stable in both directions: ties keep the order of the keys.
            rows = rows[::-1][np.argsort(keys[::-1], kind="stable")][::-1]
        else:
            rows = rows[np.argsort(keys, kind="stable")]
    return rows if query.limit is None else rows[: query.limit]


def _truth(expression: Expression, value: Callable[[Expression], NDArray[Any]]) -> Any:
    match expression:
        case Compare(operator, left, right):
            return _COMPARE[operator](value(left), value(right))
        case Junction(operator, parts):
            combine = np.logical_and if operator == "and" else np.logical_or
            return combine.reduce([_truth(part, value) for part in parts])
        case Negation(operand):
            return ~_truth(operand, value)
        case Member(operand, constants):
            tests = [_COMPARE["="](value(operand), value(constant)) for constant in constants]
            return np.logical_or.reduce(tests)
    return value(expression).astype(bool)


_COMPARE: dict[str, Callable[..., Any]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
