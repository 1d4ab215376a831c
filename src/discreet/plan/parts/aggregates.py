"""The aggregates of a question, wherever they stand. Knows expressions, never bounds or data."""

from collections.abc import Iterator

from discreet.query.algebra import (
    Aggregate,
    Arithmetic,
    Compare,
    Expression,
    Field,
    Junction,
    Member,
    Negation,
    Query,
    Statistic,
)

__all__ = ["aggregates_of", "ordering"]


def aggregates_of(expression: Expression) -> Iterator[Aggregate]:
    """Every aggregate in an expression over results, from left to right.

    >>> list(aggregates_of(Field("n")))
    []
    """
    match expression:
        case Aggregate():
            yield expression
        case Arithmetic(_, left, right) | Compare(_, left, right):
            yield from aggregates_of(left)
            yield from aggregates_of(right)
        case Junction(_, parts):
            for part in parts:
                yield from aggregates_of(part)
        case Negation(operand) | Member(operand, _):
            yield from aggregates_of(operand)


def ordering(query: Query) -> Aggregate | None:
    """The count by which the leading groups are asked for: ORDER BY it DESC LIMIT k, no HAVING."""
    if query.limit is None or query.having is not None or not query.keys or len(query.order) != 1:
        return None
    order = query.order[0]
    named = {output.name: output.expression for output in query.outputs}
    found = order.expression
    if isinstance(found, Field):
        found = named.get(found.name, found)
    if order.direction != "descending" or not isinstance(found, Aggregate):
        return None
    return found if found.statistic in (Statistic.ROWS, Statistic.UNITS) else None
