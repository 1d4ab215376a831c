"""What a FROM clause makes visible: columns by their names and tables, and where the unit is.
Knows names and kinds; what a name may be used for is decided where it is read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Field, Join, PerUnit, Rows, Scan, Source, scans
from discreet.query.readers.naming import free_name
from discreet.query.readers.typed import Kind, Typed, only, refuse, where_in_text
from discreet.schema.column import OTHER, Column, nearest
from discreet.schema.names import sql_name
from discreet.schema.table import Table

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["Relation", "Visible", "check_prefix", "describe", "rename_taken"]

_SCHEMAS = ("main", "public")
_LONGEST = 56  # a number may follow, and some engines keep 63 characters of a name
_KINDS = MappingProxyType(
    {
        "integer": Kind.INTEGER,
        "number": Kind.NUMBER,
        "category": Kind.TEXT,
        "boolean": Kind.BOOLEAN,
        "date": Kind.DATE,
        "datetime": Kind.DATETIME,
    }
)


@dataclass(frozen=True, slots=True)
class Visible:
    """A column that can be named; `typed` is None for a unit.

    `reach` is "bare" where the name alone finds it, "qualified" where its table must be named.
    """

    table: str
    name: str
    typed: Typed | None
    reach: str = "bare"

    @property
    def spelt(self) -> str:
        """How an analyst writes it without doubt."""
        name = sql_name(self.name)
        return f"{sql_name(self.table)}.{name}" if self.table else name


def _type_column(column: Column) -> Typed:
    kind = Kind.OPEN if column.private_keys else _KINDS[column.kind]
    keys = (*column.keys, OTHER) if column.other else column.keys
    return Typed(Field(column.name), kind, keys)


@dataclass(frozen=True, slots=True)
class Relation:
    """A source and the columns it shows; `population` is None if all of it is public.

    `unit` is the name of the unit in the schema, None where every row is one person.
    >>> age = Column("age", "integer", upper=110)
    >>> Relation.of(Table("visits", columns=(age,)), "v").columns[0].spelt
    'v.age'
    """

    source: Source
    columns: tuple[Visible, ...]
    population: str | None
    unit: str | None

    @staticmethod
    def of(table: Table, alias: str) -> "Relation":
        """The rows of a registered table under an alias."""
        shown = [] if table.unit is None else [Visible(alias, table.unit, None)]
        shown += [Visible(alias, column.name, _type_column(column)) for column in table.columns]
        population = None if table.kind == "public" else table.population
        return Relation(Scan(table.name), tuple(shown), population, table.unit)

    @property
    def units(self) -> tuple[Visible, ...]:
        """The columns that hold the unit."""
        return tuple(column for column in self.columns if column.typed is None)

    @property
    def spellings(self) -> Mapping[str, str]:
        """The analyst's name of every column, by its name in the source."""
        return {name: column.name for column in self.columns if (name := _field(column))}

    def give_alias(self, alias: str) -> "Relation":
        """The same with all columns under one alias.

        >>> Relation.of(Table("t", unit="id"), "t").give_alias("p").units[0].spelt
        'p.id'
        """
        columns = tuple(replace(column, table=alias) for column in self.columns)
        return replace(self, columns=columns)

    def find(self, node: "Expr") -> Visible:
        """The column that a parsed name means.

        >>> import sqlglot
        >>> Relation.of(Table("t", unit="id"), "v").find(sqlglot.parse_one("V.Id")).name
        'id'
        """
        name, table = _read_name(node)
        known = dict.fromkeys(column.table for column in self.columns)
        if table and table.casefold() not in {name.casefold() for name in known}:
            own = sql_name(name[:60])
            listed = " or ".join(f"{sql_name(table)}.{own}" for table in known if table)
            raise UnsafeQuery(
                f"{table[:60]!r}{where_in_text(node)} is not the table asked about. "
                f"Write {listed or own}."
            )
        matches = self.find_all(name, table)
        if len(matches) > 1:
            listed = " or ".join(match.spelt for match in matches)
            raise UnsafeQuery(
                f"{name!r}{where_in_text(node)} is in several tables. Write {listed}."
            )
        if matches:
            return matches[0]
        columns = [column.name for column in self.columns]
        keys = {key for column in self.columns if column.typed for key in column.typed.keys}
        hint = f"Text stands in single quotes: '{name}'." if name in keys else ""
        raise UnsafeQuery(
            f"{describe(self.source)} has no column {name[:60]!r}{where_in_text(node)}. "
            f"{hint or nearest(name[:60], columns, spelt=sql_name)}"
        )

    def find_all(self, name: str, table: str = "") -> list[Visible]:
        """The columns of that name, in that table if one is given."""
        reach = ("bare", "qualified") if table else ("bare",)
        return [
            column
            for column in self.columns
            if column.name.casefold() == name.casefold()
            and column.reach in reach
            and (not table or column.table.casefold() == table.casefold())
        ]


