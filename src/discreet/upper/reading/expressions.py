"""Expressions of an outer query, read from a parsed tree: every class of node that may stand there
is listed, with the parts it may have; all others are refused by name.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.readers.typed import missing, only, refuse, where_in_text
from discreet.schema.column import nearest
from discreet.upper.reading.functions import AGGREGATES, RANKED, SCALARS, WINDOWS, spell
from discreet.upper.tree import (
    Apply,
    Ask,
    Branches,
    Column,
    Convert,
    Expression,
    Frame,
    Inside,
    Literal,
    Number,
    Operate,
    Over,
    Part,
    Query,
    Sort,
    Star,
    Text,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["KINDS", "Reader", "read_name", "read_order"]

ReadQuery = Callable[["Expr"], Query]
"""How a query inside an expression is read."""

Windows = Mapping[str, "Expr"]
"""The named windows of the SELECT in which an expression stands."""

_BINARY = MappingProxyType(
    {
        "Add": "+", "And": "AND", "DPipe": "||", "Div": "/", "EQ": "=", "GT": ">", "GTE": ">=",
        "IntDiv": "//", "LT": "<", "LTE": "<=", "Mod": "%", "Mul": "*", "NEQ": "<>",
        "NullSafeEQ": "IS NOT DISTINCT FROM", "NullSafeNEQ": "IS DISTINCT FROM", "Or": "OR",
        "Sub": "-",
    }
)  # fmt: skip
_PATTERNS = MappingProxyType({"ILike": "ILIKE", "Like": "LIKE"})
_TYPES = MappingProxyType(
    {
        "BIGINT": "BIGINT", "BOOLEAN": "BOOLEAN", "CHAR": "VARCHAR", "DATE": "DATE",
        "DATETIME": "TIMESTAMP", "DECIMAL": "DOUBLE", "DOUBLE": "DOUBLE", "FLOAT": "DOUBLE",
        "INT": "INTEGER", "INTERVAL": "INTERVAL", "NVARCHAR": "VARCHAR", "SMALLINT": "SMALLINT",
        "TEXT": "VARCHAR", "TIMESTAMP": "TIMESTAMP", "TINYINT": "TINYINT", "VARCHAR": "VARCHAR",
    }
)  # fmt: skip
_UNITS = frozenset(["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"])
_PARTS = frozenset(
    [
        "YEAR",
        "QUARTER",
        "MONTH",
        "WEEK",
        "DAY",
        "HOUR",
        "MINUTE",
        "SECOND",
        "DOW",
        "DOY",
        "ISODOW",
        "ISOYEAR",
        "EPOCH",
        "DECADE",
        "CENTURY",
        "DAYOFWEEK",
        "DAYOFYEAR",
    ]
)
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_ENDS = frozenset(("UNBOUNDED", "CURRENT ROW"))


class Reader:
    """Reads the expressions of one SELECT: `query` reads those inside, `windows` are its own."""

    __slots__ = ("_query", "_windows")

    def __init__(self, query: ReadQuery, windows: Windows = MappingProxyType({})) -> None:
        self._query = query
        self._windows = windows

    def read(self, node: "Expr | None") -> Expression:
        """The expression of a node, or its refusal."""
        if node is None:
            raise missing()
        kind = type(node).__name__
        if kind in _BINARY:
            only(node, "this", "expression", *(("safe",) if kind == "DPipe" else ()))
            return Operate(_BINARY[kind], (self.read(node.this), self.read(node.expression)))
        reader = _READERS.get(kind)
        if reader is None:
            raise refuse(node)
        return reader(self, node)

    def list(self, nodes: "list[Expr]") -> tuple[Expression, ...]:
        """The expressions of several nodes."""
        return tuple(map(self.read, nodes))

    def query(self, node: "Expr") -> Query:
        """The query inside an expression."""
        return self._query(node)

    def window(self, name: str, node: "Expr") -> "Expr":
        """The definition of a window with a name."""
        if name.casefold() not in self._windows:
            raise UnsafeQuery(f"there is no window {name[:60]!r}{where_in_text(node)}.")
        return self._windows[name.casefold()]


def read_name(node: object) -> str:
    """The name that an identifier is."""
    if type(node).__name__ != "Identifier":
        raise UnsafeQuery("a name is missing. Check commas and parentheses.")
    name = str(node.this)  # type: ignore[attr-defined]
    if name.startswith("$"):
        raise UnsafeQuery(f"the name {name[:60]!r} begins with $. Choose another.")
    return name


def read_order(reader: Reader, order: "Expr | None") -> tuple[Sort, ...]:
    """The terms of ORDER BY."""
    if order is None:
        return ()
    only(order, "expressions")
    terms = []
    for node in order.expressions:
        if type(node).__name__ != "Ordered":
            raise refuse(node)
        only(node, "this", "desc", "nulls_first")
        direction = "DESC" if node.args.get("desc") else "ASC"
        nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
        every = len(order.expressions) == 1 and _is_all(node.this)
        terms.append(Sort(Literal("ALL") if every else reader.read(node.this), direction, nulls))
    return tuple(terms)


def _is_all(node: "Expr") -> bool:
    """Whether a term of ORDER BY is the word ALL."""
    if type(node).__name__ != "Column" or node.args.get("table") is not None:
        return False
    name = node.this
    return not name.args.get("quoted") and str(name.this).upper() == "ALL"


def _read_column(_: Reader, node: "Expr") -> Expression:
    only(node, "this", "table")
    table = node.args.get("table")
    named = "" if table is None else read_name(table)
    if type(node.this).__name__ == "Star":
        return Star(named, _read_left_out(node.this))
    return Column(read_name(node.this), named)


def _read_star(_: Reader, node: "Expr") -> Expression:
    return Star("", _read_left_out(node))


def _read_left_out(node: "Expr") -> tuple[str, ...]:
    only(node, "except_")
    return tuple(read_name(getattr(name, "this", None)) for name in node.args.get("except_") or [])


def _read_literal(_: Reader, node: "Expr") -> Expression:
    digits = str(node.this)
    if node.args.get("is_string"):
        return Text(digits)
    if not _NUMBER.fullmatch(digits):
        raise UnsafeQuery(f"{digits[:60]!r}{where_in_text(node)} is not a decimal number.")
    return Number(digits)


def _read_boolean(_: Reader, node: "Expr") -> Expression:
    return Literal("TRUE" if node.this else "FALSE")


def _read_null(_: Reader, __: "Expr") -> Expression:
    return Literal("NULL")


def _read_paren(reader: Reader, node: "Expr") -> Expression:
    only(node, "this")
    return reader.read(node.this)


def _read_negative(reader: Reader, node: "Expr") -> Expression:
    only(node, "this")
    return Operate("NEGATE", (reader.read(node.this),))


def _read_not(reader: Reader, node: "Expr") -> Expression:
    only(node, "this")
    return Operate("NOT", (reader.read(node.this),))


def _read_is(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "expression")
    tested, kind = reader.read(node.this), type(node.expression).__name__
    if kind == "Null":
        return Operate("IS NULL", (tested,))
    if kind == "Boolean":
        return Operate("IS TRUE" if node.expression.this else "IS FALSE", (tested,))
    raise refuse(node)


def _read_pattern(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "expression", "negate")
    parts = reader.read(node.this), reader.read(node.expression)
    matched = Operate(_PATTERNS[type(node).__name__], parts)
    return Operate("NOT", (matched,)) if node.args.get("negate") else matched


def _read_between(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "low", "high")
    value = reader.read(node.this)
    low, high = (reader.read(node.args.get(side)) for side in ("low", "high"))
    return Operate("AND", (Operate(">=", (value, low)), Operate("<=", (value, high))))


def _read_in(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "expressions", "query")
    inner = node.args.get("query")
    if inner is not None:
        query = inner.this if type(inner).__name__ == "Subquery" else inner
        return Inside(reader.read(node.this), reader.query(query))
    return Inside(reader.read(node.this), reader.list(node.expressions))


def _read_exists(reader: Reader, node: "Expr") -> Expression:
    only(node, "this")
    return Ask("EXISTS", reader.query(node.this))


def _read_subquery(reader: Reader, node: "Expr") -> Expression:
    only(node, "this")
    return Ask("", reader.query(node.this))


def _read_case(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "ifs", "default")
    arms = []
    for arm in node.args.get("ifs") or []:
        only(arm, "this", "true")
        arms.append((reader.read(arm.this), reader.read(arm.args.get("true"))))
    tested, default = node.args.get("this"), node.args.get("default")
    return Branches(
        None if tested is None else reader.read(tested),
        tuple(arms),
        None if default is None else reader.read(default),
    )


def _read_cast(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "to", "safe")
    to = node.args.get("to")
    written = "" if to is None else str(getattr(to.this, "name", to.this))
    if to is None or to.args.get("nested") or written not in _TYPES:
        raise UnsafeQuery(
            f"CAST to {written[:60] or 'this type'}{where_in_text(node)} is not supported here. "
            f"Cast to {', '.join(sorted(set(_TYPES.values())))}."
        )
    kind = _TYPES[written]
    if written == "DECIMAL" and to.expressions:
        kind = f"DECIMAL({', '.join(str(_small(size.this)) for size in to.expressions)})"
    word = "TRY_CAST" if type(node).__name__ == "TryCast" else "CAST"
    return Convert(word, reader.read(node.this), kind)


def _small(node: "Expr") -> int:
    text = str(getattr(node, "this", ""))
    if not text.isascii() or not text.isdigit() or len(text) > 2:
        raise UnsafeQuery("a size of a type must be a number below 100.")
    return int(text)


def _read_interval(_: Reader, node: "Expr") -> Expression:
    only(node, "this", "unit")
    unit, amount = node.args.get("unit"), node.this
    name = str(getattr(unit, "this", unit) or "").upper().removesuffix("S")
    kind = type(amount).__name__
    digits = str(amount.this) if kind == "Literal" else ""
    if name not in _UNITS or not digits.lstrip("-").isdigit() or len(digits) > 9:
        raise UnsafeQuery(
            f"this INTERVAL{where_in_text(node)} is not supported. Write INTERVAL 3 MONTH, with "
            f"a number and one of {', '.join(sorted(_UNITS))}."
        )
    return Literal("INTERVAL", f"{int(digits)} {name}")


def _read_extract(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "expression")
    part = str(getattr(node.this, "name", node.this)).upper()
    if part not in _PARTS:
        raise UnsafeQuery(
            f"EXTRACT({part[:60]}){where_in_text(node)} is not supported. "
            f"{nearest(part[:60], sorted(_PARTS))}"
        )
    return Part(part, reader.read(node.args.get("expression")))


def _read_trim(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "expression", "position")
    side = str(node.args.get("position") or "").upper()
    name = {"": "TRIM", "BOTH": "TRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(side, "TRIM")
    arguments = [node.this, node.args["expression"]] if node.args.get("expression") else [node.this]
    return Apply(name, reader.list(arguments))


def _read_substring(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "start", "length")
    parts = [node.this, *(node.args[name] for name in ("start", "length") if node.args.get(name))]
    return Apply("SUBSTRING", reader.list(parts))


def _read_position(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "substr")
    return Apply("STRPOS", reader.list([node.this, node.args["substr"]]))


def _read_call(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "expressions")
    name, arguments = spell(str(node.this)), list(node.expressions)
    if name not in SCALARS and name not in AGGREGATES:
        raise _refuse_function(node, str(node.this))
    return _call(reader, name, arguments, node)


def _refuse_function(node: "Expr", written: str) -> UnsafeQuery:
    name = written[:60].upper()
    if spell(name) in WINDOWS:
        return UnsafeQuery(f"{name}(){where_in_text(node)} needs OVER. Write {name}() OVER (...).")
    if name in RANKED:
        return UnsafeQuery(
            f"{name}(){where_in_text(node)} needs WITHIN GROUP. Write {name}(0.5) WITHIN GROUP "
            "(ORDER BY x)."
        )
    known = nearest(name, sorted(SCALARS | AGGREGATES | WINDOWS))
    return UnsafeQuery(
        f"{name}(){where_in_text(node)} is not supported above released numbers. {known}"
    )


def _call(reader: Reader, name: str, arguments: "list[Expr]", node: "Expr") -> Apply:
    """A call, with DISTINCT and an order among its arguments taken apart."""
    if name == "AGE" and len(arguments) != 2:
        raise UnsafeQuery(f"AGE{where_in_text(node)} takes two dates. Write AGE(later, earlier).")
    distinct, nulls = False, ""
    within: tuple[Sort, ...] = ()
    if arguments and type(arguments[0]).__name__ == "Distinct" and name in AGGREGATES:
        only(arguments[0], "expressions")
        distinct, arguments = True, [*arguments[0].expressions, *arguments[1:]]
    if arguments and type(arguments[-1]).__name__ == "Order" and name in AGGREGATES:
        only(arguments[-1], "this", "expressions")
        within = _terms(reader, arguments[-1].expressions)
        arguments = [*arguments[:-1], arguments[-1].this]
    if len(arguments) >= 1 and type(arguments[0]).__name__ in ("IgnoreNulls", "RespectNulls"):
        only(arguments[0], "this")
        nulls = "IGNORE" if type(arguments[0]).__name__ == "IgnoreNulls" else "RESPECT"
        arguments = [arguments[0].this, *arguments[1:]]
    if name == "COUNT" and len(arguments) == 1 and type(arguments[0]).__name__ == "Star":
        only(arguments[0])
        return Apply(name, (), distinct)
    return Apply(name, reader.list(arguments), distinct, within, nulls=nulls)


def _terms(reader: Reader, nodes: "list[Expr]") -> tuple[Sort, ...]:
    terms = []
    for node in nodes:
        only(node, "this", "desc", "nulls_first")
        direction = "DESC" if node.args.get("desc") else "ASC"
        nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
        terms.append(Sort(reader.read(node.this), direction, nulls))
    return tuple(terms)


def _read_filter(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "expression")
    applied, clause = reader.read(node.this), node.expression
    if not isinstance(applied, Apply) or applied.function not in AGGREGATES:
        raise refuse(node)
    only(clause, "this")
    return _with(applied, where=reader.read(clause.this))


def _read_within(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "expression")
    called = node.this
    if type(called).__name__ != "Anonymous" or str(called.this).upper() not in RANKED:
        raise refuse(node)
    only(called, "this", "expressions")
    within = read_order(reader, node.expression)
    return Apply(str(called.this).upper(), reader.list(called.expressions), within=within)


def _read_window(reader: Reader, node: "Expr") -> Expression:
    only(node, "this", "partition_by", "order", "spec", "alias", "over")
    called, nulls = node.this, ""
    if type(called).__name__ in ("IgnoreNulls", "RespectNulls"):
        only(called, "this")
        nulls = "IGNORE" if type(called).__name__ == "IgnoreNulls" else "RESPECT"
        called = called.this
    name = spell(str(called.this)) if type(called).__name__ == "Anonymous" else ""
    if name in WINDOWS:
        only(called, "this", "expressions")
        applied: Expression = _call(reader, name, list(called.expressions), called)
    else:
        applied = reader.read(called)
    if not isinstance(applied, Apply) or applied.function not in WINDOWS | AGGREGATES:
        raise refuse(node)
    alias = node.args.get("alias")
    over = _read_over(reader, node if alias is None else reader.window(read_name(alias), node))
    return _with(applied, nulls=nulls or applied.nulls, over=over)


def _with(applied: Apply, **changes: object) -> Apply:
    from dataclasses import replace

    return replace(applied, **changes)  # type: ignore[arg-type]


def _read_over(reader: Reader, node: "Expr") -> Over:
    only(node, "this", "partition_by", "order", "spec", "over")
    frame, spec = None, node.args.get("spec")
    if spec is not None:
        only(spec, "kind", "start", "start_side", "end", "end_side")
        kind = str(spec.args.get("kind") or "").upper()
        if kind not in ("ROWS", "RANGE", "GROUPS"):
            raise refuse(spec)
        start = _read_end(spec.args.get("start"), spec.args.get("start_side"), node)
        end = spec.args.get("end")
        ending = "CURRENT ROW" if end is None else _read_end(end, spec.args.get("end_side"), node)
        frame = Frame(kind, start, ending)
    partition = reader.list(node.args.get("partition_by") or [])
    return Over(partition, read_order(reader, node.args.get("order")), frame)


def _read_end(end: object, side: object, node: "Expr") -> str:
    word = end.upper() if isinstance(end, str) else str(getattr(end, "this", ""))
    direction = str(side or "").upper()
    if word == "CURRENT ROW":
        return word
    counted = word == "UNBOUNDED" or (word.isascii() and word.isdigit() and len(word) < 10)
    if not counted or direction not in ("PRECEDING", "FOLLOWING"):
        raise UnsafeQuery(
            f"the frame of a window{where_in_text(node)} begins and ends with UNBOUNDED, CURRENT "
            "ROW or a number of rows."
        )
    return f"{word} {direction}"


_READERS: Mapping[str, Callable[[Reader, "Expr"], Expression]] = MappingProxyType(
    {
        "Anonymous": _read_call,
        "Between": _read_between,
        "Boolean": _read_boolean,
        "Case": _read_case,
        "Cast": _read_cast,
        "Column": _read_column,
        "Exists": _read_exists,
        "Extract": _read_extract,
        "Filter": _read_filter,
        "ILike": _read_pattern,
        "In": _read_in,
        "Interval": _read_interval,
        "Is": _read_is,
        "Like": _read_pattern,
        "Literal": _read_literal,
        "Neg": _read_negative,
        "Not": _read_not,
        "Null": _read_null,
        "Paren": _read_paren,
        "Star": _read_star,
        "StrPosition": _read_position,
        "Subquery": _read_subquery,
        "Substring": _read_substring,
        "Trim": _read_trim,
        "TryCast": _read_cast,
        "Window": _read_window,
        "WithinGroup": _read_within,
    }
)

KINDS = (*_BINARY, *_READERS)
"""Every class of node that may stand in an expression."""
