"""The FROM clause: tables, subqueries and joins become one source and what it shows.
Rows of different people never meet: two private sources are joined on their unit, or refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import (
    Field,
    IsNull,
    Join,
    Literal,
    PerUnit,
    Rows,
    Source,
    scans,
)
from discreet.query.readers.naming import free_name
from discreet.query.readers.typed import Kind, Typed, only, refuse, where_in_text
from discreet.query.statement.relations import (
    Relation,
    Visible,
    check_prefix,
    describe,
    rename_taken,
)
from discreet.schema.column import nearest
from discreet.schema.names import sql_name
from discreet.schema.table import Table

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["Known", "Subquery", "check_people", "check_scans", "from_clause", "one_each"]

_MOST_SCANS = 16
_JOINS = ("", "INNER", "LEFT", "LEFT OUTER", "SEMI", "ANTI", "LEFT SEMI", "LEFT ANTI")
_NO_ON = "pairs every row with every row. Write JOIN ... ON a.x = b.x"


@dataclass(frozen=True, slots=True)
class Known:
    """The names that can stand after FROM: registered tables, and subqueries of a WITH clause."""

    tables: Mapping[str, Table]
    queries: Mapping[str, Relation] = field(default_factory=dict)


Subquery = Callable[["Expr", Known], Relation]
"""How a SELECT inside another is read."""


def from_clause(select: "Expr", known: Known, subquery: Subquery) -> Relation:
    """All that a SELECT reads.

    >>> import sqlglot
    >>> select = sqlglot.parse_one("SELECT COUNT(*) FROM t")
    >>> from_clause(select, Known({"t": Table("t")}), lambda node, known: None).source
    Scan(table='t', names=())
    """
    clause = select.args.get("from_")
    if clause is None:
        raise UnsafeQuery(
            f"the question names no table{where_in_text(select)}. Add FROM and a table."
        )
    only(clause, "this")
    relation = _read_source(clause.this, known, subquery)
    for node in select.args.get("joins") or []:
        relation = _join(relation, node, known, subquery)
        check_scans(relation, node)
    return relation


def check_scans(relation: Relation, node: "Expr") -> None:
    """Refuse a source that reads too many tables."""
    if len(list(scans(relation.source))) > _MOST_SCANS:
        raise UnsafeQuery(
            f"the question reads more than {_MOST_SCANS} tables{where_in_text(node)}, "
            "subqueries counted as often as they are used. Join fewer."
        )


def _read_source(node: "Expr", known: Known, subquery: Subquery) -> Relation:
    kind = type(node).__name__
    if kind == "Subquery" and type(node.this).__name__ == "Select":
        only(node, "this", "alias")
        return subquery(node.this, known).give_alias(_alias(node) or "")
    if kind == "Subquery":
        raise refuse(node, "Write FROM a JOIN b ON ... without parentheses around the join.")
    if kind != "Table":
        raise refuse(node, "Ask about a table by its name.")
    only(node, "this", "alias", "db")
    if type(node.this).__name__ != "Identifier":
        raise refuse(node.this, "Ask about a table by its name.")
    name, prefix = str(node.this.this), check_prefix(node)
    if name.casefold() in known.queries and not prefix:
        return known.queries[name.casefold()].give_alias(_alias(node) or name)
    tables = {name.casefold(): table for name, table in known.tables.items()}
    if name.casefold() not in tables:
        raise UnsafeQuery(
            f"there is no table {name[:60]!r}{where_in_text(node)}. "
            f"{nearest(name[:60], [*known.tables, *known.queries], spelt=sql_name)}"
        )
    table = tables[name.casefold()]
    return Relation.of(table, _alias(node) or table.name)


def _alias(node: "Expr") -> str | None:
    alias = node.args.get("alias")
    if alias is None:
        return None
    only(alias, "this")
    if type(alias.this).__name__ != "Identifier":
        raise refuse(alias.this)
    return str(alias.this.this)


def _join(left: Relation, node: "Expr", known: Known, subquery: Subquery) -> Relation:
    if type(node).__name__ != "Join":
        raise refuse(node)
    only(node, "this", "on", "using", "side", "kind")
    side, kind = str(node.args.get("side") or ""), str(node.args.get("kind") or "")
    written = " ".join(word.upper() for word in (side, kind) if word)
    if written not in _JOINS:
        raise UnsafeQuery(
            f"{written[:60]} JOIN{where_in_text(node)} is not supported here. "
            "Write JOIN, LEFT JOIN, SEMI JOIN or ANTI JOIN."
        )
    right = _read_source(node.this, known, subquery)
    _tell_apart(left, right, node)
    if kind in ("SEMI", "ANTI"):
        return _keep(left, right, kind, node)
    used = [*left.spellings, *(unit.name for unit in left.units)]
    right = rename_taken(right, used)
    pairs = _pairs(left, right, node)
    if side and left.population is None and right.population is not None:
        raise UnsafeQuery(
            f"LEFT JOIN{where_in_text(node)} of a public table: its rows without a match are "
            "nobody's. Put the private table first, or write JOIN."
        )
    on = _check_pairs(left, right, pairs, node)
    columns = _show_columns(left, right, node)
    if side and right.population is not None:
        right, columns = _flag(right, columns, used)
    source = Join("left" if side else "inner", left.source, right.source, on)
    private = left if left.population is not None else right
    return Relation(source, (*left.columns, *columns), private.population, private.unit)


def _keep(left: Relation, right: Relation, kind: str, node: "Expr") -> Relation:
    """The rows of the left side whose unit has rows on the right, or has none."""
    on = _check_pairs(left, right, _pairs(left, right, node), node)
    if left.population is None or right.population is None or on:
        raise UnsafeQuery(
            f"{kind} JOIN{where_in_text(node)} takes two private tables and their unit alone. For "
            "a public table write JOIN, or LEFT JOIN and IS NULL; for further columns, a JOIN with "
            "a subquery that is grouped by the unit and them."
        )
    members = one_each(right.source)
    if kind == "SEMI":
        return replace(left, source=Join("inner", left.source, members, ()))
    flag = free_name("present", left.spellings)
    flagged = replace(members, columns=((flag, Literal(True)),))
    shown = tuple((name, Field(name)) for name in left.spellings)
    joined = Join("left", left.source, flagged, ())
    return replace(left, source=Rows(joined, IsNull(Field(flag)), shown))


def one_each(source: Source) -> PerUnit:
    """One row for each unit of a source, without columns.

    >>> from discreet.query.algebra import Scan
    >>> one_each(PerUnit(Scan("t"), None, (("k", Field("k")),), (("k", Field("k")),)))
    PerUnit(source=Scan(table='t', names=()), where=None, keys=(), columns=())
    """
    match source:
        case Rows(inner, where) | PerUnit(inner, where):
            return PerUnit(inner, where, (), ())
    return PerUnit(source, None, (), ())


def _flag(
    right: Relation, columns: list[Visible], used: list[str]
) -> tuple[Relation, list[Visible]]:
    """The private right side of a left join with a column that says that there is a row.

    Its unit is missing where there is none, so that it stands for this column from here on.
    """
    flag = free_name("present", [*used, *right.spellings])
    flagged = (flag, Literal(True))
    match right.source:
        case Rows(columns=made) | PerUnit(columns=made):
            source: Source = replace(right.source, columns=(*made, flagged))
        case _:
            own = tuple((name, Field(name)) for name in right.spellings)
            source = Rows(right.source, None, (*own, flagged))
    present = Typed(Field(flag), Kind.PRESENT)
    shown = [replace(each, typed=present) if each.typed is None else each for each in columns]
    return replace(right, source=source), shown


def _tell_apart(left: Relation, right: Relation, node: "Expr") -> None:
    tables = {column.table.casefold() for column in left.columns}
    twin = [column.table for column in right.columns if column.table.casefold() in tables]
    if twin and twin[0]:
        raise UnsafeQuery(
            f"two tables are called {twin[0][:60]!r}{where_in_text(node)}. Give each an alias: "
            f"FROM {sql_name(twin[0][:60])} AS a JOIN ... AS b."
        )


def _show_columns(left: Relation, right: Relation, node: "Expr") -> list[Visible]:
    merged = {str(name.this).casefold() for name in node.args.get("using") or []}
    units = {unit.name.casefold() for unit in left.units}
    shown = []
    for column in right.columns:
        name = column.name.casefold()
        # Both sides hold the same value, so the name alone means either.
        twin = name in merged or (column.typed is None and name in units)
        hidden = twin and column.reach == "bare"
        shown.append(replace(column, reach="qualified") if hidden else column)
    return shown


def _pairs(left: Relation, right: Relation, node: "Expr") -> list[tuple[Visible, Visible]]:
    using, condition = node.args.get("using"), node.args.get("on")
    if using:
        return [_use_column(left, right, name) for name in using]
    if condition is None:
        raise UnsafeQuery(f"a comma in FROM{where_in_text(node)} {_NO_ON}.")
    both = Relation(left.source, (*left.columns, *right.columns), None, None)
    return [_equate(both, left, right, equality) for equality in _equalities(condition)]


def _use_column(left: Relation, right: Relation, node: "Expr") -> tuple[Visible, Visible]:
    if type(node).__name__ != "Identifier":
        raise refuse(node, "Write USING (column).")
    name = str(node.this)
    sides = left.find_all(name), right.find_all(name)
    for relation, columns in zip((left, right), sides, strict=True):
        if len(columns) != 1:
            listed = "is in several tables" if columns else "is not there"
            raise UnsafeQuery(
                f"USING ({name[:60]}){where_in_text(node)}: in {describe(relation.source)} the "
                f"column {listed}. Write ON a.x = b.x."
            )
    return sides[0][0], sides[1][0]


def _equalities(condition: "Expr") -> list["Expr"]:
    # Chains are left-deep and as long as the text allows: no recursion here.
    equalities: list[Expr] = []
    waiting = [condition]
    while waiting:
        node = waiting.pop()
        name = type(node).__name__
        if name == "Paren":
            only(node, "this")
            waiting.append(node.this)
        elif name == "And":
            only(node, "this", "expression")
            waiting += [node.expression, node.this]
        elif name == "EQ" and {_class(node.this), _class(node.expression)} == {"Column"}:
            only(node, "this", "expression")
            equalities.append(node)
        else:
            raise UnsafeQuery(
                f"ON{where_in_text(node)} takes equalities of plain columns, joined by AND: "
                "ON a.x = b.x AND a.y = b.y. Put other conditions into WHERE."
            )
    return equalities


def _class(node: "Expr | None") -> str:
    return type(node).__name__


def _equate(
    both: Relation, left: Relation, right: Relation, node: "Expr"
) -> tuple[Visible, Visible]:
    first, second = both.find(node.this), both.find(node.expression)
    if first in right.columns and second in left.columns:
        first, second = second, first
    if first not in left.columns or second not in right.columns:
        raise UnsafeQuery(
            f"ON{where_in_text(node)} must equate a column of the joined table with one of the "
            "tables before it. Put other conditions into WHERE."
        )
    return first, second


def _check_pairs(
    left: Relation, right: Relation, pairs: list[tuple[Visible, Visible]], node: "Expr"
) -> tuple[tuple[str, str], ...]:
    on: dict[tuple[str, str], None] = {}
    same_unit = False
    for first, second in pairs:
        if first.typed is None and second.typed is None:
            same_unit = True
            continue
        if first.typed is None or second.typed is None:
            unit = first if first.typed is None else second
            raise UnsafeQuery(
                f"{unit.spelt!r}{where_in_text(node)} is the privacy unit: ON may equate it only "
                "with the unit of another private table."
            )
        kinds = first.typed.kind, second.typed.kind
        if Kind.PRESENT in kinds:
            raise UnsafeQuery(
                f"ON{where_in_text(node)}: after LEFT JOIN the unit of its right side can be "
                f"missing. Equate {left.units[0].spelt if left.units else 'the unit'} instead."
            )
        if kinds[0] != kinds[1] and not (kinds[0].is_number and kinds[1].is_number):
            raise UnsafeQuery(
                f"{kinds[0].described} cannot be compared with {kinds[1].described}"
                f"{where_in_text(node)}: {first.spelt} = {second.spelt}."
            )
        assert isinstance(first.typed.expression, Field)
        assert isinstance(second.typed.expression, Field)
        on[(first.typed.expression.name, second.typed.expression.name)] = None
    if left.population is not None and right.population is not None:
        check_people(left, right, node)
        if not same_unit:
            raise _different_people(left, right, node)
    return tuple(on)


def check_people(left: Relation, right: Relation, node: "Expr") -> None:
    """Refuse private tables of which nothing says which rows are of one person."""
    for side in (left, right):
        if side.unit is None:
            raise UnsafeQuery(
                f"{next(scans(side.source))} has no unit{where_in_text(node)}: each row is one "
                "person, so nothing says which rows of another private table are theirs. Join it "
                "only with public tables."
            )
    if left.population != right.population:
        raise UnsafeQuery(
            f"the populations {left.population!r} and {right.population!r} differ"
            f"{where_in_text(node)}: rows of different people would meet. Join tables of one "
            "population."
        )


def _different_people(left: Relation, right: Relation, node: "Expr") -> UnsafeQuery:
    if left.units and right.units:
        advice = f"Add ON {left.units[0].spelt} = {right.units[0].spelt}"
    else:
        unit = sql_name((right if left.units else left).unit or "")
        advice = f"Select {unit} in the subquery, and join on it"
    return UnsafeQuery(
        f"JOIN{where_in_text(node)} without the unit: rows of different people would meet. "
        f"{advice}."
    )
