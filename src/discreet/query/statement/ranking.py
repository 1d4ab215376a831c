"""ORDER BY and LIMIT, and how they and HAVING name the columns of the noisy result.
All of it is post-processing: nothing here adds to what a question costs but its aggregates.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import (
    Arithmetic,
    Compare,
    Expression,
    Field,
    Junction,
    Literal,
    Member,
    Negation,
    Order,
)
from discreet.query.readers.typed import only, refuse, where_in_text
from discreet.query.statement.scopes import Results

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["limit", "ordinal", "read_order", "shorten"]

_MOST_ROWS = 10**9


def ordinal(node: "Expr", size: int) -> int | None:
    """The place in a list of that size which a bare number in ORDER BY or GROUP BY means.

    >>> import sqlglot
    >>> ordinal(sqlglot.parse_one("2"), 3), ordinal(sqlglot.parse_one("a"), 3)
    (1, None)
    """
    if type(node).__name__ != "Literal" or node.args.get("is_string"):
        return None
    text = str(node.this)
    if text.isascii() and text.isdigit() and 1 <= int(text) <= size:
        return int(text) - 1
    raise UnsafeQuery(
        f"the position {text[:60]}{where_in_text(node)} is not in the SELECT list of {size}."
    )


def shorten(expression: Expression, names: Mapping[Expression, str]) -> Expression:
    """The same with every part that is an output written as its name.

    >>> from discreet.query.algebra import Aggregate, Statistic
    >>> rows = Aggregate(Statistic.ROWS, None)
    >>> shorten(rows, {rows: "n"})
    Field(name='n')
    """
    if expression in names:
        return Field(names[expression])
    match expression:
        case Arithmetic(operator, left, right) | Compare(operator, left, right):
            return type(expression)(operator, shorten(left, names), shorten(right, names))
        case Junction(operator, parts):
            return Junction(operator, tuple(shorten(part, names) for part in parts))
        case Negation(operand):
            return Negation(shorten(operand, names))
        case Member(operand, values):
            return Member(shorten(operand, names), values)
    return expression


def read_order(
    order: "Expr | None",
    columns: tuple[str, ...],
    results: Results,
    names: Mapping[Expression, str],
) -> tuple[Order, ...]:
    """The ORDER BY terms over the noisy result."""
    if order is None:
        return ()
    only(order, "expressions")
    terms: dict[Expression, Order] = {}
    for node in order.expressions:
        if type(node).__name__ != "Ordered":
            raise refuse(node)
        only(node, "this", "desc", "nulls_first")
        place = ordinal(node.this, len(columns))
        expression: Expression
        if place is not None:
            expression = Field(columns[place])
        else:
            expression = shorten(results.read(node.this).expression, names)
        if isinstance(expression, Literal):
            raise UnsafeQuery(
                f"ORDER BY a constant{where_in_text(node)} orders nothing. Leave it out."
            )
        direction = "descending" if node.args.get("desc") else "ascending"
        terms.setdefault(expression, Order(expression, direction))
    return tuple(terms.values())


def limit(node: "Expr | None") -> int | None:
    """The number of result rows to keep.

    >>> import sqlglot
    >>> limit(sqlglot.parse_one("SELECT 1 LIMIT 3").args["limit"])
    3
    """
    if node is None:
        return None
    if type(node).__name__ != "Limit":
        raise refuse(node, "Write LIMIT 10, for instance.")
    only(node, "expression")
    count = node.expression
    text = str(count.this) if type(count).__name__ == "Literal" else ""
    if count.args.get("is_string") or not text.isdigit() or not 1 <= int(text) <= _MOST_ROWS:
        raise UnsafeQuery(f"LIMIT needs an integer from 1 to {_MOST_ROWS}, written out.")
    return int(text)
