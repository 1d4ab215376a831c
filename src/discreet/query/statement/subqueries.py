"""A SELECT inside another: rows that are filtered and computed, or one row for each unit.
A subquery never mixes rows of different people; one that would is refused.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from discreet.errors import SchemaError, UnsafeQuery
from discreet.query import algebra
from discreet.query.algebra import Expression, Field, Junction, Literal, PerUnit, Source
from discreet.query.readers.aggregates import is_aggregate
from discreet.query.readers.naming import default_name, free_name
from discreet.query.readers.typed import Kind, Typed, only, refuse, where_in_text
from discreet.query.statement.membership import join_members
from discreet.query.statement.relations import Relation, Visible
from discreet.query.statement.scopes import Rows, Unit
from discreet.query.statement.select import Item, condition, grouped, items, scope
from discreet.query.statement.sources import Known, from_clause
from discreet.query.statement.windows import read_firsts, read_windows, settle_aliases
from discreet.schema.names import any_name, sql_name
from discreet.schema.table import Table

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["common_tables", "subquery"]

_LONGEST = 56
_PARTS = ("expressions", "from_", "joins", "where", "group", "having", "distinct", "qualify")
_REASONS = {
    "order": "Its order has no effect: order the result of the question.",
    "limit": "Which rows it keeps would depend on the rows of other people. Filter with WHERE.",
    "with_": "Write WITH once, at the start of the question.",
    "offset": "Which rows it keeps would depend on the rows of other people.",
}


@dataclass(slots=True)
class _Shown:
    """The columns a subquery shows so far."""

    columns: list[Visible] = field(default_factory=list)
    made: list[tuple[str, Expression]] = field(default_factory=list)

    def add(self, name: str, typed: Typed | None, node: "Expr") -> None:
        if name.casefold() in {column.name.casefold() for column in self.columns}:
            raise UnsafeQuery(
                f"a subquery shows two columns called {name[:60]!r}{where_in_text(node)}. "
                "Name the columns, and give one of them an alias."
            )
        name = _check_name(name, node)
        if typed is not None:
            self.made.append((name, typed.expression))
            typed = replace(typed, expression=Field(name))
        self.columns.append(Visible("", name, typed))


def _check_name(name: str, node: "Expr") -> str:
    try:
        return any_name(name, "a name")
    except SchemaError:
        raise UnsafeQuery(
            f"a subquery's column cannot be called {name[:60]!r}{where_in_text(node)}: use 1 to 63 "
            "bytes of printable characters, none of them a quotation mark, backquote or backslash."
        ) from None


def common_tables(clause: "Expr | None", tables: Mapping[str, Table]) -> Mapping[str, Relation]:
    """The subqueries of a WITH clause by name; later ones may use earlier ones."""
    queries: dict[str, Relation] = {}
    if clause is None:
        return queries
    if type(clause).__name__ != "With":
        raise refuse(clause)
    only(clause, "expressions")
    registered = {table.casefold() for table in tables}
    for node in clause.expressions:
        if type(node).__name__ != "CTE":
            raise refuse(node)
        only(node, "this", "alias")
        alias = node.args["alias"]
        only(alias, "this")
        name = str(alias.this.this)
        if name.casefold() in queries or name.casefold() in registered:
            raise UnsafeQuery(
                f"{name[:60]!r}{where_in_text(alias)} is already the name of a table. "
                "Choose another."
            )
        if type(node.this).__name__ != "Select":
            raise refuse(node.this, "Write WITH name AS (SELECT ...).")
        queries[name.casefold()] = subquery(node.this, Known(tables, dict(queries)))
    return queries


def subquery(select: "Expr", known: Known) -> Relation:
    """What a subquery reads and shows.

    >>> import sqlglot
    >>> select = sqlglot.parse_one("SELECT id FROM t")
    >>> subquery(select, Known({"t": Table("t", unit="id")})).units[0].name
    'id'
    """
    distinct = select.args.get("distinct")
    first = distinct is not None and distinct.args.get("on") is not None
    for part, reason in _REASONS.items():
        if select.args.get(part) and not (first and part == "order"):
            word = {"order": "ORDER BY", "with_": "WITH"}.get(part, part.upper())
            raise UnsafeQuery(
                f"{word} in a subquery{where_in_text(select)} is not supported. {reason}"
            )
    only(select, *_PARTS, *(["order"] if first else []))
    clause = select.args.get("where")
    rows = join_members(from_clause(select, known, subquery), clause, known, subquery)
    listed = items(select.expressions)
    where = condition(clause, rows)
    group, having = select.args.get("group"), select.args.get("having")
    if group is None and having is not None:
        raise UnsafeQuery(
            f"HAVING in a subquery without GROUP BY{where_in_text(having)} mixes people before "
            "noise is added. GROUP BY the unit, or put the condition into WHERE."
        )
    if select.args.get("qualify") is not None or first:
        if group is not None:
            raise UnsafeQuery(
                f"QUALIFY or DISTINCT ON with GROUP BY{where_in_text(select)} is not supported. "
                "GROUP BY in a subquery, and choose rows outside of it."
            )
    elif distinct is not None:
        return _per_unit(listed, rows, where, _distinct(select, listed, rows))
    if group is None:
        windows = read_windows(select, listed, rows)
        kept = read_firsts(select, listed, windows) if first else None
        if not windows.named:
            if select.args.get("qualify") is not None:
                raise UnsafeQuery(
                    f"QUALIFY without a window{where_in_text(select)}. Put its condition into "
                    "WHERE."
                )
            return _filter_rows(listed, rows, where)
        return _filter_rows(listed, *_keep_rows(select, listed, windows.apply(where), kept))
    return _per_unit(listed, rows, where, _keys(group, listed, rows), having)


def _keep_rows(
    select: "Expr", listed: tuple[Item, ...], rows: Rows, first: Expression | None
) -> tuple[Rows, Expression | None]:
    """The condition on windows: that of DISTINCT ON, that of QUALIFY, or both, or none."""
    qualify = select.args.get("qualify")
    if qualify is None:
        return rows, first
    chosen = condition(qualify, settle_aliases(qualify, listed, rows))
    both = tuple(part for part in (first, chosen) if part is not None)
    return rows, Junction("and", both) if len(both) > 1 else (both or (None,))[0]


def _filter_rows(listed: tuple[Item, ...], rows: Rows, where: Expression | None) -> Relation:
    relation, shown = rows.relation, _Shown()
    unnamed: list[tuple[Item, Typed]] = []
    for item in listed:
        stars = _star(item, relation)
        if stars is not None:
            for star in stars:
                shown.add(star.name, star.typed, item.node)
            continue
        if type(item.node).__name__ == "Column":
            column = relation.find(item.node)
            shown.add(item.alias or column.name, column.typed, item.node)
            continue
        typed = _compute(item, rows)
        if item.alias is None:
            unnamed.append((item, typed))
        else:
            shown.add(item.alias, typed, item.node)
    _name(shown, unnamed, relation)
    source = algebra.Rows(relation.source, where, tuple(shown.made))
    return Relation(source, tuple(shown.columns), relation.population, relation.unit)


def _name(shown: _Shown, unnamed: Iterable[tuple[Item, Typed]], relation: Relation) -> None:
    for item, typed in unnamed:
        used = [column.name for column in shown.columns]
        name = default_name(typed.expression, relation.spellings)[:_LONGEST]
        shown.add(free_name(name, used), typed, item.node)


def _star(item: Item, relation: Relation) -> list[Visible] | None:
    node, table = item.node, ""
    if type(node).__name__ == "Column" and type(node.this).__name__ == "Star":
        only(node, "this", "table")
        table, node = str(node.args["table"].this), node.this
    if type(node).__name__ != "Star":
        return None
    only(node)
    reach = ("bare", "qualified") if table else ("bare",)
    columns = [
        column
        for column in relation.columns
        if column.reach in reach and (not table or column.table.casefold() == table.casefold())
    ]
    if item.alias or not columns:
        raise refuse(node, "Name the columns.")
    return columns


def _compute(item: Item, rows: Rows) -> Typed:
    inside = item.node.walk(prune=lambda node: id(node) in rows.settled)
    if any(is_aggregate(part) for part in inside):
        raise _refuse_aggregate(item)
    return _usable(rows.read(item.node), item)


def _refuse_aggregate(item: Item) -> UnsafeQuery:
    return UnsafeQuery(
        f"an aggregate in a subquery without GROUP BY{where_in_text(item.node)} mixes people "
        "before noise is added. GROUP BY the unit, or ask for it directly."
    )


def _usable(typed: Typed, item: Item) -> Typed:
    if typed.is_constant or typed.kind == Kind.NULL:
        raise UnsafeQuery(
            f"a constant as a column of a subquery{where_in_text(item.node)} is not supported. "
            "Write the constant where it is used."
        )
    return typed


def _per_unit(
    listed: tuple[Item, ...],
    rows: Rows,
    where: Expression | None,
    grouped: tuple[Typed, ...],
    having: "Expr | None" = None,
) -> Relation:
    relation, shown = rows.relation, _Shown()
    others = tuple(item for item in listed if not _is_unit(item.node, relation))
    results = scope(others, grouped, rows)
    keys = _rename_keys(results.keys, relation)
    place = Unit(rows, keys)
    unnamed: list[tuple[Item, Typed]] = []
    for item in listed:
        key = results.key(item.node)
        if item not in others:
            shown.add(item.alias or relation.find(item.node).name, None, item.node)
        elif key is not None:
            shown.add(_label(key), place.read(item.node), item.node)
        elif item.alias is not None:
            shown.add(item.alias, _usable(place.read(item.node), item), item.node)
        else:
            unnamed.append((item, _usable(place.read(item.node), item)))
    _name(shown, unnamed, relation)
    named = tuple((_label(key), expression) for expression, key in keys.items())
    kept = condition(having, replace(place, names=_aliases(others, place)))
    source = _keep_groups(PerUnit(relation.source, where, named, tuple(shown.made)), kept)
    return Relation(source, tuple(shown.columns), relation.population, relation.unit)


def _aliases(listed: tuple[Item, ...], place: Unit) -> dict[str, Typed]:
    """What the aliases of the SELECT list stand for, in HAVING."""
    return {item.alias.casefold(): place.read(item.node) for item in listed if item.alias}


def _keep_groups(per: PerUnit, having: Expression | None) -> Source:
    """The rows of a grouped subquery whose condition holds: it is a column that is not shown."""
    if having is None:
        return per
    names = [name for name, _ in per.columns]
    shown = tuple((name, Field(name)) for name in names)
    if isinstance(having, Literal):
        return algebra.Rows(per, having, shown)
    hidden = free_name("having", [*names, *(name for name, _ in per.keys)])
    tested = replace(per, columns=(*per.columns, (hidden, having)))
    return algebra.Rows(tested, Field(hidden), shown)


def _distinct(select: "Expr", listed: tuple[Item, ...], rows: Rows) -> tuple[Typed, ...]:
    """The keys of SELECT DISTINCT, which is GROUP BY all that is selected."""
    node = select.args["distinct"]
    only(node)
    if select.args.get("group") is not None:
        raise UnsafeQuery(
            f"DISTINCT and GROUP BY in one subquery{where_in_text(select)} are not supported. "
            "Leave DISTINCT out, and select what is grouped by."
        )
    further = [item for item in listed if not _is_unit(item.node, rows.relation)]
    for item in further:
        if any(is_aggregate(part) for part in item.node.walk()):
            raise _refuse_aggregate(item)
    keys = tuple(dict.fromkeys(_read_key(item.node, rows) for item in further))
    if len(further) == len(listed):
        raise _refuse_without_unit(rows.relation, select, "DISTINCT in a subquery")
    return keys


def _rename_keys(keys: Mapping[Expression, Typed], relation: Relation) -> dict[Expression, Typed]:
    """The keys under names that mean no other column of the source."""
    used = list(relation.spellings)
    inside: dict[Expression, Typed] = {}
    for expression, key in keys.items():
        if not isinstance(expression, Field):
            name = free_name(default_name(expression, relation.spellings)[:_LONGEST], used)
            used.append(name)
            inside[expression] = replace(key, expression=Field(name))
        else:
            inside[expression] = replace(key, expression=expression)
    return inside


def _label(key: Typed) -> str:
    assert isinstance(key.expression, Field)
    return key.expression.name


def _keys(group: "Expr", listed: tuple[Item, ...], rows: Rows) -> tuple[Typed, ...]:
    nodes = grouped(group, listed, rows)
    further = [node for node in nodes if not _is_unit(node, rows.relation)]
    if len(further) == len(nodes):
        raise _refuse_without_unit(rows.relation, group, "a subquery grouped")
    return tuple(dict.fromkeys(_read_key(node, rows) for node in further))


def _read_key(node: "Expr", rows: Rows) -> Typed:
    typed = rows.read(node)
    if typed.is_constant:
        raise UnsafeQuery(
            f"GROUP BY a constant, or DISTINCT with one{where_in_text(node)}. Leave it out."
        )
    return typed


def _is_unit(node: "Expr", relation: Relation) -> bool:
    if type(node).__name__ != "Column" or type(node.this).__name__ != "Identifier":
        return False
    return relation.find(node).typed is None


def _refuse_without_unit(relation: Relation, node: "Expr", what: str) -> UnsafeQuery:
    what = f"{what} without the unit{where_in_text(node)}"
    if relation.population is None:
        return UnsafeQuery(
            f"{what}: a public table has none, so its subqueries only filter and compute. "
            "Leave GROUP BY and DISTINCT out."
        )
    if relation.unit is None:
        return UnsafeQuery(
            f"{what}: each row is one person, so there is nothing to add up for each. "
            "Ask without the subquery."
        )
    place = "SELECT list" if what.startswith("DISTINCT") else "GROUP BY"
    return UnsafeQuery(
        f"{what} mixes people before noise is added. Add {sql_name(relation.unit)} to its {place}, "
        "or ask for the groups directly."
    )
