"""A statement taken apart: private blocks, which are questions of their own, and one outer query
over their released rows. A block is read by the same front door as any question.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Options, Query
from discreet.query.parse import parse
from discreet.query.readers.typed import where_in_text
from discreet.schema.column import nearest
from discreet.schema.names import sql_name
from discreet.schema.table import Table
from discreet.upper import tree
from discreet.upper.reading.grouped import QUERIES, group_terms, is_aggregated, part_grouped
from discreet.upper.reading.margins import expand_sets, has_sets
from discreet.upper.reading.read import BLOCK, read_query
from discreet.upper.reading.text import read_tree

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["Asked", "Statement", "read_statement"]

_LINE = re.compile(r" \(line \d+[^)]*\)")
_WORD = re.compile(r"[A-Z][A-Z_]+\b|[a-z_]+(?= \(line)")
_SCHEMAS = ("main", "public")
_LARGEST = 20_000  # parts of a parsed question


@dataclass(frozen=True, slots=True)
class Asked:
    """One private block: its own text, and the question that it is; `lists_keys` if nothing uses
    its numbers.
    """

    text: str
    query: Query
    lists_keys: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """Private blocks, each once, and what stands above them."""

    blocks: tuple[Asked, ...]
    upper: tree.Query
    options: Options


class _Status(StrEnum):
    """What a query reads: rows of people, released rows, public tables, or constants alone."""

    PEOPLE = "people"
    RELEASED = "released"
    PUBLIC = "public"
    CONSTANT = "constant"


class _Unsplit(Exception):
    """A text that is no statement with private blocks; what refused it as a question stands."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A subquery that WITH has named."""

    status: _Status
    node: "Expr"
    units: frozenset[str]


_Names = Mapping[str, _Known]


def read_statement(text: str, tables: Mapping[str, Table]) -> Query | Statement:
    """Read one statement about the tables, or refuse it with UnsafeQuery.

    A question that can be answered by itself is one; anything else is taken apart.
    >>> from discreet.schema import Column
    >>> visits = Table("visits", columns=(Column("age", "integer", upper=110),))
    >>> text = "SELECT COUNT(*) / (SELECT COUNT(*) FROM visits) FROM visits WHERE age > 17"
    >>> [block.text for block in read_statement(text, {"visits": visits}).blocks]
    ['SELECT COUNT(*) AS count FROM visits WHERE age > 17', 'SELECT COUNT(*) FROM visits']
    """
    try:
        return parse(text, tables)
    except UnsafeQuery as refusal:
        first = refusal
    try:
        return _split(text, tables, str(first))
    except _Unsplit:
        raise first from None
    except RecursionError:
        raise UnsafeQuery("the question is nested too deeply. Write it flatter.") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise first from None  # a tree of a shape that nobody writes


def _split(text: str, tables: Mapping[str, Table], refusal: str) -> Statement:
    try:
        shared, node = read_tree(text)
    except UnsafeQuery:
        raise _Unsplit from None
    _refuse_hidden(node)
    word = _WORD.match(refusal)
    splitter = _Splitter(tables, shared.limits, word.group(0).upper() if word else "")
    try:
        above = splitter.read(node, {})
        upper = read_query(above, {})
    except UnsafeQuery as error:
        if _LINE.sub("", refusal) == _LINE.sub("", str(error)):
            raise _Unsplit from None  # which says where in the text
        raise
    if not splitter.blocks:
        raise _Unsplit
    return Statement(tuple(splitter.blocks), upper, shared.options)


def _refuse_hidden(node: "Expr") -> None:
    """Refuse a table with its schema beside a subquery of WITH that has the same name."""
    from sqlglot import expressions as trees

    named = {str(common.alias).casefold() for common in node.find_all(trees.CTE)}
    for table in node.find_all(trees.Table):
        if table.args.get("db") is not None and str(table.name).casefold() in named:
            raise UnsafeQuery(
                f"{str(table.name)[:60]!r}{where_in_text(table)} is a table and the name of a "
                "subquery in WITH. Choose another name for the subquery."
            )


