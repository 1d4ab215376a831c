"""How aggregates are read: which there are, what they take, and what kind of value they give.
Knows nothing of groups: an aggregate is the same over all rows and over one unit's.
"""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Aggregate, Arithmetic, Expression, Literal, Statistic
from discreet.query.readers.typed import (
    Kind,
    Scope,
    Typed,
    missing,
    only,
    refuse,
    where_in_text,
)
from discreet.query.readers.values import as_number

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["AGGREGATES", "Counted", "aggregate", "in_ranks", "is_aggregate", "spell_out"]

AGGREGATES: Mapping[str, Statistic] = MappingProxyType(
    {
        "Avg": Statistic.AVERAGE,
        "Corr": Statistic.CORRELATION,
        "Count": Statistic.VALUES,
        "CountIf": Statistic.VALUES,
        "CovarPop": Statistic.COVARIANCE_POPULATION,
        "CovarSamp": Statistic.COVARIANCE_SAMPLE,
        "Max": Statistic.MAXIMUM,
        "Median": Statistic.QUANTILE,
        "Min": Statistic.MINIMUM,
        "Mode": Statistic.MODE,
        "PercentileCont": Statistic.QUANTILE,
        "PercentileDisc": Statistic.QUANTILE,
        "Quantile": Statistic.QUANTILE,
        "RegrIntercept": Statistic.INTERCEPT,
        "RegrSlope": Statistic.SLOPE,
        "Stddev": Statistic.DEVIATION_SAMPLE,
        "StddevPop": Statistic.DEVIATION_POPULATION,
        "StddevSamp": Statistic.DEVIATION_SAMPLE,
        "Sum": Statistic.SUM,
        "Variance": Statistic.VARIANCE_SAMPLE,
        "VariancePop": Statistic.VARIANCE_POPULATION,
        "WithinGroup": Statistic.QUANTILE,
    }
)
"""The aggregates, by the name of their parsed class."""

_NAMED = ("QUANTILE_CONT", "QUANTILE_DISC")
_OF_TRUTHS = ("Avg", "Sum")
_PAIRS = ("Corr", "CovarPop", "CovarSamp", "RegrIntercept", "RegrSlope")
_RANKS = (Statistic.QUANTILE, Statistic.MINIMUM, Statistic.MAXIMUM, Statistic.MODE)
_ORDERED = (Kind.INTEGER, Kind.NUMBER, Kind.DATE, Kind.DATETIME)
_WRITE_QUANTILE = "Write QUANTILE_CONT(x, 0.25), for instance."


class Counted(Scope, Protocol):
    """Rows whose units can be counted."""

    def unit(self, node: "Expr") -> None:
        """Refuse anything but the unit column."""


def is_aggregate(node: "Expr") -> bool:
    """Whether a node is an aggregate, in any of its spellings.

    >>> import sqlglot
    >>> is_aggregate(sqlglot.parse_one("QUANTILE_CONT(x, 0.5)"))
    True
    """
    name = type(node).__name__
    if name == "Filter":
        return is_aggregate(node.this)
    return name in AGGREGATES or (name == "Anonymous" and str(node.this).upper() in _NAMED)


def spell_out(node: "Expr") -> "Expr":
    """The same aggregate with CASE in place of FILTER and COUNT_IF.

    >>> import sqlglot
    >>> spell_out(sqlglot.parse_one("SUM(a) FILTER (WHERE b > 1)")).sql()
    'SUM(CASE WHEN b > 1 THEN a END)'
    """
    from sqlglot import expressions as exp

    name = type(node).__name__
    if name == "CountIf":
        only(node, "this")
        return exp.Count(this=_when(node.this, exp.Literal.number(1)))
    if name != "Filter":
        return node
    only(node, "this", "expression")
    if type(node.expression).__name__ != "Where":
        raise refuse(node, "Write FILTER (WHERE x > 1).")
    only(node.expression, "this")
    inner, test = spell_out(node.this).copy(), node.expression.this
    kind = type(inner.this).__name__
    if kind == "Distinct":
        raise refuse(node, "Put the condition into WHERE, in a question of its own.")
    if type(inner).__name__ == "WithinGroup":
        for term in inner.find_all(exp.Ordered):
            term.set("this", _when(test, term.this))
    elif type(inner).__name__ == "Anonymous":
        first, *others = inner.expressions or [None]
        inner.set("expressions", [_when(test, first), *others])
    else:
        inner.set("this", _when(test, exp.Literal.number(1) if kind == "Star" else inner.this))
        if kind == "Star":
            inner.set("big_int", None)
    return inner


