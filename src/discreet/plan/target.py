"""From a wanted error to the cheapest plan that reaches it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import Price
from discreet.plan.model import Draft, Plan
from discreet.plan.parts.price import cheapest, smallest_price
from discreet.plan.parts.split import Errors, for_targets
from discreet.plan.pipeline import apply_until_measures, plan
from discreet.plan.results.combination import combination
from discreet.plan.results.evaluate import find_ranked
from discreet.plan.results.explain import error_of
from discreet.plan.rules.mechanism import errors_at_price
from discreet.query.algebra import (
    Aggregate,
    Arithmetic,
    Expression,
    IntervalEnd,
    Output,
    Query,
    Statistic,
)
from discreet.rationals import Number, positive, whole
from discreet.schema.column import nearest

__all__ = [
    "COUNTED",
    "ask_count",
    "assume_count",
    "check_count",
    "count_behind",
    "price_for_error",
    "worth_reusing",
]

_COUNTABLE = (Statistic.ROWS, Statistic.UNITS, Statistic.VALUES, Statistic.SUM)
_MOST_ROWS = 10**18
_LEAST_ERROR = 1e-300
_LEVEL = Fraction(95, 100)
_UNLUCKY_INTERVALS = 4  # beyond its interval, where noise goes with a probability below 1e-11
COUNTED = "count behind"
"""The column of a bought count."""


def price_for_error(
    draft: Draft, error: Number | Mapping[str, Number], kind: type[Price], count: int | None
) -> Plan:
    """The cheapest plan whose 95% half-widths are at most the error, in every column named.

    Averages and variances need an assumed `count` of rows in a group. What only serves columns
    without a wanted error gets the mean price of the rest.
    """
    first = plan(draft)
    targets = _targets(first, error)
    wanted: dict[int | None, Fraction] = {}  # the error wanted of each measure by itself
    for output in first.query.outputs:
        if output.name in targets:
            place, factor = _find_single(first, output.expression)
            width = targets[output.name] / factor
            wanted[place] = min(width, wanted.get(place, width))
    if set(wanted) == set(range(len(first.prices))):
        prices = [cheapest(measure, wanted[at], kind) for at, measure in enumerate(first.measures)]
        return plan(replace(draft, price=tuple(prices)))
    _need_count(first, targets, count)
    shares = _shares(draft, first, targets, kind, count)

    def plan_at(price: Price) -> Plan:
        return plan(replace(draft, price=tuple(price.share(share) for share in shares)))

    def enough(price: Price) -> bool:
        reached = error_of(plan_at(price), count)
        return all(_within(reached[name], width) for name, width in targets.items())

    return plan_at(smallest_price(enough, kind))


def _shares(
    draft: Draft, first: Plan, targets: Mapping[str, Fraction], kind: type[Price], count: int | None
) -> list[Fraction]:
    """How the cheapest price is split, by the errors at equal parts of a price of 1."""
    errors, parts = errors_at_price(apply_until_measures(draft), kind)
    statistics: list[Expression] = [aggregate for aggregate, _ in first.estimators]
    known = list(errors.parts[: len(statistics)])
    for output in first.query.outputs:
        if output.name in targets and output.expression not in statistics:
            statistics.append(output.expression)
            known.append(_trace_parts(first, output.expression, errors))
    errors = Errors(known, errors.power)
    equal = kind.of(Fraction(1, parts))
    reached = error_of(plan(replace(draft, price=(equal,) * parts)), count)
    modelled = errors.of([1 / parts] * parts)
    wanted: dict[int, float] = {}
    for output in first.query.outputs:
        if output.name in targets:
            place = statistics.index(output.expression)
            if not errors.parts[place]:
                continue  # it is constant
            scale = modelled[place] / max(reached[output.name] or 0.0, _LEAST_ERROR)
            width = float(targets[output.name]) * scale
            wanted[place] = min(width, wanted.get(place, width))
    return for_targets(errors, parts, wanted) if wanted else [Fraction(1, parts)] * parts


def _find_single(first: Plan, expression: Expression) -> tuple[int | None, Fraction]:
    """The measure that a column is a multiple of, and the factor; None if it is no such column."""
    sums = combination(first, expression)
    if sums is None or sums.ratios or len(sums.measures) != 1:
        return None, Fraction(1)
    ((place, factor),) = sums.measures.items()
    return place, abs(factor) / first.measures[place].step


def _trace_parts(first: Plan, expression: Expression, errors: Errors) -> dict[int, float]:
    """What each part adds to the error of a column that is a sum of aggregates with factors."""
    sums = combination(first, expression)
    assert sums is not None  # what is no such sum has no error, and was refused
    shares = {
        place: float(abs(factor / first.measures[place].step)) * first.measures[place].size
        for place, factor in sums.measures.items()
    }
    statistics = [aggregate for aggregate, _ in first.estimators]
    for aggregate, factor in sums.ratios.items():
        for place, size in errors.parts[statistics.index(aggregate)].items():
            shares[place] = shares.get(place, 0.0) + float(abs(factor)) * size
    return shares


def count_behind(draft: Draft, error: Number | Mapping[str, Number]) -> Draft | None:
    """The question how many values stand behind an average whose error is wanted; None if no need.

    Its answer, paid for like any other, takes the place of the secret count.
    """
    first = plan(draft)
    targets, known = _targets(first, error), error_of(first)
    names = [output.name for output in first.query.outputs]
    unknown = [name for name in names if name in targets and known[name] is None]
    if not unknown:
        return None
    _need_count(first, targets, 1)  # what no count helps is refused before one is bought
    return ask_count(draft, unknown[0])


def assume_count(intervals: list[tuple[float, float]]) -> int:
    """The count to reckon with: the least low end among groups that are clearly not empty.

    Clearly: the noisy count is at least as long as its interval.
    >>> assume_count([(90.0, 110.0), (-12.0, 8.0)])
    90
    """
    clear = [int(low) for low, high in intervals if low + high >= 2 * (high - low)]
    return max(1, min(clear, default=1))


def worth_reusing(
    intervals: list[tuple[float, float]],
    wanted: Plan,
    planned: Plan,
    plan_at: Callable[[int], Plan],
) -> bool:
    """Whether a released count serves: no count that could be bought would make it cheaper.

    One that is as exact as the wanted one does. Else `planned`, the plan that reckons with it, must
    cost at most what the wanted count and the question would cost together if the groups were as
    large as the released count allows, even if its noise was far outside of its interval: one
    count in forty is too small by more than half of its interval.
    """
    width = wanted.noises[0].error(_LEVEL)
    if all(high - low <= 2 * width for low, high in intervals):
        return True
    largest = [high + _UNLUCKY_INTERVALS * (high - low) for low, high in intervals]
    hoped = assume_count([(count - width, count + width) for count in largest])
    plan_hoped = plan_at(min(hoped, _MOST_ROWS))
    return planned.cost.amount <= wanted.cost.amount + plan_hoped.cost.amount


def check_count(count: int | None) -> int | None:
    """A count of rows that an analyst assumes, if one is given."""
    return None if count is None else whole(count, "count", most=_MOST_ROWS)


def ask_count(draft: Draft, name: str) -> Draft:
    """The same question, asking only how many values the named column is made from."""
    query = draft.query
    average = _find_average(
        next(output.expression for output in query.outputs if output.name == name)
    )
    assert average is not None
    argument = average.argument
    if average.second is not None and argument is not None:
        argument = Arithmetic("*", argument, average.second)  # missing where either is
    counted = Output(COUNTED, Aggregate(Statistic.VALUES, argument))
    keys = tuple(key.name for key in query.keys)
    return replace(
        draft,
        query=Query(
            source=query.source,
            where=query.where,
            keys=query.keys,
            outputs=(counted,),
            columns=(*keys, COUNTED),
            options=query.options,
        ),
        counts_for=name,
    )


def _find_average(expression: Expression) -> Aggregate | None:
    """The first aggregate in a column whose error depends on a count."""
    match expression:
        case Arithmetic(_, left, right):
            return _find_average(left) or _find_average(right)
        case Aggregate(statistic) if statistic not in _COUNTABLE:
            return expression
    return None


def _within(reached: float | None, width: Fraction) -> bool:
    return reached is not None and reached <= width


def _targets(first: Plan, error: Number | Mapping[str, Number]) -> dict[str, Fraction]:
    names = [
        output.name
        for output in first.query.outputs
        if not isinstance(output.expression, IntervalEnd)
    ]
    if not isinstance(error, Mapping):
        return dict.fromkeys(names, positive(error, "error"))
    if not error:
        raise InvalidValue("error names no column; give at least one. Nothing was charged.")
    for name in error:
        if name not in names:
            raise InvalidValue(f"error names the column {name!r}. {nearest(name, names)}")
    return {name: positive(width, f"error of {name}") for name, width in error.items()}


def _need_count(first: Plan, targets: Mapping[str, Fraction], count: int | None) -> None:
    check_count(count)
    unknown = [name for name in targets if error_of(first, count)[name] is None]
    for output in first.query.outputs:
        if output.name in unknown and find_ranked(first, output.expression) is not None:
            raise UnprovableRequest(
                f"the rank of {output.name} cannot be promised: it is chosen from buckets of "
                "several values. Name a price instead, or ask for a quantile of coarser values, "
                "such as FLOOR(x/100). Nothing was run or charged."
            )
    if unknown and count is None:
        raise UnprovableRequest(
            f"the error of {unknown[0]} depends on a secret count of rows. Assume one "
            "with count=; the question asked without one buys a noisy count first. "
            "Nothing was run or charged."
        )
    if unknown:
        raise UnprovableRequest(
            f"the error of {unknown[0]} cannot be known in advance; name a price instead. "
            "Nothing was run or charged."
        )
