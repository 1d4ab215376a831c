"""Windows over the rows of one unit as bounded integers: what the engine computes, and its bounds.
Knows bounds, never data.
"""

from dataclasses import replace
from fractions import Fraction

from discreet.errors import UnsafeQuery
from discreet.plan.sql.bounds import Bounded
from discreet.plan.sql.expressions import Scope, bounded
from discreet.query.algebra import Window

__all__ = ["window_value"]

_FRAMES = {
    "": "",
    "all": " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "rows": " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
}
_BY_PLACE = ("row_number", "lag", "lead", "first_value", "last_value")
_RANKS = ("row_number", "rank", "dense_rank")


def window_value(window: Window, scope: Scope, *, rows: int, ties: list[str]) -> Bounded:
    """What a row gets from the rows of its unit, of which there are at most `rows`.

    Where the place of single rows matters, `ties` complete the order, so that no engine's own
    order of rows can be seen; rows that are equal even then are equal in all columns.
    """
    value = _function(window, scope, rows)
    by_place = window.function in _BY_PLACE or window.frame == "rows"
    terms = [
        f"{bounded(term.expression, scope).sql} "
        f"{'DESC' if term.direction == 'descending' else 'ASC'} NULLS LAST"
        for term in window.order
    ]
    keys = ['"$unit"', *(bounded(key, scope).sql for key in window.partition)]
    order = ", ".join([*terms, *(ties if by_place else [])])
    over = f"PARTITION BY {', '.join(keys)}{f' ORDER BY {order}' if order else ''}"
    sql = f"CAST({value.sql} OVER ({over}{_FRAMES[window.frame]}) AS BIGINT)"
    return replace(value, sql=sql)


def _function(window: Window, scope: Scope, rows: int) -> Bounded:
    """The function without its rows. A frame holds the row itself, so it is never empty."""
    name, dialect = window.function.upper(), scope.dialect
    if window.function in _RANKS:
        return Bounded(f"{name}()", "number", Fraction(1), 1, rows, (), "never", dialect)
    if window.argument is None:
        return Bounded("COUNT(*)", "number", Fraction(1), 1, rows, (), "never", dialect)
    value = bounded(window.argument, scope)
    if value.kind in ("null", "text"):
        raise UnsafeQuery(
            f"{name} OVER of a category with private keys is not supported. Nothing was charged."
        )
    if window.function == "count":
        sql = f"COUNT({value.sql})"
        return Bounded(sql, "number", Fraction(1), 0, rows, (), "never", dialect)
    if window.function == "sum":
        low, high = min(value.lower, rows * value.lower), max(value.upper, rows * value.upper)
        return replace(value, sql=value.total, lower=low, upper=high)
    if window.function in ("lag", "lead"):
        return replace(value, sql=f"{name}({value.sql}, {window.offset})", missing="possible")
    return replace(value, sql=f"{name}({value.sql})")
