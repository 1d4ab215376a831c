"""The SQL that engines run, written from plans only: one aggregation over lattice integers.
No text of an analyst is ever part of it.
"""

from dataclasses import replace

from discreet.plan.model import Draft
from discreet.plan.parts.candidates import CandidateQuery
from discreet.plan.parts.keys import KeyDomain
from discreet.plan.rules.rollups import TOTALS, histogram_for, totals_for
from discreet.plan.sql.dialects import Dialect, dialect_of
from discreet.plan.sql.expressions import condition, scope
from discreet.query.algebra import Query
from discreet.schema.table import Table

__all__ = ["emit", "statement"]


def emit(draft: Draft) -> Draft:
    """The one statement that the engine will run."""
    needed = [sql for measure in draft.measures for _, sql in measure.terms]
    if draft.selection is not None:
        needed.append(draft.selection.counted)
    columns = tuple(dict.fromkeys(needed))
    sql = statement(
        query=draft.query,
        table=draft.table,
        relation=draft.relation,
        domains=draft.domains,
        columns=columns,
        picks=draft.picks,
        kept=draft.kept,
        dialect=draft.dialect,
    )
    return replace(draft, engine_columns=columns, sql=sql)


def statement(
    *,
    query: Query,
    table: Table,
    relation: str,
    domains: tuple[KeyDomain, ...],
    columns: tuple[str, ...],
    picks: tuple[CandidateQuery, ...] = (),
    kept: str = "",
    dialect: str = "duckdb",
) -> str:
    """Group codes and exact integers, one row for each group that has rows.

    Where totals are `kept`, what they can give is read from them. With candidate queries there is a
    branch for each beside the one of the sums: a row then begins with the number of its branch, and
    its group is followed by a candidate and how many rows have it. What it returns is exact and
    must not leave.
    """
    where = ""
    if query.where is not None:
        where = f" WHERE {condition(query.where, scope(table, dialect))}"
    keys = _name_keys(domains)
    most = query.options.max_groups_contributed
    if most is not None and table.unit is not None and domains and most < table.rows_per_unit:
        relation, where = _limit_groups(relation, where, domains, most, dialect_of(dialect)), ""
        keys, kept = _names(domains), ""
    rows = totals = f" FROM {relation}{where}"
    known = totals_for(query, table) if kept else {}
    if known and all(sql in known for sql in columns):
        totals, columns = f' FROM "{TOTALS}"{where}', tuple(known[sql] for sql in columns)
    sums = [f'{sql} AS "$s{place}"' for place, sql in enumerate(columns)]
    if not picks:
        return f"SELECT {', '.join([*keys, *sums])}{totals}{_grouping(1, len(keys))}"
    branches = []
    if columns:
        listed = ['0 AS "$b"', *keys, '0 AS "$c"', '0 AS "$n"', *sums]
        branches.append(f"SELECT {', '.join(listed)}{totals}{_grouping(2, len(keys))}")
    for place, pick in enumerate(picks, 1):
        histogram = histogram_for(query, table, pick) if kept else None
        sql, count, source = pick.sql, "COUNT(*)", rows
        if histogram is not None:
            sql, count, source = histogram[1], histogram[2], f" FROM {histogram[0]}{where}"
        none = [f'0 AS "$s{place}"' for place in range(len(columns))]
        listed = [f'{place} AS "$b"', *keys, f'{sql} AS "$c"', f'{count} AS "$n"', *none]
        branches.append(f"SELECT {', '.join(listed)}{source}{_grouping(2, len(keys) + 1)}")
    return " UNION ALL ".join(branches)


def _grouping(first: int, count: int) -> str:
    places = ", ".join(str(first + place) for place in range(count))
    return f" GROUP BY {places}" if places else ""


def _names(domains: tuple[KeyDomain, ...]) -> list[str]:
    # A dollar sign: no column of a schema can have these names.
    return [f'"$k{place}"' for place in range(len(domains))]


def _name_keys(domains: tuple[KeyDomain, ...]) -> list[str]:
    names = _names(domains)
    return [f"{domain.sql} AS {name}" for domain, name in zip(domains, names, strict=True)]


def _limit_groups(
    relation: str, where: str, domains: tuple[KeyDomain, ...], most: int, dialect: Dialect
) -> str:
    """Rows in the first `most` groups of each unit, in an order that only a hash decides."""
    names = _names(domains)
    texts = [
        # A text could hold the mark or be empty, so its own hash stands for it.
        f"coalesce({dialect.hash_of(name)}, '')" if domain.private else dialect.text(name)
        for name, domain in zip(names, domains, strict=True)
    ]
    order = dialect.hash_texts('"$unit"', texts, "'|'")
    rows = dialect.derived(
        f"SELECT *, {', '.join(_name_keys(domains))} FROM {relation}{where}", "r"
    )
    return (
        f'(SELECT *, dense_rank() OVER (PARTITION BY "$unit" ORDER BY {order}, '
        f'{", ".join(names)}) AS "$place" FROM {rows}) AS limited'
        f' WHERE "$place" <= {most}'
    )
