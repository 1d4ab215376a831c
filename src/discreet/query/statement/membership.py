"""WHERE with a SELECT in it: whether a person has rows elsewhere, by IN (SELECT ...) and EXISTS.
Each becomes a join on the unit with one row for each unit, so a person's rows are kept or left out
by the rows of that same person.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Field, IsNull, Join, Literal, Negation, PerUnit
from discreet.query.readers.naming import free_name
from discreet.query.readers.typed import Kind, Typed, only, refuse, where_in_text
from discreet.query.statement.relations import Relation, describe
from discreet.query.statement.scopes import Rows
from discreet.query.statement.select import condition
from discreet.query.statement.sources import (
    Known,
    Subquery,
    check_people,
    check_scans,
    from_clause,
    one_each,
)
from discreet.schema.names import sql_name

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["join_members"]

_TRUE = Typed(Literal(True), Kind.BOOLEAN)
_WRITE = "Write EXISTS (SELECT 1 FROM b WHERE b.unit = a.unit AND ...), or unit IN (SELECT ...)."


def join_members(
    relation: Relation, clause: "Expr | None", known: Known, subquery: Subquery
) -> Rows:
    """The rows with all that the subqueries of a WHERE say of them.

    A test that stands alone or after AND is an inner join, any other one a left join.
    >>> import sqlglot
    >>> from discreet.schema import Table
    >>> tables = {"t": Table("t", unit="id"), "s": Table("s", unit="id", population="t")}
    >>> test = "EXISTS (SELECT 1 FROM s WHERE s.id = t.id)"
    >>> clause = sqlglot.parse_one(f"SELECT 1 FROM t WHERE {test}").args["where"]
    >>> rows = join_members(Relation.of(tables["t"], "t"), clause, Known(tables), None)
    >>> rows.relation.source.right
    PerUnit(source=Scan(table='s', names=()), where=None, keys=(), columns=())
    """
    if clause is None:
        return Rows(relation)
    settled: dict[int, Typed] = {}
    alone = {id(node) for node in _conjuncts(clause.this)}
    taken = list(relation.spellings)
    for node in _tests(clause.this):
        members = _members(node, relation, known, subquery)
        if id(node) in alone:
            relation = replace(relation, source=Join("inner", relation.source, members, ()))
            settled[id(node)] = _TRUE
        else:
            flag = free_name("present", taken)
            taken.append(flag)
            flagged = replace(members, columns=((flag, Literal(True)),))
            relation = replace(relation, source=Join("left", relation.source, flagged, ()))
            settled[id(node)] = Typed(Negation(IsNull(Field(flag))), Kind.BOOLEAN)
        check_scans(relation, node)
    return Rows(relation, settled)


def _conjuncts(node: "Expr") -> Iterator["Expr"]:
    # Chains are left-deep and as long as the text allows: no recursion here.
    waiting = [node]
    while waiting:
        current = waiting.pop()
        name = type(current).__name__
        if name == "And":
            waiting += [current.expression, current.this]
        elif name == "Paren":
            waiting.append(current.this)
        else:
            yield current


def _tests(node: "Expr") -> Iterator["Expr"]:
    """The tests with a SELECT, from left to right, but none inside another."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        name = type(current).__name__
        if name == "Exists" or (name == "In" and current.args.get("query") is not None):
            yield current
        elif name not in ("Select", "Subquery"):
            waiting += reversed(list(current.iter_expressions()))


def _members(node: "Expr", outer: Relation, known: Known, subquery: Subquery) -> PerUnit:
    """One row for each unit that passes a test."""
    if type(node).__name__ == "Exists":
        return _exists(node, outer, known, subquery)
    only(node, "this", "query")
    query = node.args["query"]
    what = f"IN (SELECT ...){where_in_text(node)}"
    if type(query).__name__ != "Subquery" or type(query.this).__name__ != "Select":
        raise refuse(node, "Write unit IN (SELECT unit FROM ...).")
    only(query, "this")
    operand = node.this
    if type(operand).__name__ != "Column" or outer.find(operand).typed is not None:
        raise UnsafeQuery(
            f"{what} tests only the privacy unit, as in {_unit_name(outer)} IN (SELECT ...). "
            "Write a JOIN with the subquery for other columns, or list constants."
        )
    inner = subquery(query.this, known)
    _check_private(inner, what)
    check_people(outer, inner, node)
    if len(inner.columns) != 1 or inner.columns[0].typed is not None:
        raise UnsafeQuery(
            f"{what}: the SELECT must show the privacy unit and nothing else. "
            f"Write IN (SELECT {_unit_name(inner)} FROM ...)."
        )
    return one_each(inner.source)


