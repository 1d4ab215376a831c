"""Joins and subqueries as one bounded relation: SQL, columns with bounds, rows of one unit.
How many rows one unit can have is known before and after every join, and a join that could give it
more than a small public limit is refused, so that no person decides how long a question takes.
Never sees data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isqrt, prod

from discreet.errors import UnsafeQuery
from discreet.plan.rules.derived import Aggregated, allow_missing, column_of, without_aggregates
from discreet.plan.rules.windows import window_value
from discreet.plan.sql.dialects import Dialect, dialect_of, join_relations, quote_column
from discreet.plan.sql.expressions import Scope, bounded, condition
from discreet.query.algebra import (
    Compare,
    Expression,
    Field,
    Join,
    PerUnit,
    Rows,
    Scan,
    Source,
    Windowed,
)
from discreet.schema.column import Column
from discreet.schema.table import Table

__all__ = ["MOST_ROWS", "Rowset", "limit_rows", "rowset"]

MOST_ROWS = 10**9
"""No unit has more rows than this; as a limit of joins it means none."""


@dataclass(frozen=True, slots=True)
class Rowset:
    """Rows with known columns; `select` is their SELECT, with "$unit" first if there is a unit.

    `rows_per_unit` is None where nothing bounds it: in public rows. `work` is how many rows of
    one unit all steps together read and make. Units of the same `form` are of one type.
    """

    kind: str
    select: str
    columns: tuple[Column, ...]
    unit: str | None
    rows_per_unit: int | None
    population: str = ""
    form: str = ""
    work: int = 0

    @property
    def public(self) -> bool:
        """Whether nobody is protected by it."""
        return self.kind == "public"


def rowset(
    source: Source,
    tables: Mapping[str, tuple[Table, str]],
    dialect: str,
    integer_units: tuple[str, ...] = (),
    *,
    joined_rows: int,
    most_rows: int | None = None,
) -> Rowset:
    """The rows of a source; `tables` gives each table and what stands for it after FROM.

    The units of the tables in `integer_units` are integers in the engine. A join gives one unit at
    most `joined_rows` rows, or as many as one of its sides has; where it could give more, both
    sides are cut to `most_rows` of each unit first, if the question has such a limit. The rows one
    unit adds to any step are at most `work`.
    """
    reader = _Reader(tables, dialect_of(dialect), integer_units, joined_rows, most_rows)
    return reader.read(source)


def limit_rows(rows: Rowset, most: int, dialect: str) -> Rowset:
    """At most `most` rows of each unit, the first in the order of a hash.

    After it one unit has at most `most` rows.
    >>> rows = Rowset("private", 'SELECT "$unit" FROM t', (), "id", None)
    >>> limit_rows(rows, 9, "duckdb").rows_per_unit
    9
    """
    if rows.unit is None or (rows.rows_per_unit is not None and most >= rows.rows_per_unit):
        return rows
    first = _first_rows(rows, ['"$unit"'], most, dialect_of(dialect))
    return replace(rows, select=first, rows_per_unit=most, work=rows.work + most)


def _names(rows: Rowset) -> list[str]:
    names = [quote_column(column) for column in rows.columns]
    return names if rows.unit is None else ['"$unit"', *names]


def _hash_order(rows: Rowset, unit: str, dialect: Dialect) -> list[str]:
    """An order in which only rows that are equal in all columns are equal."""
    texts = [dialect.column_text(column) for column in rows.columns]
    return [dialect.hash_texts(unit, texts, "'|'"), *_names(rows)]


def _first_rows(rows: Rowset, partition: list[str], most: int, dialect: Dialect) -> str:
    """The first rows of each partition, by a hash of it and of all lattice values."""
    names = _names(rows)
    order = ", ".join(_hash_order(rows, partition[0], dialect))
    ranked = (
        f"SELECT {', '.join(names)}, row_number() OVER (PARTITION BY {', '.join(partition)} "
        f'ORDER BY {order}) AS "$place" FROM {dialect.derived(rows.select, "every")}'
    )
    return (
        f"SELECT {', '.join(names)} FROM {dialect.derived(ranked, 'ranked')} "
        f'WHERE "$place" <= {most}'
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    tables: Mapping[str, tuple[Table, str]]
    dialect: Dialect
    integer_units: tuple[str, ...]
    joined_rows: int
    most_rows: int | None

    def read(self, source: Source) -> Rowset:
        match source:
            case Scan():
                return self._scan(source)
            case Join():
                return self._join(source)
            case Rows():
                return self._rows(source)
            case PerUnit():
                return self._per_unit(source)
            case Windowed():
                return self._windowed(source)

    def _scan(self, scan: Scan) -> Rowset:
        table, relation = self.tables[scan.table]
        names = dict(scan.names)
        renamed = [(column.name, names.get(column.name, column.name)) for column in table.columns]
        listed = [f'"{old}"' if old == new else f'"{old}" AS "{new}"' for old, new in renamed]
        if table.unit is not None:
            listed.insert(0, '"$unit"')
        columns = tuple(
            replace(column, name=names.get(column.name, column.name)) for column in table.columns
        )
        select = f"SELECT {', '.join(listed)} FROM {relation}"
        rows = None if table.kind == "public" else table.rows_per_unit
        form = "integer" if table.name in self.integer_units else f"as in {table.name}"
        return Rowset(
            table.kind, select, columns, table.unit, rows, table.population, form, work=rows or 0
        )

    def _scope(self, columns: Iterable[Column]) -> Scope:
        return Scope({column.name: column for column in columns}, self.dialect)

    def _where(self, where: Expression | None, columns: Iterable[Column]) -> str:
        return "" if where is None else f" WHERE {condition(where, self._scope(columns))}"

    def _rows(self, rows: Rows) -> Rowset:
        inner = self.read(rows.source)
        scope = self._scope(inner.columns)
        columns = [self._column(name, expression, scope) for name, expression in rows.columns]
        listed = [f'{sql} AS "{column.name}"' for column, sql in columns]
        if inner.unit is not None:
            listed.insert(0, '"$unit"')
        source = self.dialect.derived(inner.select, "rows")
        where = self._where(rows.where, inner.columns)
        return replace(
            inner,
            select=f"SELECT {', '.join(listed)} FROM {source}{where}",
            columns=tuple(column for column, _ in columns),
        )

    def _column(self, name: str, expression: Expression, scope: Scope) -> tuple[Column, str]:
        if isinstance(expression, Field):
            return replace(scope[expression.name], name=name), f'"{expression.name}"'
        value = bounded(expression, scope)
        return column_of(name, value), value.sql

    def _per_unit(self, per: PerUnit) -> Rowset:
        inner = self.read(per.source)
        if inner.unit is None or inner.rows_per_unit is None:
            raise UnsafeQuery(
                "a subquery is grouped by a unit whose rows nothing bounds. Join on the declared "
                "key of a public table. Nothing was charged."
            )
        scope = self._scope(inner.columns)
        keys = [self._column(name, expression, scope) for name, expression in per.keys]
        keyed = {column.name for column, _ in keys}
        aggregated = Aggregated.of(
            [columns for _, columns in per.columns], scope, rows=inner.rows_per_unit, taken=keyed
        )
        listed = ['"$unit"', *(f'{sql} AS "{column.name}"' for column, sql in keys)]
        listed += [f'{sql} AS "{column.name}"' for column, sql in aggregated.columns.values()]
        places = ", ".join(str(place + 1) for place in range(1 + len(keys)))
        source = self.dialect.derived(inner.select, "rows")
        where = self._where(per.where, inner.columns)
        grouped = f"SELECT {', '.join(listed)} FROM {source}{where} GROUP BY {places}"
        outer = self._scope(
            [
                *(column for column, _ in keys),
                *(column for column, _ in aggregated.columns.values()),
            ]
        )
        columns = [
            self._column(name, without_aggregates(expression, aggregated), outer)
            for name, expression in per.columns
        ]
        shown = ['"$unit"', *(f'{sql} AS "{column.name}"' for column, sql in columns)]
        select = f"SELECT {', '.join(shown)} FROM {self.dialect.derived(grouped, 'units')}"
        rows = 1
        if keys:
            rows = min(inner.rows_per_unit, prod(_size(column) for column, _ in keys))
        return replace(
            inner,
            select=select,
            columns=tuple(column for column, _ in columns),
            rows_per_unit=rows,
            work=inner.work + rows,
        )

    def _windowed(self, windowed: Windowed) -> Rowset:
        """The same rows of each unit with a column for each window, of which each sees the rows of
        one unit: so a row depends on the rows of its own unit alone.
        """
        inner = self.read(windowed.source)
        if inner.unit is None or inner.rows_per_unit is None:
            raise UnsafeQuery(
                "a window is over the rows of a unit, which nothing bounds here. Join on the "
                "declared key of a public table. Nothing was charged."
            )
        scope, rows = self._scope(inner.columns), inner.rows_per_unit
        ties = _hash_order(inner, '"$unit"', self.dialect)
        made = [
            (column_of(name, value), value.sql)
            for name, window in windowed.columns
            for value in [window_value(window, scope, rows=rows, ties=ties)]
        ]
        listed = [*_names(inner), *(f'{sql} AS "{column.name}"' for column, sql in made)]
        source = self.dialect.derived(inner.select, "rows")
        where = self._where(windowed.where, inner.columns)
        return replace(
            inner,
            select=f"SELECT {', '.join(listed)} FROM {source}{where}",
            columns=(*inner.columns, *(column for column, _ in made)),
            work=inner.work + rows,
        )

    def _join(self, join: Join) -> Rowset:
        left, right = self.read(join.left), self.read(join.right)
        _check_people(join, left, right)
        if left.public and right.public:
            return self._look_up(join, left, right)
        if left.public:
            left, many = self._match(left, join.left, [name for name, _ in join.on])
            right = self._cut_to(right, many)
            rows = _product(right.rows_per_unit, many)
        elif right.public:
            right, many = self._match(right, join.right, [name for _, name in join.on])
            left = self._cut_to(left, many)
            rows = _product(left.rows_per_unit, many)
        else:
            # Of one population, joined on the unit. A row of a left join that meets none stays
            # one row, so it makes no more than an inner join: rows of one unit are max(1, many).
            left, right = self._cut_sides(left, right)
            many = None
            rows = _product(left.rows_per_unit, right.rows_per_unit)
        private = right if left.public else left
        if private.unit is None and rows != 1:
            raise UnsafeQuery(
                "each row is one person, and a join could make several rows of one. Join on the "
                "whole declared key of a public table with rows_per_key = 1. Nothing was charged."
            )
        self._check_work(left, right, rows, many)
        select, columns = self._join_sql(join, left, right)
        work = left.work + right.work + (rows or 0)
        return replace(private, select=select, columns=columns, rows_per_unit=rows, work=work)

    def _look_up(self, join: Join, left: Rowset, right: Rowset) -> Rowset:
        """Two public tables: how many rows they make follows from a declared key too, since
        whether an engine makes them may depend on what the private side of another join holds.
        """
        right, many = self._match(right, join.right, [name for _, name in join.on])
        if many is None and join.kind == "inner":
            left, many = self._match(left, join.left, [name for name, _ in join.on])
        if self.joined_rows < MOST_ROWS and (many is None or many > self.joined_rows):
            raise UnsafeQuery(
                "two public tables are joined, and nothing declared keeps their rows from "
                "multiplying. Equate all columns of one table's declared key, with a small "
                "rows_per_key. Nothing was run or charged."
            )
        select, columns = self._join_sql(join, left, right)
        return replace(left, select=select, columns=columns)

    def _join_sql(self, join: Join, left: Rowset, right: Rowset) -> tuple[str, tuple[Column, ...]]:
        """The statement of a join, and its columns. A public side stands on the right, where
        engines build their tables: it is read whole, whatever the private side holds.
        """
        columns = (*left.columns, *right.columns)
        if join.kind == "left":
            columns = (*left.columns, *map(allow_missing, right.columns))
        listed = [quote_column(column) for column in columns]
        if left.unit is not None or right.unit is not None:
            listed.insert(0, '"$unit"')
        sides = left.select, self._rename_unit(left, right)
        if left.public and not right.public:
            sides = right.select, left.select
        one, other = (self.dialect.derived(*side) for side in zip(sides, "lr", strict=True))
        names, on = ", ".join(listed), self._join_condition(join, left, right)
        if left.public and right.public:
            return join_relations(join.kind, names, one, other, on), columns
        if left.public or right.public:
            return self.dialect.looked_up(join.kind, names, one, other, on), columns
        return self.dialect.paired(join.kind, names, one, other, on), columns

    def _limit(self, left: Rowset, right: Rowset) -> int:
        """The most rows of one unit that a join may make: no fewer than a side has already."""
        return max(self.joined_rows, left.rows_per_unit or 0, right.rows_per_unit or 0)

    def _cut_sides(self, left: Rowset, right: Rowset) -> tuple[Rowset, Rowset]:
        """Both sides, with fewer rows of each unit where all of them would be too many to join."""
        rows = _product(left.rows_per_unit, right.rows_per_unit)
        if rows is None or self.most_rows is None or rows <= self._limit(left, right):
            return left, right
        name, most = self.dialect.name, self.most_rows
        return limit_rows(left, most, name), limit_rows(right, most, name)

    def _cut_to(self, private: Rowset, many: int | None) -> Rowset:
        """The same for the one side that is private, of which each row meets so many."""
        rows = _product(private.rows_per_unit, many)
        if rows is None or self.most_rows is None or rows <= self._limit(private, private):
            return private
        return limit_rows(private, self.most_rows, self.dialect.name)

    def _check_work(
        self, left: Rowset, right: Rowset, rows: int | None, many: int | None = None
    ) -> None:
        """Refuse a join after which one person could have more rows than the limit."""
        if self.joined_rows >= MOST_ROWS:
            return
        if rows is None:
            raise UnsafeQuery(
                "a public table is joined by columns that are not its declared key, so nothing "
                "bounds how many of its rows one person meets. Equate all columns of its key; if "
                "it has none, ask the custodian to declare key and rows_per_key. Nothing was run "
                "or charged."
            )
        limit = self._limit(left, right)
        if rows > limit:
            most = min(
                isqrt(self.joined_rows), self.joined_rows // (many or 1)
            )  # also for more joins
            raise UnsafeQuery(
                f"a join could give one person {rows:,} rows; the limit is {limit:,}, because how "
                "long a question takes must not depend on one person. GROUP BY the unit in a "
                "subquery before joining, write OPTIONS(max_rows_contributed="
                f"{max(1, most)}), or ask the custodian to raise joined_rows_per_unit. "
                "Nothing was run or charged."
            )

    def _rename_unit(self, left: Rowset, right: Rowset) -> str:
        """The right side; its unit gets another name where the left has one."""
        if left.unit is None or right.unit is None:
            return right.select
        names = ['"$unit" AS "$r"', *(quote_column(column) for column in right.columns)]
        return f"SELECT {', '.join(names)} FROM {self.dialect.derived(right.select, 'aside')}"

    def _join_condition(self, join: Join, left: Rowset, right: Rowset) -> str:
        scope = self._scope((*left.columns, *right.columns))
        tests = [condition(Compare("=", Field(a), Field(b)), scope) for a, b in join.on]
        if left.unit is not None and right.unit is not None:
            units = ['"$unit"', '"$r"']
            if left.form != right.form:
                # Of two types, not every pair can be compared without an error: as texts.
                units = [self.dialect.text(name) for name in units]
            tests.insert(0, " = ".join(units))
        return " AND ".join(tests)

    def _match(self, public: Rowset, source: Source, on: list[str]) -> tuple[Rowset, int | None]:
        """A public side with at most rows_per_key rows for each key, and that number.

        None if the key is not declared, or not all of it is equated.
        """
        key, many = self._key(source)
        if not key or not set(key) <= set(on):
            return public, None
        first = _first_rows(public, [f'"{name}"' for name in key], many, self.dialect)
        return replace(public, select=first), many

    def _key(self, source: Source) -> tuple[list[str], int]:
        """The declared key of a public source by its names here, and how many rows have one."""
        if isinstance(source, Scan):
            table, names = self.tables[source.table][0], dict(source.names)
            return [names.get(name, name) for name in table.key], table.rows_per_key
        if isinstance(source, Join):
            return self._find_joined_key(source)
        if not isinstance(source, Rows):
            return [], 1
        inner, many = self._key(source.source)
        shown = {column.name: name for name, column in source.columns if isinstance(column, Field)}
        return [shown[name] for name in inner] if set(inner) <= set(shown) else [], many

    def _find_joined_key(self, join: Join) -> tuple[list[str], int]:
        """What identifies a row of two public tables that are joined."""
        (left, few), (right, many) = self._key(join.left), self._key(join.right)
        if left and right and set(right) <= {name for _, name in join.on}:  # looked up on the right
            return left, few * many
        if left and right and set(left) <= {name for name, _ in join.on}:
            return right, few * many
        return [], 1


def _check_people(join: Join, left: Rowset, right: Rowset) -> None:
    """Rows of different people never meet, and every row of a join is somebody's."""
    if join.kind not in ("inner", "left") or (
        join.kind == "left" and left.public and not right.public
    ):
        raise UnsafeQuery(
            "only an inner join and a left join of a private table are supported. "
            "Nothing was charged."
        )
    if left.public or right.public:
        if not join.on:
            raise UnsafeQuery("a join needs equal columns. Nothing was charged.")
    elif left.unit is None or right.unit is None or left.population != right.population:
        raise UnsafeQuery(
            "two private tables are joined only where they share a unit and a population. "
            "Nothing was charged."
        )


def _product(rows: int | None, many: int | None) -> int | None:
    if rows is None or many is None:
        return None
    return rows * many


def _size(column: Column) -> int:
    """How many values a key can have, a missing one included."""
    return MOST_ROWS if column.private_keys else column.upper - column.lower + 2
