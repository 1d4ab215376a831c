"""Windows over the rows of one unit: the first visit, the one before, a running sum.
PARTITION BY always holds the unit, so what a row gets depends on the rows of that person alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Compare, Expression, Field, Literal, Order, Window, Windowed
from discreet.query.readers.naming import free_name
from discreet.query.readers.typed import Kind, Typed, only, refuse, where_in_text
from discreet.query.statement.scopes import Rows, bare_name
from discreet.schema.names import sql_name

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

    from discreet.query.statement.select import Item

__all__ = ["Windows", "read_firsts", "read_windows", "settle_aliases"]

_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "Count": "count",
        "DenseRank": "dense_rank",
        "FirstValue": "first_value",
        "Lag": "lag",
        "LastValue": "last_value",
        "Lead": "lead",
        "Max": "max",
        "Min": "min",
        "Rank": "rank",
        "RowNumber": "row_number",
        "Sum": "sum",
    }
)
_RANKS = ("row_number", "rank", "dense_rank")
_TOTALS = ("count", "sum", "min", "max")
_MOVED = ("lag", "lead")
_ORDERED = (Kind.INTEGER, Kind.NUMBER, Kind.DATE, Kind.DATETIME)
_FARTHEST = 1_000_000
_LISTED = (
    "ROW_NUMBER, RANK, DENSE_RANK, LAG, LEAD, FIRST_VALUE, LAST_VALUE, COUNT, SUM, MIN and MAX"
)
_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


@dataclass(slots=True)
class Windows:
    """The windows of a subquery, each once, under names that its source does not have."""

    rows: Rows
    settled: dict[int, Typed] = field(default_factory=dict)
    named: dict[Window, str] = field(default_factory=dict)

    def add(self, node: "Expr") -> None:
        """Read a window, whose node stands for a column from here on."""
        window, kind, keys = _read(node, self.rows)
        self.settled[id(node)] = Typed(Field(self.name(window)), kind, keys)

    def name(self, window: Window) -> str:
        """The name of a window's column."""
        if window not in self.named:
            taken = [*self.rows.relation.spellings, *self.named.values()]
            self.named[window] = free_name(window.function, taken)
        return self.named[window]

    def apply(self, where: Expression | None) -> Rows:
        """The rows that pass a condition, with the windows over them."""
        columns = tuple((name, window) for window, name in self.named.items())
        relation = self.rows.relation
        source = Windowed(relation.source, where, columns)
        return Rows(replace(relation, source=source), {**self.rows.settled, **self.settled})


def read_windows(select: "Expr", listed: "Iterable[Item]", rows: Rows) -> Windows:
    """The windows of the SELECT list, of QUALIFY and of DISTINCT ON.

    >>> import sqlglot
    >>> from discreet.query.statement.relations import Relation
    >>> from discreet.query.statement.select import items
    >>> from discreet.schema import Table
    >>> select = sqlglot.parse_one("SELECT COUNT(*) OVER (PARTITION BY id) AS n FROM t")
    >>> rows = Rows(Relation.of(Table("t", unit="id"), "t"))
    >>> [window.frame for window in read_windows(select, items(select.expressions), rows).named]
    ['all']
    """
    windows = Windows(rows)
    for item in listed:
        for node in _windows(item.node):
            windows.add(node)
    qualify = select.args.get("qualify")
    for node in () if qualify is None else _windows(qualify):
        windows.add(node)
    return windows


def _windows(node: "Expr") -> Iterator["Expr"]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if type(current).__name__ == "Window":
            yield current
        else:
            waiting += reversed(list(current.iter_expressions()))