def _unit_name(relation: Relation) -> str:
    return sql_name(relation.units[0].name if relation.units else relation.unit or "unit")


def _check_private(inner: Relation, what: str) -> None:
    if inner.population is None:
        raise UnsafeQuery(
            f"{what}: {describe(inner.source)} is public and has no unit. Write a JOIN on its "
            "declared key; LEFT JOIN and IS NULL for rows that have no match."
        )


def _exists(node: "Expr", outer: Relation, known: Known, subquery: Subquery) -> PerUnit:
    only(node, "this")
    select, what = node.this, f"EXISTS{where_in_text(node)}"
    if type(select).__name__ != "Select":
        raise refuse(node, _WRITE)
    only(select, "expressions", "from_", "joins", "where")
    inner = from_clause(select, known, subquery)
    _check_private(inner, what)
    check_people(outer, inner, node)
    _check_shown(select, inner)
    clause = select.args.get("where")
    correlated = _correlations(clause, inner, outer)
    if not correlated:
        units = f"{_unit_name(inner)} = {_unit_name(outer)}"
        raise UnsafeQuery(
            f"{what} without the unit: it would ask whether anybody has rows. Add WHERE {units} to "
            "its SELECT, each with its table or alias before it."
        )
    rows = join_members(inner, clause, known, subquery)
    rows = replace(rows, settled={**rows.settled, **dict.fromkeys(correlated, _TRUE)})
    _check_outer(clause, rows.settled, inner, outer)
    return PerUnit(rows.relation.source, condition(clause, rows), (), ())


def _check_shown(select: "Expr", inner: Relation) -> None:
    """Whether any row exists does not depend on what is selected, unless it is an aggregate."""
    for item in select.expressions:
        shown = item.this if type(item).__name__ == "Alias" else item
        if type(shown).__name__ == "Column" and type(shown.this).__name__ == "Identifier":
            inner.find(shown)
        elif type(shown).__name__ not in ("Column", "Literal", "Null", "Star"):
            raise UnsafeQuery(
                f"EXISTS looks only at whether there are rows{where_in_text(select)}. Write "
                "EXISTS (SELECT 1 FROM ...); for a condition on aggregates, unit IN (SELECT unit "
                "FROM ... GROUP BY unit HAVING ...)."
            )


def _correlations(clause: "Expr | None", inner: Relation, outer: Relation) -> list[int]:
    """The conditions that equate both units, which are what joins them."""
    if clause is None:
        return []
    return [
        id(node)
        for node in _conjuncts(clause.this)
        if type(node).__name__ == "EQ"
        and {type(side).__name__ for side in (node.this, node.expression)} == {"Column"}
        and (
            (_is_unit(node.this, inner) and _is_outer_unit(node.expression, inner, outer))
            or (_is_unit(node.expression, inner) and _is_outer_unit(node.this, inner, outer))
        )
    ]


def _is_unit(column: "Expr", inner: Relation) -> bool:
    return _is_inside(column, inner) and inner.find(column).typed is None


def _is_outer_unit(column: "Expr", inner: Relation, outer: Relation) -> bool:
    inside = _is_inside(column, inner)
    return not inside and _is_inside(column, outer) and outer.find(column).typed is None


def _is_inside(column: "Expr", relation: Relation) -> bool:
    """Whether a name is one of a relation's, where names of the inner SELECT come first."""
    table = column.args.get("table")
    return bool(relation.find_all(column.name, "" if table is None else str(table.this)))


def _check_outer(
    clause: "Expr", settled: Mapping[int, object], inner: Relation, outer: Relation
) -> None:
    """Refuse other conditions on columns of the outer SELECT in words that say so."""
    waiting = [clause.this]
    while waiting:
        node = waiting.pop()
        if id(node) in settled:
            continue
        if type(node).__name__ == "Column":
            if not _is_inside(node, inner) and _is_inside(node, outer):
                raise UnsafeQuery(
                    f"{outer.find(node).spelt}{where_in_text(node)} is a column outside of EXISTS, "
                    "which may compare only the units. Put a condition on it into the outer WHERE; "
                    "to compare columns of both, JOIN the tables and GROUP BY the unit."
                )
        else:
            waiting += node.iter_expressions()