@dataclass(slots=True)
class _Splitter:
    """Walks a parsed statement from above, and cuts the private blocks out of it."""

    tables: Mapping[str, Table]
    limits: str
    word: str  # with which the refusal of the whole text as one question begins
    blocks: list[Asked] = field(default_factory=list)

    def read(self, node: "Expr", names: _Names) -> "Expr":
        """A query that shows released rows, with its private blocks cut out."""
        if type(node).__name__ == "Subquery":
            changed = node.copy()
            changed.set("this", self.read(node.this, names))
            return changed
        if type(node).__name__ not in QUERIES:
            raise _Unsplit
        names, commons = self._read_commons(node, names)
        if type(node).__name__ != "Select":
            changed = node.copy()
            for side in ("this", "expression"):
                changed.set(side, self.read(node.args[side], names))
        else:
            status = self._status(node, names)
            if status in (_Status.PEOPLE, _Status.PUBLIC):
                raise _Unsplit if not self.blocks else _refuse_rows(node, status)
            block = self._is_block(node, names)
            if block and has_sets(node):
                return self.read(expand_sets(node), names)
            changed = self._cut(node, names) if block else self._above(node, names)
        if commons is not None and (commons.expressions or node.args.get("with_") is not None):
            changed.set("with_", commons if commons.expressions else None)
        return changed

    def _read_commons(self, node: "Expr", names: _Names) -> "tuple[_Names, Expr | None]":
        """The names of WITH; those that show released rows stay there."""
        clause = node.args.get("with_")
        if clause is None:
            return names, None
        known, kept = dict(names), []
        if clause.args.get("recursive"):
            raise _Unsplit
        for common in clause.expressions:
            name = str(common.args["alias"].this.this)
            status = self._status(common.this, known)
            if status in (_Status.PEOPLE, _Status.PUBLIC):
                if common.args["alias"].args.get("columns"):
                    raise UnsafeQuery(
                        f"WITH {name[:60]} names its columns. Name them in its SELECT list."
                    )
                inner = self._inline(common.this, known)
            else:
                changed = common.copy()
                changed.set("this", self.read(common.this, known))
                kept.append(changed)
                inner = changed.this
            units = self._units(common.this, known) if status is _Status.PEOPLE else frozenset()
            known[name.casefold()] = _Known(status, inner, units)
        changed = clause.copy()
        changed.set("expressions", kept)
        return known, changed

    def _status(self, node: "Expr", names: _Names) -> _Status:
        kind = type(node).__name__
        if kind == "Subquery":
            return self._status(node.this, names)
        names = self._see_commons(node, names)
        if kind in QUERIES and kind != "Select":
            sides = {self._status(node.args[side], names) for side in ("this", "expression")}
            return _join(sides)
        if kind != "Select":
            return _Status.CONSTANT
        statuses = {self._source_status(source, names) for source in _sources(node)}
        if _Status.PEOPLE in statuses:
            if _Status.RELEASED in statuses:
                raise UnsafeQuery(
                    "rows of people are joined with released numbers"
                    f"{where_in_text(node)}. Aggregate both first, and join the results."
                )
            return _Status.RELEASED if self._is_block(node, names) else _Status.PEOPLE
        inner = {self._status(query, names) for query in _inner_queries(node)}
        if _Status.PEOPLE in inner:
            inner = {_Status.PEOPLE}
        return _join(statuses | inner)

    def _see_commons(self, node: "Expr", names: _Names) -> _Names:
        clause = node.args.get("with_")
        if clause is None:
            return names
        known = dict(names)
        for common in clause.expressions:
            status = self._status(common.this, known)
            units = self._units(common.this, known) if status is _Status.PEOPLE else frozenset()
            name = str(common.args["alias"].this.this).casefold()
            below = status in (_Status.PEOPLE, _Status.PUBLIC)
            inner = self._inline(common.this, known) if below else common.this
            known[name] = _Known(status, inner, units)
        return known

    def _source_status(self, node: "Expr", names: _Names) -> _Status:
        kind = type(node).__name__
        if kind == "Subquery":
            return self._status(node.this, names)
        if kind != "Table":
            return _Status.CONSTANT
        name = _table_name(node)
        if name.casefold() in names:
            return names[name.casefold()].status
        table = self._find(name)
        if table is None:
            raise UnsafeQuery(
                f"there is no table {name[:60]!r}{where_in_text(node)}. "
                f"{nearest(name[:60], list(self.tables), spelt=sql_name)}"
            )
        return _Status.PUBLIC if table.kind == "public" else _Status.PEOPLE

    def _find(self, name: str) -> Table | None:
        matching = [table for known, table in self.tables.items() if _same(known, name)]
        return matching[0] if matching else None

    def _is_block(self, node: "Expr", names: _Names) -> bool:
        """Whether a SELECT aggregates rows of people, and not those of one unit."""
        sources = _sources(node)
        if not any(self._source_status(source, names) is _Status.PEOPLE for source in sources):
            return False
        if not is_aggregated(node):
            return False
        units = frozenset().union(*(self._source_units(source, names) for source in sources))
        return has_sets(node) or not any(_column_name(term) in units for term in group_terms(node))

    def _units(self, node: "Expr", names: _Names) -> frozenset[str]:
        """The names under which a query of people's rows shows their unit."""
        if type(node).__name__ != "Select":
            return frozenset()
        units = frozenset().union(*(self._source_units(source, names) for source in _sources(node)))
        shown: set[str] = set()
        for item in node.expressions:
            inner = item.this if type(item).__name__ == "Alias" else item
            if type(inner).__name__ == "Star" or type(inner.this).__name__ == "Star":
                shown |= units
            elif _column_name(inner) in units:
                alias = item.args["alias"].this if type(item).__name__ == "Alias" else None
                shown.add(_column_name(inner) if alias is None else str(alias).casefold())
        return frozenset(shown)

    def _source_units(self, node: "Expr", names: _Names) -> frozenset[str]:
        if type(node).__name__ == "Subquery":
            return self._units(node.this, names)
        if type(node).__name__ != "Table":
            return frozenset()
        name = _table_name(node).casefold()
        if name in names:
            return names[name].units
        table = self._find(name)
        unit = None if table is None else table.unit
        return frozenset() if unit is None else frozenset((unit.casefold(),))

    def _cut(self, node: "Expr", names: _Names) -> "Expr":
        """A SELECT over the released rows of a block, in the place of the block."""
        from sqlglot import expressions as trees

        own = node.copy()
        own.set("with_", None)
        if any(map(_is_interval_end, own.walk())):
            raise _Unsplit  # which stands beside its column only
        place = None
        if not any(True for _ in _inner_queries(own)):
            place = self._add(self._inline(own, names), first=True)
        if place is not None:
            star = trees.Select(expressions=[trees.Star()])
            return _read_from(star, place)
        parted = part_grouped(own)
        place = self._add(self._inline(parted.question, names), listing=parted.lists_keys)
        assert place is not None
        return _read_from(self._rewrite(parted.above, names), place)

    def _add(self, node: "Expr", *, first: bool = False, listing: bool = False) -> int | None:
        """The place of a block in the statement; None if it cannot be asked as it is."""
        text = _render(node, self.limits)
        try:
            query = parse(text, self.tables)
        except UnsafeQuery as refusal:
            text = _render(_quote_names(node), self.limits)  # one may be a word of SQL
            try:
                query = parse(text, self.tables)
            except UnsafeQuery as second:
                if first:
                    return None
                named = "is a word of SQL" in str(refusal)
                if self.word and self.word in text.upper() and not named:
                    raise _Unsplit from None  # refused for the same word, whose line is known
                raise UnsafeQuery(_LINE.sub("", str(second if named else refusal))) from None
        asked = [block.query for block in self.blocks]
        if query in asked:
            place = asked.index(query)
            earlier = self.blocks[place]
            self.blocks[place] = replace(earlier, lists_keys=earlier.lists_keys and listing)
            return place
        self.blocks.append(Asked(text, query, listing))
        return len(self.blocks) - 1

    def _above(self, node: "Expr", names: _Names) -> "Expr":
        changed = node.copy()
        changed.set("with_", None)
        return self._rewrite(changed, names)

    def _rewrite(self, node: "Expr", names: _Names) -> "Expr":
        """A part of an outer query, with the blocks inside it cut out."""
        for part, value in list(node.args.items()):
            if isinstance(value, list):
                node.set(part, [self._rewrite_one(each, names) for each in value])
            else:
                node.set(part, self._rewrite_one(value, names))
        return node

    def _rewrite_one(self, value: object, names: _Names) -> object:
        if not hasattr(value, "args"):
            return value
        if type(value).__name__ in QUERIES:
            return self.read(value, names)  # type: ignore[arg-type]
        if type(value).__name__ == "Table":
            self._check_above(value, names)  # type: ignore[arg-type]
            return value
        return self._rewrite(value, names)  # type: ignore[arg-type]

    def _check_above(self, node: "Expr", names: _Names) -> None:
        """Refuse a table in an outer query that has no released rows."""
        name = _table_name(node)
        if name.casefold() not in names and self._find(name) is not None:
            raise _refuse_rows(node, self._source_status(node, names))

    def _inline(self, node: "Expr", names: _Names) -> "Expr":
        """A private query with the subqueries of WITH in the place of their names."""
        from sqlglot import expressions as trees

        names = self._see_commons(node, names)
        changed = node.copy()
        changed.set("with_", None)
        for column in changed.find_all(trees.Column):
            _leave_schema_out(column)
        for table in list(changed.find_all(trees.Table)):
            name = _table_name(table)
            known = names.get(name.casefold())
            if known is None:
                continue
            if known.status is _Status.RELEASED:
                raise UnsafeQuery(
                    f"{name[:60]!r} holds released numbers{where_in_text(table)} and stands inside "
                    "a question about rows of people. Aggregate the rows first, and join then."
                )
            alias = table.args.get("alias")
            called = name if alias is None else str(alias.this.this)
            inner = trees.Subquery(
                this=known.node.copy(),  # which means what its names meant where it stands
                alias=trees.TableAlias(this=trees.to_identifier(called, quoted=True)),
            )
            table.replace(inner)
            if sum(1 for _ in changed.walk()) > _LARGEST:
                raise UnsafeQuery(
                    f"WITH {name[:60]} is used so often that the question would be too long"
                    f"{where_in_text(table)}. Use it less, or write it flatter."
                )
        return changed


