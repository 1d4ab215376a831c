"""Parts and starts of periods as bounded integers: of a date by the engine's calendar, of a time of
day by arithmetic alone. Knows bounds, never data.
"""

from dataclasses import replace
from fractions import Fraction

from discreet.errors import UnsafeQuery, with_article
from discreet.plan.sql import calendar
from discreet.plan.sql.bounds import Bounded, cast, floor_value
from discreet.query.algebra import DatePart, DateTrunc

__all__ = ["period"]

_DAY = 86_400


def period(expression: DatePart | DateTrunc, value: Bounded) -> Bounded:
    """A part of a date or datetime, or the start of a period of it.

    >>> from discreet.query.algebra import Field
    >>> seen = Bounded('"t"', "datetime", Fraction(3600), 0, 48, (), "never")
    >>> period(DateTrunc("day", Field("t")), seen).upper
    2
    """
    name = expression.part if isinstance(expression, DatePart) else expression.unit
    if name in calendar.CLOCK:
        return _clock(expression, value)
    if value.kind == "datetime":
        value = replace(_count_periods(value, _DAY), kind="date")
    if value.kind != "date":
        raise UnsafeQuery(
            f"a date is needed here, not {with_article(value.kind)}. Nothing was charged."
        )
    if isinstance(expression, DatePart):
        low, high = calendar.part_bounds(expression.part, value.lower, value.upper)
        sql = value.dialect.date_part(expression.part, value.sql)
        return replace(value, sql=sql, kind="number", lower=low, upper=high)
    low, high = (calendar.truncate(expression.unit, k) for k in (value.lower, value.upper))
    sql = value.dialect.date_start(expression.unit, value.sql)
    return replace(value, sql=sql, lower=low, upper=high)


def _count_periods(value: Bounded, seconds: int) -> Bounded:
    """How many whole periods of so many seconds lie between 1970 and a datetime."""
    return floor_value(replace(value, kind="number", step=value.step / seconds))


def _clock(expression: DatePart | DateTrunc, value: Bounded) -> Bounded:
    if value.kind != "datetime":
        raise UnsafeQuery(
            f"a datetime is needed here, not {with_article(value.kind)}. Nothing was charged."
        )
    if isinstance(expression, DateTrunc):
        seconds, _ = calendar.CLOCK[expression.unit]
        if value.step % seconds == 0:  # nothing to cut off
            return value
        return replace(_count_periods(value, seconds), kind="datetime", step=Fraction(seconds))
    seconds, cycle = calendar.CLOCK[expression.part]
    passed = _count_periods(value, seconds)
    low, high = passed.lower % cycle, passed.upper % cycle
    start = passed.lower - low  # of a whole turn: the dividend is never negative
    if passed.upper - start >= cycle:
        low, high = 0, cycle - 1
    reach = max(passed.reach, abs(start), passed.upper - start)
    sql = f"(({cast(reach, passed.sql, passed.dialect)} - {start}) % {cycle})"
    return replace(passed, sql=sql, lower=low, upper=high)