def _when(test: "Expr", value: "Expr | None") -> "Expr":
    from sqlglot import expressions as exp

    if value is None:
        raise missing()

    return exp.Case(ifs=[exp.If(this=test.copy(), true=value.copy())])


def in_ranks(expression: Expression) -> bool:
    """Whether an output holds an aggregate whose error is in ranks, so it has no interval.

    >>> in_ranks(Aggregate(Statistic.MODE, None)), in_ranks(Aggregate(Statistic.ROWS, None))
    (True, False)
    """
    match expression:
        case Aggregate(statistic):
            return statistic in _RANKS
        case Arithmetic(_, left, right):
            return in_ranks(left) or in_ranks(right)
    return False


def aggregate(node: "Expr", rows: Counted) -> Typed:
    """Read an aggregate over the rows."""
    node = spell_out(node)
    name = type(node).__name__
    if name == "Count":
        return Typed(_count(node, rows), Kind.INTEGER)
    if name in _PAIRS:
        return _pair(node, rows)
    if name in ("Min", "Max"):
        return _extreme(node, rows)
    if name == "Mode":
        only(node, "this")
        return _mode(node, rows.read(node.this))
    if name == "WithinGroup":
        return _within_group(node, rows)
    if AGGREGATES.get(name, Statistic.QUANTILE) is Statistic.QUANTILE:
        operand, share = _quantile_parts(node)
        return _quantile(node, rows.read(operand), _share(share, node, rows))
    only(node, "this")
    argument = rows.read(node.this)
    if argument.kind == Kind.BOOLEAN and name in _OF_TRUTHS:
        argument = as_number(argument, node)
    argument = _number(node, AGGREGATES[name], argument)
    return Typed(Aggregate(AGGREGATES[name], argument.expression), Kind.NUMBER)


def _count(node: "Expr", rows: Counted) -> Aggregate:
    only(node, "this", "big_int")
    argument = node.this
    if type(argument).__name__ == "Star":
        only(argument)
        return Aggregate(Statistic.ROWS, None)
    if type(argument).__name__ == "Distinct":
        only(argument, "expressions")
        if len(argument.expressions) != 1:
            raise refuse(argument)
        rows.unit(argument.expressions[0])
        return Aggregate(Statistic.UNITS, None)
    counted = rows.read(argument)
    if counted.kind == Kind.NULL:
        raise UnsafeQuery(f"COUNT(NULL){where_in_text(node)} is always 0. Write COUNT(*).")
    if counted.kind == Kind.OPEN:
        raise UnsafeQuery(
            f"COUNT{where_in_text(node)} of {counted.kind.described} is not supported. "
            "Write COUNT(*) with WHERE x IS NOT NULL."
        )
    if counted.is_constant:
        return Aggregate(Statistic.ROWS, None)
    return Aggregate(Statistic.VALUES, counted.expression)


def _number(node: "Expr", statistic: Statistic, argument: Typed) -> Typed:
    if argument.kind.is_number:
        return argument
    example = "COUNT(*) with WHERE, or SUM(CASE WHEN ... THEN 1 ELSE 0 END)"
    raise UnsafeQuery(
        f"{statistic.upper()}{where_in_text(node)} needs a number, "
        f"not {argument.kind.described}. Write {example}."
    )


def _pair(node: "Expr", rows: Counted) -> Typed:
    only(node, "this", "expression")
    statistic = AGGREGATES[type(node).__name__]
    first = _number(node, statistic, rows.read(node.this))
    second = _number(node, statistic, rows.read(node.args.get("expression")))
    if first.is_constant or second.is_constant:
        raise _refuse_constant(node, statistic)
    return Typed(Aggregate(statistic, first.expression, second.expression), Kind.NUMBER)


def _refuse_constant(node: "Expr", statistic: Statistic) -> UnsafeQuery:
    return UnsafeQuery(
        f"{statistic.upper()} of a constant{where_in_text(node)} says nothing about the rows. "
        "Name a column."
    )