def _read(node: "Expr", rows: Rows) -> tuple[Window, Kind, tuple[str, ...]]:
    only(node, "this", "partition_by", "order", "spec", "over")
    function = _FUNCTIONS.get(type(node.this).__name__)
    if function is None:
        raise refuse(node.this, f"Over the rows of one unit there are {_LISTED}.")
    what = f"{function.upper()} OVER{where_in_text(node)}"
    partition = _read_partition(node.args.get("partition_by") or [], rows, what)
    order = _read_terms(node.args.get("order"), rows, what, partition)
    typed, offset = _argument(node.this, function, rows, what)
    frame = _frame(node.args.get("spec"), function, bool(order), what)
    if not order and function != "row_number" and frame != "all":
        raise UnsafeQuery(
            f"{what} needs an order: which row comes first would be left to chance. "
            "Add ORDER BY, with a date for instance."
        )
    if function in _TOTALS and frame == "all":
        order = ()
    argument = None if typed is None else typed.expression
    window = Window(function, argument, partition, order, frame, offset)
    if function in _RANKS or function == "count" or typed is None:
        return window, Kind.INTEGER, ()
    return window, typed.kind, typed.keys


def _read_partition(nodes: "list[Expr]", rows: Rows, what: str) -> tuple[Expression, ...]:
    """The keys beside the unit, which must be among them."""
    relation = rows.relation
    further = [node for node in nodes if not _is_unit(node, rows)]
    if relation.unit is None or relation.population is None:
        raise UnsafeQuery(
            f"{what} is for the rows of one unit, and here no row belongs to one. Ask without it."
        )
    if len(further) == len(nodes):
        raise UnsafeQuery(
            f"{what} without the unit mixes people before noise is added. "
            f"Write PARTITION BY {sql_name(relation.unit)}."
        )
    keys: dict[Expression, None] = {}
    for node in further:
        typed = rows.read(node)
        if typed.is_constant:
            raise UnsafeQuery(f"{what}: PARTITION BY a constant. Leave it out.")
        keys[typed.expression] = None
    return tuple(keys)


def _is_unit(node: "Expr", rows: Rows) -> bool:
    if type(node).__name__ != "Column" or type(node.this).__name__ != "Identifier":
        return False
    return rows.relation.find(node).typed is None


def _read_terms(
    order: "Expr | None", rows: Rows, what: str, partition: tuple[Expression, ...]
) -> tuple[Order, ...]:
    """The terms of ORDER BY over rows; missing values come last, whichever way it goes.

    The unit and the keys of the partition order nothing: all of its rows have the same.
    """
    if order is None:
        return ()
    only(order, "expressions")
    terms: dict[Expression, Order] = {}
    for node in order.expressions:
        if type(node).__name__ != "Ordered":
            raise refuse(node)
        only(node, "this", "desc", "nulls_first")
        descending = bool(node.args.get("desc"))
        if _is_unit(node.this, rows):
            continue
        typed = rows.read(node.this)
        if typed.expression in partition:
            continue
        if typed.is_constant or typed.kind not in _ORDERED:
            raise UnsafeQuery(
                f"{what}: ORDER BY takes numbers, dates and datetimes, not "
                f"{'a constant' if typed.is_constant else typed.kind.described}."
            )
        if descending and node.args.get("nulls_first"):
            raise UnsafeQuery(f"{what}: missing values come last. Leave NULLS FIRST out.")
        direction = "descending" if descending else "ascending"
        terms.setdefault(typed.expression, Order(typed.expression, direction))
    return tuple(terms.values())


def _argument(node: "Expr", function: str, rows: Rows, what: str) -> tuple[Typed | None, int]:
    if function in _RANKS:
        only(node)
        return None, 0
    if function == "count":
        only(node, "this", "big_int")
        if type(node.this).__name__ == "Star":
            only(node.this)
            return None, 0
    elif function in _MOVED:
        only(node, "this", "offset")
    else:
        only(node, "this")
    typed = rows.read(node.this)
    if typed.is_constant or typed.kind in (Kind.OPEN, Kind.NULL, Kind.PRESENT):
        shown = "a constant" if typed.is_constant else typed.kind.described
        raise UnsafeQuery(f"{what} does not take {shown}. Name a column, or write COUNT(*).")
    if function == "sum" and not typed.kind.is_number:
        raise UnsafeQuery(f"{what} needs a number, not {typed.kind.described}.")
    if function in ("min", "max") and typed.kind not in _ORDERED:
        raise UnsafeQuery(f"{what} needs a number or a date, not {typed.kind.described}.")
    return typed, _offset(node, what) if function in _MOVED else 0


