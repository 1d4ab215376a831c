"""What the engine answers over several prepared tables, and the same tables as exact values."""

from typing import Any

from discreet.loss import Pure
from discreet.plan.pipeline import Draft, Plan, plan
from discreet.query.algebra import Query
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.databases import Scratch
from support.plan_cases import exact_of
from support.plan_reference import value_of

Tables = dict[str, Table]
Data = dict[str, list[tuple[Any, ...]]]

LIMIT = 3000


def draft(query: Query, tables: Tables) -> Draft:
    """A question at epsilon 1; every table is read under its own name."""
    first, *rest = (tables[name] for name in query.tables)
    return Draft(
        query=query,
        table=first,
        price=Pure(epsilon=1),
        limit=LIMIT,
        relation=f'"{first.name}"',
        others=tuple((each, f'"{each.name}"') for each in rest),
    )


def planned(query: Query, tables: Tables) -> Plan:
    """The plan of a question at epsilon 1."""
    return plan(draft(query, tables))


class Bench:
    """One database with prepared tables."""

    def __init__(self, tables: Tables, units: dict[str, str] | None = None) -> None:
        self.tables = tables
        self._units = units or {}
        self._database = Scratch()

    def close(self) -> None:
        """Forget the rows."""
        self._database.close()

    def rows(self, sql: str) -> list[Any]:
        """Run one statement."""
        return self._database.rows(sql)

    def rows_of(self, schema: str, sql: str) -> list[Any]:
        """Run one statement on the tables of another schema."""
        return self._database.rows_of(schema, sql)

    def load(self, data: Data) -> None:
        """Fill the tables: a row is its codes, after the unit if the table has one."""
        for name, table in self.tables.items():
            kinds = [f'"{each.name}" {_width(each)}' for each in table.columns]
            if table.unit is not None:
                kinds.insert(0, f'"$unit" {self._units.get(name, "BIGINT")}')
            self.rows(f'CREATE OR REPLACE TABLE "{name}" ({", ".join(kinds)})')
            if data[name]:
                lines = ", ".join(f"({', '.join(map(_sql, row))})" for row in data[name])
                self.rows(f'INSERT INTO "{name}" VALUES {lines}')

    def exact(self, made: Plan) -> tuple[list[list[int]], list[dict[Any, int]]]:
        """The exact measures of every public group, and the histograms of picked values."""
        rows = self.rows(made.sql)
        sums = [column.tolist() for column in exact_of(made, rows)]
        return sums, [_histogram(made, rows, place) for place in range(len(made.picks))]


def _histogram(made: Plan, rows: list[Any], place: int) -> dict[Any, int]:
    width, groups, pick = len(made.domains), set(made.groups), made.picks[place]
    found: dict[Any, int] = {}
    for branch, *row in rows:
        group, candidate, count = tuple(row[:width]), row[width], row[width + 1]
        if branch == place + 1 and group in groups and candidate is not None:
            assert 0 <= candidate - pick.first < pick.candidates
            found[group, candidate] = count
    return found


def _width(column: Column) -> str:
    return "TINYINT" if max(abs(column.lower), abs(column.upper)) < 128 else "BIGINT"


def _sql(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def decoded(tables: Tables, data: Data) -> dict[str, Any]:
    """The tables as exact values, for the reference."""
    found: dict[str, Any] = {}
    for name, table in tables.items():
        names = [each.name for each in table.columns]
        found[f"{name} columns"] = names
        first = 0 if table.unit is None else 1
        found[name] = [
            {
                **({"$unit": row[0]} if first else {}),
                **{
                    each.name: value_of(each, code)
                    for each, code in zip(table.columns, row[first:], strict=True)
                },
            }
            for row in data[name]
        ]
    return found