def _join(statuses: set[_Status]) -> _Status:
    for status in _Status:
        if status in statuses:
            return status
    return _Status.CONSTANT


def _refuse_rows(node: "Expr", status: _Status) -> UnsafeQuery:
    if status is _Status.PUBLIC:
        return UnsafeQuery(
            f"a public table stands outside of any aggregate{where_in_text(node)}. Read it "
            "without the curator, or join it with a private table."
        )
    return UnsafeQuery(
        f"the question would show rows of people{where_in_text(node)}. Ask for aggregates: "
        "COUNT(*), SUM(x), AVG(x), with GROUP BY."
    )


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _sources(select: "Expr") -> "list[Expr]":
    clause = select.args.get("from_")
    joined = [join.this for join in select.args.get("joins") or []]
    return [*([] if clause is None else [clause.this]), *joined]


def _inner_queries(select: "Expr") -> "list[Expr]":
    """The queries inside the expressions of a SELECT."""
    found: list[Expr] = []
    waiting: list[object] = [
        value for part, value in select.args.items() if part not in ("from_", "with_", "joins")
    ]
    waiting += [join.args.get("on") for join in select.args.get("joins") or []]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif type(value).__name__ in QUERIES:
            found.append(value)  # type: ignore[arg-type]
        elif hasattr(value, "args"):
            waiting += list(value.args.values())
    return found


