"""The rule that reads: which rows are aggregated, and how many one unit can have among them.
Nothing here touches data.
"""

from dataclasses import replace

from discreet.errors import UnsafeQuery
from discreet.plan.model import Draft
from discreet.plan.rules.sources import MOST_ROWS, limit_rows, rowset
from discreet.plan.sql.dialects import dialect_of
from discreet.query.algebra import Scan
from discreet.query.readers.naming import free_name
from discreet.schema.table import JOINED_ROWS

__all__ = ["read"]


def read(draft: Draft) -> Draft:
    """The rows that are aggregated: one table, or what joins and subqueries make of several."""
    tables = (draft.table, *(table for table, _ in draft.others))
    if tuple(table.name for table in tables) != draft.query.tables:  # the first private one pays
        raise UnsafeQuery("the tables are not those of the question. Nothing was run or charged.")
    source, most = draft.query.source, draft.query.options.max_rows_contributed
    plain = isinstance(source, Scan) and not source.names
    limits = [table.joined_rows_per_unit for table in tables if table.kind != "public"]
    limit = draft.joined_rows or min(limits, default=JOINED_ROWS)
    draft = replace(draft, tables=tables, joined_rows=limit)
    if plain and (most is None or most >= draft.table.rows_per_unit):
        return replace(draft, work=draft.table.rows_per_unit)
    relations = (draft.relation, *(relation for _, relation in draft.others))
    known = {table.name: (table, text) for table, text in zip(tables, relations, strict=True)}
    rows = rowset(
        source, known, draft.dialect, draft.integer_units, joined_rows=limit, most_rows=most
    )
    if most is not None:
        rows = limit_rows(rows, most, draft.dialect)
    if rows.rows_per_unit is None or rows.rows_per_unit > MOST_ROWS:
        raise UnsafeQuery(
            "nothing bounds how many rows one person has after the join. Join on the declared key "
            "of a public table. Nothing was charged."
        )
    private = next(table for table in tables if table.kind != "public")
    joined = replace(
        private,
        source=None,
        unit=rows.unit and free_name(rows.unit, (column.name for column in rows.columns)),
        rows_per_unit=rows.rows_per_unit,
        columns=rows.columns,
    )
    relation = dialect_of(draft.dialect).derived(rows.select, "source")
    return replace(draft, tables=tables, table=joined, relation=relation, kept="", work=rows.work)
