"""ROLLUP, CUBE and GROUPING SETS over rows of people, as one question for each list of keys: every
margin gets its own noise, which is less than that of all the groups it adds up.
"""

from itertools import combinations, product
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.readers.naming import free_name
from discreet.query.readers.typed import only, where_in_text
from discreet.upper.reading.grouped import (
    alias_of,
    name_node,
    name_of,
    plain,
    resolve_term,
    text_of,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["expand_sets", "has_sets"]

_SETS = ("Rollup", "Cube", "GroupingSets")
_MOST = 16
_ABOVE = ("qualify", "windows", "distinct")

Terms = tuple["Expr", ...]


def has_sets(select: "Expr") -> bool:
    """Whether a SELECT groups by several lists of keys."""
    group = select.args.get("group")
    return group is not None and any(type(term).__name__ in _SETS for term in group.expressions)


def expand_sets(select: "Expr") -> "Expr":
    """The same rows as the union of one SELECT for each list of keys.

    >>> from discreet.upper.reading.text import read_tree
    >>> tree = read_tree("SELECT a, COUNT(*) AS n FROM t GROUP BY ROLLUP (a)")[1]
    >>> expand_sets(tree).expression.sql()
    'SELECT NULL AS a, COUNT(*) AS n FROM t'
    """
    from sqlglot import expressions as trees

    for part in _ABOVE:
        if select.args.get(part):
            raise UnsafeQuery(
                f"{part.upper()} beside ROLLUP, CUBE or GROUPING SETS{where_in_text(select)} is "
                "not supported. Put it into an outer query."
            )
    lists = _lists(select)
    keys = {text_of(term, select): term for terms in lists for term in terms}
    names: list[str] = []
    for item in select.expressions:
        names.append(free_name(alias_of(item) or name_of(plain(item)), names))
    sides = [_select_one(select, terms, keys, names) for terms in lists]
    union = sides[0]
    for side in sides[1:]:
        union = trees.Union(this=union, expression=side, distinct=False)
    for part in ("limit", "offset"):
        if select.args.get(part) is not None:
            union.set(part, select.args[part].copy())
    order = select.args.get("order")
    if order is not None:
        union.set("order", _order(select, order, names))
    if select.args.get("with_") is not None:
        union.set("with_", select.args["with_"].copy())
    return union


def _lists(select: "Expr") -> list[Terms]:
    group = select.args["group"]
    only(group, "expressions")
    choices: list[list[Terms]] = []
    for term in group.expressions:
        kind = type(term).__name__
        if kind not in _SETS:
            choices.append([(resolve_term(select, term),)])
            continue
        only(term, "expressions")
        listed = [tuple(resolve_term(select, one) for one in _several(t)) for t in term.expressions]
        if kind == "GroupingSets":
            choices.append(listed)
        elif kind == "Rollup":
            choices.append([_join(listed[:size], select) for size in range(len(listed), -1, -1)])
        else:
            sizes = range(len(listed), -1, -1)
            choices.append(
                [_join(list(c), select) for size in sizes for c in combinations(listed, size)]
            )
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > _MOST:
        raise UnsafeQuery(
            f"the question has {count} groupings{where_in_text(group)}; the limit is {_MOST}. Ask "
            "for the ones that are needed, in GROUPING SETS."
        )
    return [_join(list(parts), select) for parts in product(*choices)]


def _join(parts: list[Terms], select: "Expr") -> Terms:
    known = {text_of(term, select): term for part in parts for term in part}
    return tuple(known.values())


def _several(node: "Expr") -> "list[Expr]":
    if type(node).__name__ == "Tuple":
        return list(node.expressions)
    return [node.this] if type(node).__name__ == "Paren" else [node]


def _select_one(select: "Expr", terms: Terms, keys: dict[str, "Expr"], names: list[str]) -> "Expr":
    """The SELECT of one list of keys: the others are missing in it."""
    from sqlglot import expressions as trees

    here = {text_of(term, select) for term in terms}
    gone = set(keys) - here
    one = trees.Select(
        **{
            part: [each.copy() for each in select.args[part]]
            if isinstance(select.args[part], list)
            else select.args[part].copy()
            for part in ("from_", "joins", "where")
            if select.args.get(part)
        }
    )
    items = []
    for item, name in zip(select.expressions, names, strict=True):
        items.append(name_node(_leave_out(plain(item), gone, select), name))
    one.set("expressions", items)
    if terms:
        one.set("group", trees.Group(expressions=[term.copy() for term in terms]))
    if select.args.get("having") is not None:
        condition = _leave_out(select.args["having"].this, gone, select)
        one.set("having", trees.Having(this=condition))
    return one


def _leave_out(node: "Expr", gone: set[str], select: "Expr") -> "Expr":
    """An expression in which keys that are not grouped by are NULL, and GROUPING says so."""
    from sqlglot import expressions as trees

    if text_of(node, select) in gone:
        return trees.Null()
    if type(node).__name__ == "Anonymous" and str(node.this).upper() in ("GROUPING", "GROUPING_ID"):
        bits = [int(text_of(part, select) in gone) for part in node.expressions]
        return trees.Literal.number(int("".join(map(str, bits)) or "0", 2))
    changed = node.copy()
    for part, value in node.args.items():
        if isinstance(value, list):
            changed.set(
                part, [_leave_out(v, gone, select) if hasattr(v, "args") else v for v in value]
            )
        elif hasattr(value, "args") and type(value).__name__ != "Identifier":
            changed.set(part, _leave_out(value, gone, select))
    return changed


def _order(select: "Expr", order: "Expr", names: list[str]) -> "Expr":
    """The order of the whole, by columns of the result."""
    from sqlglot import expressions as trees

    shown = {
        text_of(plain(item), select): name
        for item, name in zip(select.expressions, names, strict=True)
    }
    changed = order.copy()
    for term in changed.expressions:
        name = shown.get(text_of(term.this, select))
        if name is not None:
            term.set("this", trees.column(trees.to_identifier(name, quoted=True)))
    return changed
