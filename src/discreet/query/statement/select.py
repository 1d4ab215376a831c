"""The SELECT list and GROUP BY: from parsed clauses to named keys and outputs.
Keys come from the rows; outputs may only use aggregates and constants.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import (
    Aggregate,
    Arithmetic,
    Expression,
    Field,
    IntervalEnd,
    Literal,
    Output,
)
from discreet.query.readers.aggregates import in_ranks, is_aggregate
from discreet.query.readers.naming import check_alias, default_name, free_name
from discreet.query.readers.typed import Kind, Scope, Typed, only, where_in_text
from discreet.query.statement.ranking import ordinal
from discreet.query.statement.scopes import Results, Rows, bare_name
from discreet.schema.column import nearest
from discreet.schema.names import sql_name

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = [
    "Item",
    "Made",
    "condition",
    "grouped",
    "items",
    "outputs",
    "read_keys",
    "resolve_term",
    "scope",
]

_MOST_COLUMNS = 100
_ENDS = {"DP_INTERVAL_LOW": "low", "DP_INTERVAL_HIGH": "high"}


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of the SELECT list: its parsed node and its alias, if it has one."""

    node: "Expr"
    alias: str | None

    @property
    def interval(self) -> str | None:
        """The side of the interval it asks for, or None.

        >>> import sqlglot
        >>> Item(sqlglot.parse_one("DP_INTERVAL_LOW(n)"), None).interval
        'low'
        """
        if type(self.node).__name__ != "Anonymous":
            return None
        return _ENDS.get(str(self.node.this).upper())


@dataclass(frozen=True, slots=True)
class Made:
    """A noisy column with what is known of its values."""

    output: Output
    typed: Typed


def items(nodes: list["Expr"]) -> tuple[Item, ...]:
    """The SELECT list, with its aliases checked.

    >>> import sqlglot
    >>> [each.alias for each in items(sqlglot.parse_one("SELECT a, COUNT(*) n").expressions)]
    [None, 'n']
    """
    if not 1 <= len(nodes) <= _MOST_COLUMNS:
        raise UnsafeQuery(
            f"the SELECT list has {len(nodes)} entries; it must have 1 to {_MOST_COLUMNS}."
        )
    listed: list[Item] = []
    used: set[str] = set()
    for node in nodes:
        if type(node).__name__ != "Alias":
            listed.append(Item(node, None))
            continue
        only(node, "this", "alias")
        alias = check_alias(str(node.args["alias"].this))
        if alias.casefold() in used:
            raise UnsafeQuery(f"the alias {alias!r} is given twice. Choose another.")
        used.add(alias.casefold())
        listed.append(Item(node.this, alias))
    return tuple(listed)


def condition(clause: "Expr | None", place: Scope) -> Expression | None:
    """The condition of WHERE or HAVING, None where there is none."""
    if clause is None:
        return None
    only(clause, "this")
    typed = place.read(clause.this)
    if typed.kind != Kind.BOOLEAN:
        raise UnsafeQuery(
            f"{type(clause).__name__.upper()} needs a condition, not {typed.kind.described}"
            f"{where_in_text(clause)}. Write a comparison."
        )
    return None if typed.expression == Literal(True) else typed.expression


def resolve_term(node: "Expr", listed: tuple[Item, ...], rows: Rows) -> "Expr":
    """What a term of GROUP BY stands for: an entry of the SELECT list, or itself.

    >>> import sqlglot
    >>> select = sqlglot.parse_one("SELECT 3 AS a FROM t GROUP BY 1")
    >>> resolve_term(select.args["group"].expressions[0], items(select.expressions), None).name
    '3'
    """
    place = ordinal(node, len(listed))
    if place is not None:
        return listed[place].node
    name = (
        str(node.this.this)
        if type(node).__name__ == "Column" and not node.args.get("table")
        else ""
    )
    aliased = [item for item in listed if item.alias and item.alias.casefold() == name.casefold()]
    if not aliased:
        return node
    if rows.relation.find_all(name) and not _same(node, aliased[0].node, rows):
        raise UnsafeQuery(
            f"GROUP BY {name!r}{where_in_text(node)} is both a column and the alias of something "
            "else. Choose another alias, or group by the position in the SELECT list."
        )
    return aliased[0].node


def _same(column: "Expr", other: "Expr", rows: Rows) -> bool:
    meant_column = rows.relation.find(column)
    if type(other).__name__ == "Column":
        return meant_column == rows.relation.find(other)
    if meant_column.typed is None or any(is_aggregate(part) for part in other.walk()):
        return False
    return meant_column.typed == rows.read(other)


def grouped(group: "Expr", listed: tuple[Item, ...], rows: Rows) -> list["Expr"]:
    """What GROUP BY names; ALL is every entry of the SELECT list that holds no aggregate.

    >>> import sqlglot
    >>> select = sqlglot.parse_one("SELECT a, COUNT(*) FROM t GROUP BY ALL")
    >>> [node.name for node in grouped(select.args["group"], items(select.expressions), None)]
    ['a']
    """
    only(group, "expressions", "all")
    if not group.args.get("all"):
        return [resolve_term(node, listed, rows) for node in group.expressions]
    if group.expressions:
        raise UnsafeQuery(
            f"GROUP BY ALL{where_in_text(group)} takes nothing beside it. Write GROUP BY ALL, or "
            "GROUP BY and the columns."
        )
    return [
        item.node
        for item in listed
        if not item.interval and not any(map(is_aggregate, item.node.walk()))
    ]