def _table_name(node: "Expr") -> str:
    """The name of a table, whose schema may be the usual one."""
    _leave_schema_out(node)
    name = node.this.this if type(node.this).__name__ == "Identifier" else ""
    if str(name).startswith(BLOCK) or not name:
        raise UnsafeQuery("ask about a table by its name.")
    return str(name)


def _leave_schema_out(node: "Expr") -> None:
    """Take the usual schema away from before a name; any other is refused."""
    schema = node.args.get("db")
    if schema is not None and str(schema.this).casefold() not in _SCHEMAS:
        raise UnsafeQuery(
            f"there is no schema {str(schema.this)[:60]!r}{where_in_text(node)}. Leave it out."
        )
    if schema is not None and node.args.get("catalog") is None:
        node.set("db", None)


def _column_name(node: "Expr") -> str:
    if type(node).__name__ != "Column" or type(node.this).__name__ != "Identifier":
        return ""
    return str(node.this.this).casefold()


def _read_from(select: "Expr", place: int) -> "Expr":
    from sqlglot import expressions as trees

    table = trees.Table(this=trees.to_identifier(f"{BLOCK}{place}", quoted=True))
    select.set("from_", trees.From(this=table))
    return select


def _is_interval_end(node: "Expr") -> bool:
    return type(node).__name__ == "Anonymous" and str(node.this).upper().startswith("DP_INTERVAL")


def _quote_names(node: "Expr") -> "Expr":
    quoted = node.copy()
    for inner in quoted.walk():
        if type(inner).__name__ == "Identifier":
            inner.set("quoted", True)
    return quoted


@lru_cache(maxsize=1)
def _writer() -> type:
    """The writer of questions: standard SQL, in which // stays what it is."""
    from sqlglot.expressions import IntDiv
    from sqlglot.generator import Generator

    own = {**Generator.TRANSFORMS, IntDiv: lambda writer, node: writer.binary(node, "//")}
    return type("Writer", (Generator,), {"TRANSFORMS": own})


def _render(node: "Expr", limits: str) -> str:
    """A private query as the text of a question."""
    for inner in node.walk():
        if type(inner).__name__ == "Ordered":
            inner.set("nulls_first", not inner.args.get("desc"))
    text = str(_writer()(comments=False).generate(node))
    if not limits:
        return text
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({limits}){text.removeprefix('SELECT')}"
