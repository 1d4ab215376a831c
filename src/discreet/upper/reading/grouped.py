"""A SELECT that groups rows of people, taken apart: the question whose numbers are released, and
what the same SELECT does with them. Both are parsed trees; the first is read as any question.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.readers.naming import free_name
from discreet.query.readers.typed import only, where_in_text
from discreet.query.statement.ranking import ordinal
from discreet.upper.reading.functions import AGGREGATES, RANKED, spell
from discreet.upper.reading.labels import date_key, label_key

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = [
    "Parted",
    "QUERIES",
    "alias_of",
    "group_terms",
    "is_aggregated",
    "name_node",
    "name_of",
    "part_grouped",
    "plain",
    "resolve_term",
    "text_of",
]

QUERIES = ("Select", "Union", "Except", "Intersect")
"""The classes of nodes that are whole queries."""

_ABOVE = ("having", "qualify", "windows", "order")
_BELOW = ("from_", "joins", "where")
_PARTS = ("expressions", "group", "distinct", "limit", "offset", *_ABOVE, *_BELOW)
_LONGEST = 56
_PRIVATE = ("COUNTIF",)


@dataclass(frozen=True, slots=True)
class Parted:
    """The question inside a grouped SELECT, and the SELECT over its columns; `lists_keys` if it
    asks for no number, so that its rows are its keys alone.
    """

    question: "Expr"
    above: "Expr"
    lists_keys: bool = False


def is_aggregated(select: "Expr") -> bool:
    """Whether a SELECT has groups, an aggregate or DISTINCT.

    >>> from discreet.upper.reading.text import read_tree
    >>> is_aggregated(read_tree("SELECT SUM(a) FROM t")[1])
    True
    """
    if select.args.get("group") is not None or select.args.get("distinct") is not None:
        return True
    places = [*select.expressions, *(select.args.get(part) for part in _ABOVE)]
    return any(True for place in places for _ in _find(place))


def group_terms(select: "Expr") -> "list[Expr]":
    """What a SELECT groups by: positions, names of its columns and ALL are resolved."""
    items = [plain(item) for item in select.expressions]
    group = select.args.get("group")
    if group is None:
        distinct = select.args.get("distinct")
        if distinct is None or any(True for item in items for _ in _find(item)):
            return []
        if distinct.args.get("on") is not None:
            raise UnsafeQuery(
                f"DISTINCT ON over rows of people{where_in_text(select)} shows one of them. GROUP "
                "BY the columns, and ask for aggregates."
            )
        return items
    only(group, "expressions", "all")
    if group.args.get("all") and group.expressions:
        raise UnsafeQuery(f"GROUP BY ALL{where_in_text(group)} stands alone. Leave the rest out.")
    if group.args.get("all"):
        return [item for item in items if not any(True for _ in _find(item))]
    return [resolve_term(select, term) for term in group.expressions]


def resolve_term(select: "Expr", term: "Expr") -> "Expr":
    """What a term of GROUP BY stands for: an entry of the SELECT list, or itself."""
    place = ordinal(term, len(select.expressions))
    if place is not None:
        return plain(select.expressions[place])
    aliased = [
        item
        for item in select.expressions
        if alias_of(item) and _names(term, item) and not any(True for _ in _find(item))
    ]
    if not aliased:
        return term
    named = plain(aliased[0])
    inside = [inner for inner in named.walk() if _bare(inner).casefold() == _bare(term).casefold()]
    if inside and inside[0] is not named:
        raise UnsafeQuery(
            f"GROUP BY {_bare(term)[:60]!r}{where_in_text(term)} is both a column and the alias of "
            "something else. Choose another alias, or group by the position in the SELECT list."
        )
    return named


def part_grouped(select: "Expr") -> Parted:
    """A grouped SELECT in its two parts.

    >>> from discreet.upper.reading.text import read_tree
    >>> parted = part_grouped(read_tree("SELECT UPPER(r) AS u, COUNT(*) FROM t GROUP BY r")[1])
    >>> parted.question.sql()
    'SELECT r AS r, COUNT(*) AS count FROM t GROUP BY r'
    >>> parted.above.sql()
    'SELECT UPPER("r") AS u, "count" AS count'
    """
    only(select, *_PARTS)
    return _Parting(select).part()


class _Parting:
    """The columns of the question so far, and what stands for them above."""

    __slots__ = ("_aliases", "_keys", "_labelled", "_made", "_named", "_select", "_used")

    def __init__(self, select: "Expr") -> None:
        self._select = select
        self._used: list[str] = []
        self._made: list[tuple[str, Expr]] = []  # the columns of the question
        self._named: dict[str, str] = {}  # what is released, as text, and its column
        self._labelled: dict[str, tuple[Expr, str]] = {}  # texts of dates, and these as text
        self._keys = group_terms(select)
        self._aliases = [alias_of(item) for item in select.expressions if alias_of(item)]

    def part(self) -> Parted:
        from sqlglot import expressions as trees

        select = self._select
        reserved = self._aliases
        aliases = {
            text_of(plain(item), select): alias_of(item)
            for item in select.expressions
            if alias_of(item)
        }
        for key in self._keys:
            dated = date_key(key)
            if dated is None:
                self._release(key, aliases, reserved)
            else:
                self._labelled[text_of(key, select)] = (key, text_of(dated, select))
                self._release(dated, {}, [*reserved, *aliases.values()])
        places = [*select.expressions, *(select.args.get(part) for part in _ABOVE)]
        for place in places:
            for found in _find(place):
                self._release(found, aliases, reserved)
        lists_keys = len(self._made) == len(self._keys)
        if lists_keys and not self._keys:
            raise UnsafeQuery(
                "the question asks for no aggregate. Add COUNT(*), SUM or AVG to the SELECT list."
            )
        if lists_keys:  # a question needs a number; keys that are not public are chosen by it
            count = trees.Anonymous(this="COUNT", expressions=[trees.Star()])
            self._made.append(("$count", count))  # a name that no outer query can say
        question = trees.Select(
            **{part: _copy(select.args[part]) for part in _BELOW if select.args.get(part)}
        )
        question.set(
            "expressions",
            [name_node(node.copy(), name) for name, node in self._made],
        )
        if self._keys:
            keys = [date_key(key) or key.copy() for key in self._keys]
            group = trees.Group(expressions=keys)
            question.set("group", group)
        return Parted(question, self._above(), lists_keys)

    def _release(self, node: "Expr", aliases: dict[str, str], reserved: list[str]) -> None:
        text = text_of(node, self._select)
        if text in self._named:
            return
        name = aliases.get(text) or free_name(name_of(node), [*self._used, *reserved])
        self._used.append(name)
        self._named[text] = name
        self._made.append((name, node))

    def _above(self) -> "Expr":
        from sqlglot import expressions as trees

        select = self._select
        items = []
        names: list[str] = []
        for item in select.expressions:
            name = free_name(alias_of(item) or name_of(plain(item)), names)
            names.append(name)
            items.append(name_node(self._raise(plain(item)), name))
        above = trees.Select(expressions=items)
        having = select.args.get("having")
        if having is not None:
            lifted = self._raise(self._resolve(having.this))
            above.set("where", trees.Where(this=lifted))
        for part in ("qualify", "windows", "order"):
            found = select.args.get(part)
            if isinstance(found, list):
                above.set(part, [self._raise(node) for node in found])
            elif part == "order" and found is not None:
                above.set(part, self._raise_order(found))
            elif found is not None:
                above.set(part, self._raise(found))
        for part in ("limit", "offset"):
            if select.args.get(part) is not None:
                above.set(part, select.args[part].copy())
        if select.args.get("distinct") is not None:
            above.set("distinct", self._raise(select.args["distinct"]))
        return above

    def _raise_order(self, order: "Expr") -> "Expr":
        """ORDER BY, in which the name of a column of the result comes before all others."""
        aliases = {alias.casefold() for alias in self._aliases}
        changed = order.copy()
        terms = []
        for term in order.expressions:
            shown = _bare(term.this).casefold() in aliases
            terms.append(term.copy() if shown else self._raise(term))
        changed.set("expressions", terms)
        return changed

    def _resolve(self, node: "Expr") -> "Expr":
        """A condition in which names of the SELECT list stand for what they name."""
        listed = {
            alias_of(item).casefold(): plain(item)
            for item in self._select.expressions
            if alias_of(item)
        }
        released = {name.casefold() for name in self._named.values()}

        def change(inner: "Expr") -> "Expr":
            if _is_aggregate(inner) or type(inner).__name__ in (*QUERIES, "Subquery"):
                return inner.copy()
            name = _bare(inner).casefold()
            if name in listed and name not in released:
                return listed[name].copy()
            changed = inner.copy()
            for part, value in inner.args.items():
                if isinstance(value, list):
                    changed.set(part, [change(v) if hasattr(v, "args") else v for v in value])
                elif hasattr(value, "args"):
                    changed.set(part, change(value))
            return changed

        if any(type(inner).__name__ == "Window" for inner in node.walk()):
            raise UnsafeQuery(
                f"a window in HAVING{where_in_text(node)} is not supported. Write QUALIFY."
            )
        return change(node)

    def _raise(self, node: "Expr") -> "Expr":
        """The node with the columns of the question in the place of keys and aggregates."""
        from sqlglot import expressions as trees

        known = self._named.get(text_of(node, self._select))
        if known is not None:
            return trees.column(trees.to_identifier(known, quoted=True))
        labelled = self._labelled.get(text_of(node, self._select))
        if labelled is not None:
            key, dated = labelled
            column = trees.column(trees.to_identifier(self._named[dated], quoted=True))
            return label_key(key, column)
        if type(node).__name__ in (*QUERIES, "Subquery"):
            return node.copy()
        changed = node.copy()
        for part, value in node.args.items():
            if isinstance(value, list):
                parts = [self._raise(each) if hasattr(each, "args") else each for each in value]
                changed.set(part, parts)
            elif hasattr(value, "args"):
                changed.set(part, self._raise(value))
        name = _bare(node)
        known_names = {name.casefold() for name in [*self._aliases, *self._named.values()]}
        known_names.add("all")  # of ORDER BY
        if type(node).__name__ == "Column" and name.casefold() not in known_names:
            raise UnsafeQuery(
                f"{node.sql()[:60]!r}{where_in_text(node)} is neither grouped by nor inside an "
                "aggregate. Add it to GROUP BY."
            )
        return changed


def _find(place: object) -> "Iterable[Expr]":
    """The aggregates of rows in a part of a SELECT, from left to right; not windows over them."""
    if place is None:
        return
    if isinstance(place, list):
        for part in place:
            yield from _find(part)
        return
    kind = type(place).__name__
    if kind in (*QUERIES, "Subquery") or not hasattr(place, "args"):
        return
    if kind == "Window":
        yield from _find_inside(place)  # type: ignore[arg-type]
        return
    if _is_aggregate(place):  # type: ignore[arg-type]
        yield place  # type: ignore[misc]
        return
    for value in place.args.values():
        yield from _find(value)


def _find_inside(window: "Expr") -> "Iterable[Expr]":
    """The aggregates of rows inside a window function, which is none itself."""
    called = window.this
    if type(called).__name__ in ("IgnoreNulls", "RespectNulls"):
        called = called.this
    for value in called.args.values():
        yield from _find(value)
    for part in ("partition_by", "order", "spec"):
        yield from _find(window.args.get(part))


def _is_aggregate(node: "Expr") -> bool:
    kind = type(node).__name__
    if kind in ("Filter", "WithinGroup"):
        return _is_aggregate(node.this) or kind == "WithinGroup"
    if kind != "Anonymous":
        return False
    name = spell(str(node.this))
    return name in AGGREGATES or name in RANKED or name in _PRIVATE


def plain(item: "Expr") -> "Expr":
    """An entry of a SELECT list without its alias and parentheses."""
    inner: Expr = item.this if type(item).__name__ == "Alias" else item
    while type(inner).__name__ == "Paren":
        inner = inner.this
    return inner


def alias_of(item: "Expr") -> str:
    """The alias of an entry of a SELECT list; empty without one."""
    return str(item.args["alias"].this) if type(item).__name__ == "Alias" else ""


def _bare(node: "Expr") -> str:
    """The name that a column without a table is; empty for all others."""
    if type(node).__name__ != "Column" or node.args.get("table") is not None:
        return ""
    return str(node.this.this) if type(node.this).__name__ == "Identifier" else ""


def _names(term: "Expr", item: "Expr") -> bool:
    """Whether a term of GROUP BY is the alias of an item that is not a column of that name."""
    return _bare(term).casefold() == alias_of(item).casefold()


def text_of(node: "Expr", select: "Expr") -> str:
    """A node of a SELECT as text by which equal ones are known: without capitals, and without the
    tables of names where there is but one.
    """
    alone = not select.args.get("joins")
    changed = plain(node).copy()
    for inner in list(changed.walk()):
        if type(inner).__name__ == "Column":
            inner.set("table", None if alone else inner.args.get("table"))
            inner.set("db", None)
        if type(inner).__name__ == "Identifier":
            inner.set("this", str(inner.this).casefold())
            inner.set("quoted", False)
        if type(inner).__name__ == "Anonymous":
            inner.set("this", spell(str(inner.this)))
    return str(changed.sql(comments=False))


def name_of(node: "Expr") -> str:
    """What a released column without an alias is called."""
    kind = type(node).__name__
    if kind == "Column" and type(node.this).__name__ == "Identifier":
        return str(node.this.this)
    if kind in ("Window", "Filter", "WithinGroup", "Paren"):
        return name_of(node.this)
    if kind in ("Cast", "TryCast"):
        return name_of(node.this)
    if kind == "Anonymous":
        first = node.expressions[0] if node.expressions else None
        head = str(node.this).lower()
        bare = "" if first is None else _bare(first)
        return f"{head}_{bare}"[:_LONGEST] if bare else head[:_LONGEST]
    return "case" if kind == "Case" else "value"


def _copy(value: object) -> object:
    if isinstance(value, list):
        return [_copy(each) for each in value]
    return value.copy() if hasattr(value, "copy") else value


def name_node(node: "Expr", name: str) -> "Expr":
    """An entry of a SELECT list: a node with an alias."""
    from sqlglot import expressions as trees

    quoted = not _is_plain(name)
    return trees.Alias(this=node, alias=trees.to_identifier(name, quoted=quoted))


def _is_plain(name: str) -> bool:
    return name.isidentifier() and name.isascii()
