"""From a wanted error to the cheapest plan that reaches it."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.plan.draft import Draft, Plan, plan
from discreet.plan.evaluate import simple_measure
from discreet.plan.explain import error_of
from discreet.plan.price import Price, cheapest, smallest_price
from discreet.query.algebra import Aggregate, IntervalEnd, Output, Query, Statistic
from discreet.rationals import Number, positive
from discreet.schema.column import nearest

__all__ = ["COUNTED", "count_behind", "counting", "priced_for_error", "supposed_count"]

_MOST_ROWS = 10**18
COUNTED = "count behind"
"""The column of a bought count."""


def priced_for_error(
    draft: Draft, error: Number | Mapping[str, Number], kind: type[Price], count: int | None
) -> Plan:
    """The cheapest plan whose 95% half-widths are at most the error, in every column named.

    Counts and sums get the least price each. Averages and variances need a supposed `count` of
    rows in a group; then one price is split evenly, and the least that suffices is found.
    Privacy: none (touches no data).
    >>> priced_for_error.__name__
    'priced_for_error'
    """
    first = plan(draft)
    targets = _targets(first, error)
    places = {
        name: simple_measure(first, output.expression)
        for output in first.query.outputs
        if (name := output.name) in targets
    }
    if set(places.values()) == set(range(len(first.measures))):
        prices = []
        for place, measure in enumerate(first.measures):
            widths = [targets[name] for name, at in places.items() if at == place]
            prices.append(cheapest(measure, min(widths), kind))
        return plan(replace(draft, price=tuple(prices)))
    _need_count(first, targets, count)

    def enough(price: Price) -> bool:
        reached = error_of(plan(replace(draft, price=price)), count)
        return all(_within(reached[name], width) for name, width in targets.items())

    return plan(replace(draft, price=smallest_price(enough, kind)))


def count_behind(draft: Draft, error: Number | Mapping[str, Number]) -> Draft | None:
    """The question how many values stand behind an average whose error is wanted; None if no need.

    Its answer, paid for like any other, takes the place of the secret count.
    Privacy: none (touches no data).
    >>> count_behind.__name__
    'count_behind'
    """
    first = plan(draft)
    known = error_of(first)
    for output in first.query.outputs:
        wanted = output.name in _targets(first, error) and known[output.name] is None
        if wanted and isinstance(output.expression, Aggregate):
            return counting(draft, output.name)
    return None


def supposed_count(intervals: list[tuple[float, float]]) -> int:
    """The count to reckon with: the least low end among groups that are clearly not empty.

    Clearly: the noisy count is at least as long as its interval.
    Privacy: post-processing.
    >>> supposed_count([(90.0, 110.0), (-12.0, 8.0)])
    90
    """
    clear = [int(low) for low, high in intervals if low + high >= 2 * (high - low)]
    return max(1, min(clear, default=1))


def counting(draft: Draft, name: str) -> Draft:
    """The same question, asking only how many values the named column is made from.

    Privacy: none (touches no data).
    >>> counting.__name__
    'counting'
    """
    query = draft.query
    made = next(output.expression for output in query.outputs if output.name == name)
    assert isinstance(made, Aggregate)
    counted = Output(COUNTED, Aggregate(Statistic.VALUES, made.argument))
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
        behind=name,
    )


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
    given: object = count
    if given is not None and (
        isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= _MOST_ROWS
    ):
        raise InvalidValue(f"count is {count!r:.40}; it must be an integer from 1 to 10**18.")
    unknown = [name for name in targets if error_of(first, count)[name] is None]
    if unknown and count is None:
        raise UnprovableRequest(
            f"the error of {unknown[0]} depends on a secret count of rows. Suppose one "
            "(count=...); the question asked without one buys a noisy count first. "
            "Nothing was run or charged."
        )
    if unknown:
        raise UnprovableRequest(
            f"the error of {unknown[0]} cannot be known in advance; name a price instead. "
            "Nothing was run or charged."
        )