def _require_order(node: "Expr", statistic: Statistic, argument: Typed) -> Typed:
    if argument.kind not in _ORDERED:
        raise UnsafeQuery(
            f"{statistic.upper()}{where_in_text(node)} needs a number or a date, not "
            f"{argument.kind.described}. Write MODE(x), or GROUP BY the column."
        )
    if argument.is_constant:
        raise _refuse_constant(node, statistic)
    return argument


def _extreme(node: "Expr", rows: Counted) -> Typed:
    statistic = AGGREGATES[type(node).__name__]
    if node.args.get("expressions"):
        other = "LEAST" if statistic is Statistic.MINIMUM else "GREATEST"
        raise refuse(node, f"It takes one column; write {other}(x, y) for the values of a row.")
    only(node, "this")
    argument = _require_order(node, statistic, rows.read(node.this))
    return Typed(Aggregate(statistic, argument.expression), argument.kind)


def _mode(node: "Expr", argument: Typed) -> Typed:
    if argument.kind == Kind.OPEN:
        raise UnsafeQuery(
            f"MODE{where_in_text(node)} of {argument.kind.described} is not supported. "
            "GROUP BY the column with ORDER BY COUNT(*) DESC LIMIT 1."
        )
    if argument.kind not in (Kind.TEXT, Kind.BOOLEAN, Kind.INTEGER):
        raise UnsafeQuery(
            f"MODE{where_in_text(node)} needs a category, a boolean or an integer, not "
            f"{argument.kind.described}. Write MODE(FLOOR(x)), or GROUP BY and ORDER BY COUNT(*)."
        )
    if argument.is_constant:
        raise _refuse_constant(node, Statistic.MODE)
    return Typed(Aggregate(Statistic.MODE, argument.expression), argument.kind, argument.keys)


def _quantile_parts(node: "Expr") -> tuple["Expr | None", "Expr | None"]:
    name = type(node).__name__
    if name == "Median":
        only(node, "this")
        return node.this, None
    if name == "Quantile":
        only(node, "this", "quantile")
        parts = [node.this, node.args.get("quantile")]
    elif name == "Anonymous":
        only(node, "this", "expressions")
        parts = list(node.args.get("expressions") or [])
    else:
        only(node, "this", "expression")
        parts = [node.this, node.args.get("expression")]
    if len(parts) != 2 or None in parts:
        raise refuse(node, _WRITE_QUANTILE)
    return parts[0], parts[1]


def _share(node: "Expr | None", whole: "Expr", rows: Counted) -> Fraction:
    if node is None:
        return Fraction(1, 2)
    constant = rows.read(node).expression
    share = constant.value if isinstance(constant, Literal) else None
    if not isinstance(share, Fraction) or not 0 <= share <= 1:
        raise UnsafeQuery(
            f"a quantile{where_in_text(whole)} needs a constant between 0 and 1. {_WRITE_QUANTILE}"
        )
    return share


def _quantile(node: "Expr", argument: Typed, share: Fraction) -> Typed:
    operand = _require_order(node, Statistic.QUANTILE, argument)
    kind = Kind.NUMBER if operand.kind.is_number else operand.kind
    return Typed(Aggregate(Statistic.QUANTILE, operand.expression, fraction=share), kind)


def _within_group(node: "Expr", rows: Counted) -> Typed:
    only(node, "this", "expression")
    function, order = node.this, node.args.get("expression")
    hint = "Write PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x)."
    if order is None or type(order).__name__ != "Order" or len(order.expressions) != 1:
        raise refuse(node, hint)
    only(order, "expressions")
    (term,) = order.expressions
    if type(term).__name__ != "Ordered":
        raise refuse(node, hint)
    only(term, "this", "desc", "nulls_first")
    argument = rows.read(term.this)
    if type(function).__name__ == "Mode":
        only(function)
        return _mode(node, argument)
    if type(function).__name__ not in ("PercentileCont", "PercentileDisc"):
        raise refuse(node, hint)
    only(function, "this")
    if function.this is None:
        raise refuse(node, hint)
    share = _share(function.this, node, rows)
    return _quantile(node, argument, 1 - share if term.args.get("desc") else share)
