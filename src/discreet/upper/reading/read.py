"""A parsed outer query, whose private blocks are already cut out, as a checked tree.
Every clause and every part of one is listed; whatever is not is refused by name.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.readers.naming import check_alias
from discreet.query.readers.typed import only, refuse, where_in_text
from discreet.schema.column import nearest
from discreet.schema.names import sql_name
from discreet.upper.reading.expressions import Reader, read_name, read_order
from discreet.upper.tree import (
    Block,
    Column,
    Combine,
    Common,
    Expression,
    Item,
    Join,
    Listed,
    Literal,
    Named,
    Nested,
    Number,
    Query,
    Select,
    Source,
    Star,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["BLOCK", "read_query"]

BLOCK = "$block"
"""The name before the place of a private block that was cut out of a parsed tree; no text can say
it, since a name of a table cannot begin so.
"""

_SELECT = (
    "with_", "expressions", "from_", "joins", "where", "group", "having", "qualify", "windows",
    "distinct", "order", "limit", "offset",
)  # fmt: skip
_COMBINE = ("this", "expression", "distinct", "order", "limit", "offset", "with_")
_JOINS = ("ANTI", "CROSS", "FULL", "INNER", "LEFT", "RIGHT", "SEMI")
_COMBINED = {"Union": "UNION", "Except": "EXCEPT", "Intersect": "INTERSECT"}
_MOST_ROWS = 10**9

Sets = tuple[tuple[str, tuple[tuple[Expression, ...], ...]], ...]
"""The lists of ROLLUP, CUBE and GROUPING SETS, each with its word."""

Commons = Mapping[str, str]
"""The names of WITH as they are written, by their folded spelling."""


def read_query(node: "Expr", commons: Commons) -> Query:
    """The checked tree of a query.

    >>> import sqlglot
    >>> read_query(sqlglot.parse_one("SELECT 1 AS a"), {}).items[0].alias
    'a'
    """
    kind = type(node).__name__
    if kind == "Subquery" and not node.args.get("alias"):
        only(node, "this")
        return read_query(node.this, commons)
    named, commons = _read_commons(node.args.get("with_"), commons)
    if kind == "Select":
        return _read_select(node, commons, named)
    if kind not in _COMBINED:
        raise refuse(node, "Write SELECT ... FROM a table.")
    only(node, *_COMBINE)
    operator = _COMBINED[kind] if node.args.get("distinct") else f"{_COMBINED[kind]} ALL"
    reader = Reader(lambda inner: read_query(inner, commons))
    return Combine(
        operator=operator,
        left=read_query(node.this, commons),
        right=read_query(node.expression, commons),
        order=read_order(reader, node.args.get("order")),
        limit=_read_count(node.args.get("limit"), "LIMIT"),
        offset=_read_count(node.args.get("offset"), "OFFSET"),
        commons=named,
    )


def _read_commons(
    clause: "Expr | None", commons: Commons
) -> tuple[tuple[tuple[str, tuple[str, ...], Query], ...], Commons]:
    known = dict(commons)
    if clause is None:
        return (), known
    only(clause, "expressions")
    named = []
    for node in clause.expressions:
        only(node, "this", "alias", "materialized")
        alias = node.args["alias"]
        only(alias, "this", "columns")
        name = check_alias(read_name(alias.this))
        columns = tuple(
            check_alias(read_name(column)) for column in alias.args.get("columns") or []
        )
        named.append((name, columns, read_query(node.this, known)))
        known[name.casefold()] = name
    return tuple(named), known


def _read_select(
    node: "Expr", commons: Commons, named: tuple[tuple[str, tuple[str, ...], Query], ...]
) -> Select:
    only(node, *_SELECT)

    def inside(inner: "Expr") -> Query:
        return read_query(inner, commons)

    windows = {}
    for window in node.args.get("windows") or []:
        windows[read_name(window.this).casefold()] = window
    reader = Reader(inside, windows)
    hides = node.args.get("from_") is None  # a name of ours would hide an outer query's column
    items = tuple(_read_item(reader, item, "value" if hides else "") for item in node.expressions)
    if not items:
        raise UnsafeQuery(f"the SELECT list{where_in_text(node)} is empty. Name the columns.")
    distinct = node.args.get("distinct")
    if distinct is not None:
        only(distinct, "on")
    on = None if distinct is None else distinct.args.get("on")
    group, sets = _read_group(reader, node.args.get("group"))
    return Select(
        items=items,
        source=_read_from(reader, node, commons, inside),
        distinct=distinct is not None and on is None,
        distinct_on=() if on is None else reader.list(_several(on)),
        where=_read_clause(reader, node.args.get("where")),
        group=group,
        sets=sets,
        having=_read_clause(reader, node.args.get("having")),
        qualify=_read_clause(reader, node.args.get("qualify")),
        order=read_order(reader, node.args.get("order")),
        limit=_read_count(node.args.get("limit"), "LIMIT"),
        offset=_read_count(node.args.get("offset"), "OFFSET"),
        commons=named,
    )


def _read_item(reader: Reader, node: "Expr", usual: str) -> Item:
    alias = ""
    if type(node).__name__ == "Alias":
        only(node, "this", "alias")
        alias, node = check_alias(read_name(node.args["alias"])), node.this
    expression = reader.read(node)
    if isinstance(expression, Star):
        if alias:
            raise refuse(node, "A star has no name of its own.")
        return Item(expression, "")
    if not alias:
        alias = expression.name if isinstance(expression, Column) else usual or _name(node)
    return Item(expression, alias)


def _name(node: "Expr") -> str:
    """What a column without a name is called: the function that makes it, or value."""
    kind = type(node).__name__
    if kind in ("Window", "Filter", "WithinGroup", "Paren", "Cast", "TryCast"):
        return _name(node.this)
    if kind == "Anonymous":
        return str(node.this).lower()[:60]
    if kind == "Column":
        return read_name(node.this)
    return "case" if kind == "Case" else "value"


def _read_clause(reader: Reader, clause: "Expr | None") -> Expression | None:
    if clause is None:
        return None
    only(clause, "this")
    return reader.read(clause.this)


def _read_group(reader: Reader, group: "Expr | None") -> tuple[tuple[Expression, ...], Sets]:
    if group is None:
        return (), ()
    only(group, "expressions", "all")
    if group.args.get("all"):
        return (Literal("ALL"),), ()
    plain, sets = [], []
    for node in group.expressions:
        word = {"Rollup": "ROLLUP", "Cube": "CUBE", "GroupingSets": "GROUPING SETS"}.get(
            type(node).__name__
        )
        if word is None:
            plain.append(reader.read(node))
            continue
        only(node, "expressions")
        sets.append((word, tuple(reader.list(_several(term)) for term in node.expressions)))
    return tuple(plain), tuple(sets)


def _several(node: "Expr") -> "list[Expr]":
    if type(node).__name__ == "Tuple":
        only(node, "expressions")
        return list(node.expressions)
    return [node.this] if type(node).__name__ == "Paren" else [node]


def _read_count(node: "Expr | None", word: str) -> Expression | None:
    """The number of LIMIT, OFFSET or FETCH."""
    if node is None:
        return None
    if type(node).__name__ == "Fetch":
        only(node, "direction", "count", "limit_options")
        options = node.args.get("limit_options")
        if options is not None:
            only(options, "rows")
        count = node.args.get("count")
    else:
        only(node, "expression")
        count = node.expression
    unlimited = type(count).__name__ == "Null" or str(getattr(count, "name", "")).upper() == "ALL"
    if word == "LIMIT" and unlimited:
        return None
    text = str(count.this) if count is not None and type(count).__name__ == "Literal" else ""
    if not text or (count is not None and count.args.get("is_string")) or not _is_whole(text):
        raise UnsafeQuery(f"{word} needs an integer from 0 to {_MOST_ROWS}, written out.")
    return Number(text)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 12 and int(text) <= _MOST_ROWS


def _read_from(
    reader: Reader, select: "Expr", commons: Commons, inside: Callable[["Expr"], Query]
) -> Source | None:
    clause = select.args.get("from_")
    if clause is None:
        if select.args.get("joins"):
            raise refuse(select)
        return None
    only(clause, "this")
    source: Source = _read_source(clause.this, commons, inside, reader)
    for node in select.args.get("joins") or []:
        only(node, "this", "on", "using", "side", "kind")
        side, kind = (str(node.args.get(part) or "").upper() for part in ("side", "kind"))
        words = {word for word in (side, kind) if word} - {"OUTER"}
        if len(words) > 1 or not words <= set(_JOINS):
            raise refuse(node, f"Write one of {', '.join(_JOINS)} JOIN.")
        word = words.pop() if words else "INNER"
        on, using = node.args.get("on"), node.args.get("using") or []
        if on is None and not using:
            word = "CROSS" if word == "INNER" else word
        right = _read_source(node.this, commons, inside, reader)
        source = Join(
            word,
            source,
            right,
            None if on is None else reader.read(on),
            tuple(read_name(name) for name in using),
        )
        if word != "CROSS" and on is None and not using:
            raise UnsafeQuery(
                f"{word} JOIN{where_in_text(node)} without ON or USING. Write JOIN ... ON a.x = "
                "b.x, or CROSS JOIN."
            )
    return source


def _read_source(
    node: "Expr", commons: Commons, inside: Callable[["Expr"], Query], reader: Reader
) -> Source:
    kind = type(node).__name__
    if kind == "Subquery":
        only(node, "this", "alias")
        alias, columns = _read_alias(node)
        if type(node.this).__name__ == "Table":
            raise refuse(node, "Write FROM a JOIN b ON ... without parentheses around the join.")
        return Named(Nested(inside(node.this)), alias or "q", columns)
    if kind == "Values":
        only(node, "expressions", "alias")
        alias, columns = _read_alias(node)
        rows = tuple(reader.list(_several(row)) for row in node.expressions)
        return Named(Listed(rows), alias or "q", columns)
    if kind != "Table":
        raise refuse(node, "Ask about a table by its name.")
    only(node, "this", "alias")
    alias, columns = _read_alias(node)
    place = str(getattr(node.this, "this", "")).removeprefix(BLOCK)
    if type(node.this).__name__ == "Identifier" and str(node.this.this) == f"{BLOCK}{place}":
        return Named(Block(int(place)), alias or "q", columns)
    name = read_name(node.this)
    if name.casefold() not in commons:
        raise UnsafeQuery(
            f"there is no table {name[:60]!r}{where_in_text(node)}. "
            f"{nearest(name[:60], list(commons.values()), spelt=sql_name)}"
        )
    return Named(Common(commons[name.casefold()]), alias or name, columns)


def _read_columns(alias: "Expr") -> tuple[str, ...]:
    return tuple(check_alias(read_name(column)) for column in alias.args.get("columns") or [])


def _read_alias(node: "Expr") -> tuple[str, tuple[str, ...]]:
    alias = node.args.get("alias")
    if alias is None:
        return "", ()
    only(alias, "this", "columns")
    columns = _read_columns(alias)
    return ("" if alias.this is None else check_alias(read_name(alias.this))), columns