def _field(column: Visible) -> str:
    expression = None if column.typed is None else column.typed.expression
    return expression.name if isinstance(expression, Field) else ""


def check_prefix(node: "Expr") -> str:
    """The schema before a table's name, empty where there is none; it must be a usual one.

    >>> import sqlglot
    >>> check_prefix(sqlglot.parse_one("SELECT 1 FROM main.visits").find(sqlglot.exp.Table))
    'main'
    """
    prefix = node.args.get("db")
    name = "" if prefix is None else str(prefix.this)
    if name and name.casefold() not in _SCHEMAS:
        raise UnsafeQuery(
            f"there is no schema {name[:60]!r}{where_in_text(node)}: tables are registered without "
            "one. Write the table's name alone."
        )
    return name


def _read_name(node: "Expr") -> tuple[str, str]:
    only(node, "this", "table", "db")
    check_prefix(node)
    if type(node.this).__name__ != "Identifier":
        raise refuse(node.this)
    table = node.args.get("table")
    return str(node.this.this), "" if table is None else str(table.this)


def describe(source: Source) -> str:
    """What to call a source in a message.

    >>> describe(Scan("visits")), describe(Join("inner", Scan("a"), Scan("b"), ()))
    ('visits', 'the join')
    """
    match source:
        case Scan(table):
            return table
        case Join():
            return "the join"
    return "the subquery"


def rename_taken(right: Relation, taken: Iterable[str]) -> Relation:
    """The same with new names in the source for columns whose names are taken.

    >>> age = Column("age", "integer", upper=110)
    >>> rename_taken(Relation.of(Table("t", columns=(age,)), "v"), ["AGE"]).source
    Scan(table='t', names=(('age', 't_age'),))
    """
    used = {name.casefold() for name in taken}
    own = [name for column in right.columns if (name := _field(column))]
    clashing = [name for name in own if name.casefold() in used]
    if not clashing:
        return right
    first = next(scans(right.source))
    avoided = [*used, *own]
    names: dict[str, str] = {}
    for name in clashing:
        names[name] = free_name(f"{first}_{name}"[:_LONGEST], avoided)
        avoided.append(names[name])
    columns = tuple(_move(column, names) for column in right.columns)
    return replace(right, source=_with_names(right.source, names), columns=columns)


def _move(column: Visible, names: Mapping[str, str]) -> Visible:
    if column.typed is None:
        return column
    name = _field(column)
    return replace(column, typed=replace(column.typed, expression=Field(names.get(name, name))))


def _with_names(source: Source, names: Mapping[str, str]) -> Source:
    match source:
        case Rows(columns=columns) | PerUnit(columns=columns):
            renamed_columns = tuple((names.get(name, name), value) for name, value in columns)
            return replace(source, columns=renamed_columns)
        case Scan(table):
            return Scan(table, tuple(names.items()))
    raise AssertionError("a join stands only on the left")