def _offset(node: "Expr", what: str) -> int:
    offset = node.args.get("offset")
    if offset is None:
        return 1
    text = str(offset.this) if type(offset).__name__ == "Literal" else ""
    if offset.args.get("is_string") or not text.isdigit() or not 1 <= int(text) <= _FARTHEST:
        raise UnsafeQuery(f"{what} goes a constant number of rows, from 1 to {_FARTHEST:,}.")
    return int(text)


def _frame(spec: "Expr | None", function: str, ordered: bool, what: str) -> str:
    """Which rows a window sees: "all" of its partition, the "rows" up to its own, or, if empty,
    those and all that are equal in order.
    """
    if spec is not None and (function in _RANKS or function in _MOVED):
        raise UnsafeQuery(f"{what} takes no ROWS or RANGE. Leave it out.")
    whole = "all" if not ordered else ""
    if spec is not None:
        whole = _written_frame(spec, what)
    if function == "first_value":
        return "all" if ordered else ""  # every frame begins with the first row
    if function == "last_value" and whole != "all":
        raise UnsafeQuery(
            f"{what} is the row itself unless it sees all rows. Write {_WHOLE}, or FIRST_VALUE "
            "with ORDER BY ... DESC."
        )
    if function == "last_value" and not ordered:
        return ""
    return "" if function in _RANKS or function in _MOVED else whole


def _written_frame(spec: "Expr", what: str) -> str:
    only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind") or "")
    start = f"{spec.args.get('start')} {spec.args.get('start_side')}"
    end = " ".join(str(spec.args.get(part) or "") for part in ("end", "end_side")).strip()
    if kind in ("ROWS", "RANGE") and start == "UNBOUNDED PRECEDING":
        if end == "UNBOUNDED FOLLOWING":
            return "all"
        if end in ("", "CURRENT ROW"):
            return "rows" if kind == "ROWS" else ""
    raise UnsafeQuery(
        f"{what}: a frame is ROWS or RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW or AND "
        "UNBOUNDED FOLLOWING."
    )


def read_firsts(select: "Expr", listed: "tuple[Item, ...]", windows: Windows) -> Expression:
    """The condition of DISTINCT ON: the first row of each unit, and of each further key."""
    node, rows, what = select.args["distinct"], windows.rows, f"DISTINCT ON{where_in_text(select)}"
    only(node, "on")
    keys = node.args["on"]
    nodes = list(keys.expressions) if type(keys).__name__ == "Tuple" else [keys]
    partition = _read_partition([_inner(each) for each in nodes], rows, what)
    order = select.args.get("order")
    terms = _read_terms(order, _settle_order(order, listed, rows), what, partition)
    window = Window("row_number", None, partition, terms)
    return Compare("=", Field(windows.name(window)), Literal(Fraction(1)))


def _inner(node: "Expr") -> "Expr":
    while type(node).__name__ == "Paren":
        node = node.this
    return node


def _settle_order(order: "Expr | None", listed: "tuple[Item, ...]", rows: Rows) -> Rows:
    return rows if order is None else settle_aliases(order, listed, rows)


def settle_aliases(clause: "Expr", listed: "Iterable[Item]", rows: Rows) -> Rows:
    """The rows on which a clause may use the aliases of the SELECT list."""
    named = {item.alias.casefold(): item.node for item in listed if item.alias}
    settled = dict(rows.settled)
    for node in clause.walk():
        name = bare_name(node)
        if name and name.casefold() in named and not rows.relation.find_all(name):
            settled[id(node)] = rows.read(named[name.casefold()])
    return Rows(rows.relation, settled)