def read_keys(group: "Expr | None", listed: tuple[Item, ...], rows: Rows) -> tuple[Typed, ...]:
    """The GROUP BY expressions, each once."""
    if group is None:
        return ()
    keys: dict[Expression, Typed] = {}
    for node in grouped(group, listed, rows):
        typed = rows.read(node)
        if typed.is_constant:
            raise UnsafeQuery(
                f"GROUP BY a constant{where_in_text(node)} makes one group. Leave it out."
            )
        keys.setdefault(typed.expression, typed)
    return tuple(keys.values())


def scope(listed: tuple[Item, ...], keys: tuple[Typed, ...], rows: Rows) -> Results:
    """What expressions after grouping can refer to: every key, under its name in the result."""
    spelt = rows.relation.spellings
    plain = Results(rows, {typed.expression: typed for typed in keys})
    names: dict[Expression, str] = {}
    used = [item.alias for item in listed if item.alias is not None]
    for item in listed:
        key = None if item.interval else plain.key(item.node)
        if key is None:
            continue
        if key.expression in names:
            raise UnsafeQuery(f"{names[key.expression]!r} is selected twice. Keep one.")
        if item.alias is None:
            names[key.expression] = free_name(default_name(key.expression, spelt), used)
            used.append(names[key.expression])
        else:
            names[key.expression] = item.alias
    for typed in keys:
        if typed.expression not in names:
            names[typed.expression] = free_name(default_name(typed.expression, spelt), used)
            used.append(names[typed.expression])
    fields = {
        typed.expression: replace(typed, expression=Field(names[typed.expression]))
        for typed in keys
    }
    return Results(rows, fields)


def _walk(expression: Expression) -> Iterator[Expression]:
    yield expression
    match expression:
        case Arithmetic(_, left, right):
            yield from _walk(left)
            yield from _walk(right)


def _output(item: Item, results: Results) -> Typed:
    typed = results.read(item.node)
    parts = list(_walk(typed.expression))
    plain = typed.kind.is_number or isinstance(typed.expression, Aggregate)
    if not plain or not any(isinstance(part, Aggregate) for part in parts):
        raise UnsafeQuery(
            f"the SELECT list{where_in_text(item.node)} may hold keys, aggregates and arithmetic "
            "over aggregates. Put conditions into WHERE or HAVING, and leave constants out."
        )
    if any(isinstance(part, Field) for part in parts):
        raise UnsafeQuery(
            f"a key is mixed with an aggregate{where_in_text(item.node)}. Select both and combine "
            "them in the result."
        )
    return typed


def _interval(item: Item, side: str, noisy: dict[str, Made]) -> IntervalEnd:
    only(item.node, "this", "expressions")
    arguments = item.node.expressions
    name = bare_name(arguments[0]) if len(arguments) == 1 else ""
    what = f"{str(item.node.this).upper()}{where_in_text(item.node)}"
    if name.casefold() not in noisy:
        names = [column.output.name for column in noisy.values()]
        raise UnsafeQuery(
            f"{what} takes the alias of an aggregate in the SELECT list. "
            f"{nearest(name[:60], names, spelt=sql_name)}"
        )
    output = noisy[name.casefold()].output
    if in_ranks(output.expression):
        raise UnsafeQuery(
            f"{what}: a quantile, MIN, MAX or MODE has no interval of values, since its error is "
            "in ranks. Ask explain for the ranks, or for two quantiles around it."
        )
    return IntervalEnd(side, output.name)


def outputs(listed: tuple[Item, ...], results: Results) -> tuple[tuple[Made, ...], tuple[str, ...]]:
    """The noisy columns, and the names of all result columns in their order.

    >>> import sqlglot
    >>> from discreet.query.statement.relations import Relation
    >>> from discreet.schema import Table
    >>> select = sqlglot.parse_one("SELECT COUNT(*), COUNT(*) + 1")
    >>> outputs(items(select.expressions), Results(Rows(Relation.of(Table("t"), "t"))))[1]
    ('count', 'value')
    """
    used = [item.alias for item in listed if item.alias] + [
        str(default_name(key.expression)) for key in results.keys.values()
    ]
    spelt = results.rows.relation.spellings
    noisy: dict[int, Made] = {}
    columns: dict[int, str] = {}

    def add(item: Item, typed: Typed) -> None:
        name = item.alias or free_name(default_name(typed.expression, spelt), used)
        used.append(name)
        noisy[id(item)] = Made(Output(name, typed.expression), typed)
        columns[id(item)] = name

    for item in [item for item in listed if not item.interval]:
        key = results.key(item.node)
        if key is None:
            add(item, _output(item, results))
        else:
            columns[id(item)] = default_name(key.expression)
    by_name = {column.output.name.casefold(): column for column in noisy.values()}
    for item in [item for item in listed if item.interval]:
        add(item, Typed(_interval(item, item.interval or "", by_name), Kind.NUMBER))
    if not noisy:
        raise UnsafeQuery(
            "the question asks for no aggregate. Add COUNT(*), SUM or AVG to the SELECT list."
        )
    order = [id(item) for item in listed]
    return tuple(noisy[place] for place in order if place in noisy), tuple(
        columns[place] for place in order
    )
