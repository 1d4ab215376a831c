"""What an answer leaves out, bounds and promises, in plain sentences that go with it everywhere.
Functions of schema and statement alone: the same whatever the data holds. How much was really cut
depends on data, so it is a question of its own, which a note offers to ask.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.plan.aggregates import aggregates_of
from discreet.plan.draft import Plan
from discreet.plan.evaluate import picked
from discreet.plan.expressions import bounded, scope
from discreet.plan.keys import Domain
from discreet.plan.picks import Choice, Pick, Way
from discreet.plan.selection import Kept, Shown
from discreet.plan.uses import columns_read, fields_of
from discreet.query.algebra import Field, IntervalEnd, Key, Query, Scan, Statistic
from discreet.rationals import decimal_text
from discreet.schema.column import Column
from discreet.schema.names import sql_name
from discreet.schema.table import Table

__all__ = ["Note", "cuts_of", "notes_of", "table_notes"]

_LEVEL = Fraction(95, 100)
_BOUNDED = ("integer", "number", "date", "datetime")


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence about an answer; `ask` is a question, paid like any other, for how much it is.

    Privacy: none (touches no data).
    >>> print(Note("At most 2 rows count.", "SELECT COUNT(*) AS n FROM t"))
    At most 2 rows count. To ask how many: SELECT COUNT(*) AS n FROM t
    """

    text: str
    ask: str = ""

    def __str__(self) -> str:
        return f"{self.text} To ask how many: {self.ask}" if self.ask else self.text


def notes_of(plan: Plan) -> tuple[Note, ...]:
    """All that an analyst should know with an answer: what is cut, and what its intervals mean.

    Privacy: none (touches no data).
    >>> notes_of.__name__
    'notes_of'
    """
    cuts = cuts_of(plan)
    shown = [each.expression for each in plan.query.outputs]
    measured = [each for each in shown if picked(plan, each) is None]
    about = []
    if cuts and any(not isinstance(each, IntervalEnd) for each in measured):
        about.append(
            Note(
                "Intervals are about the noise alone: they hold for what the rows and values that "
                "are used would give."
            )
        )
    return (*cuts, *about, *_about_picks(plan))


def cuts_of(plan: Plan) -> tuple[Note, ...]:
    """What is left out of an answer, or bounded: rows, groups, values, keys.

    Privacy: none (touches no data).
    >>> cuts_of.__name__
    'cuts_of'
    """
    found = [*_rows(plan), *_groups(plan)]
    known = {table.name: table for table in plan.tables}
    for table, name in columns_read(plan.query, known):
        prefix = f"{table}." if len(known) > 1 else ""
        found += _bounds(known[table], known[table].column(name), prefix)
    for key, domain in zip(plan.query.keys, plan.domains, strict=True):
        found += _key(plan, key, domain)
    return tuple(dict.fromkeys([*found, *_few(plan)]))


def table_notes(table: Table, columns: tuple[str, ...]) -> tuple[Note, ...]:
    """The same for what is computed from these columns of a whole table, without SQL.

    Privacy: none (touches no data).
    >>> age = Column("age", "integer", upper=110)
    >>> table_notes(Table("people", columns=(age,)), ("age",))[0].ask
    'SELECT COUNT(*) AS rows_at_a_bound FROM people WHERE age <= 0 OR age >= 110'
    """
    found = [] if table.unit is None else [_rows_of(table, table.rows_per_unit)]
    for name in columns:
        found += _bounds(table, table.column(name), "")
    return tuple(found)


def _rows(plan: Plan) -> Iterator[Note]:
    query, most = plan.query, plan.query.options.max_rows_contributed
    if _only_people(query):
        return
    for table in plan.tables:
        if table.unit is not None:
            limit = table.rows_per_unit
            yield _rows_of(table, min(limit, most or limit) if _plain(query) else limit)
        elif table.kind == "public" and table.key:
            rows = "row" if table.rows_per_key == 1 else "rows"
            yield Note(
                f"{table.name}: at most {table.rows_per_key:,} {rows} for one "
                f"{', '.join(table.key)} can be joined."
            )
    if most is not None and plan.table.unit is not None and not _plain(query):
        yield Note(
            f"At most {most:,} rows of one {plan.table.unit} are used (max_rows_contributed): "
            "counts and sums may be too low."
        )


def _only_people(query: Query) -> bool:
    """Whether people are counted, all of them: further rows of a person change nothing."""
    shown = [found for each in query.outputs for found in aggregates_of(each.expression)]
    people = all(each.statistic is Statistic.UNITS for each in shown)
    narrowed = query.where is not None or query.keys or query.having is not None
    return people and not narrowed and _plain(query)


def _plain(query: Query) -> bool:
    return isinstance(query.source, Scan) and not query.source.names


def _rows_of(table: Table, limit: int) -> Note:
    assert table.unit is not None
    rows = "1 row" if limit == 1 else f"{limit:,} rows"
    test = f"used > {limit}" if limit < table.rows_per_unit else f"used >= {limit}"
    unit, name = sql_name(table.unit), sql_name(table.name)
    ask = (
        f"SELECT COUNT(*) AS units_at_the_limit FROM (SELECT {unit}, COUNT(*) AS used FROM {name} "
        f"GROUP BY {unit}) AS each_unit WHERE {test}"
    )
    return Note(
        f"{table.name}: at most {rows} of one {table.unit} {'is' if limit == 1 else 'are'} used, "
        "and none without one. Where there are more, counts and sums are too low.",
        ask if table.rows_per_unit > 1 else "",
    )


def _groups(plan: Plan) -> Iterator[Note]:
    most, table = plan.query.options.max_groups_contributed, plan.table
    if most is None or table.unit is None or not plan.domains or most >= table.rows_per_unit:
        return
    names = [key.expression.name for key in plan.query.keys if isinstance(key.expression, Field)]
    ask = ""
    if _plain(plan.query) and plan.query.where is None and len(names) == len(plan.query.keys):
        unit, keys = sql_name(table.unit), ", ".join(map(sql_name, names))
        each = f"SELECT {unit}, {keys} FROM {sql_name(table.name)} GROUP BY {unit}, {keys}"
        ask = (
            f"SELECT COUNT(*) AS units_beyond FROM (SELECT {unit}, COUNT(*) AS touched FROM "
            f"({each}) AS each_group GROUP BY {unit}) AS each_unit WHERE touched > {most}"
        )
    groups = "1 group" if most == 1 else f"{most:,} groups"
    yield Note(
        f"At most {groups} of one {table.unit} {'is' if most == 1 else 'are'} used "
        "(max_groups_contributed). Where there are more, counts and sums are too low.",
        ask,
    )


def _bounds(table: Table, column: Column, prefix: str) -> Iterator[Note]:
    if column.kind not in _BOUNDED:
        return
    low, high = _shown(column, column.lower), _shown(column, column.upper)
    stepped = column.kind == "number" or column.step != 1
    unit = " seconds" if column.kind == "datetime" else ""
    steps = f" in steps of {float(column.step):,.15g}{unit}" if stepped else ""
    missing = ""
    if column.null == "drop":
        missing = ", missing or unreadable ones not at all"
    elif isinstance(column.null, int):
        missing = f", missing or unreadable ones as {_shown(column, column.null)}"
    yield Note(
        f"{prefix}{column.name} counts from {low} to {high}{steps}: values beyond count as the "
        f"nearest bound{missing}.",
        _at_a_bound(table, column),
    )


def _at_a_bound(table: Table, column: Column) -> str:
    ends = _literal(column, column.lower), _literal(column, column.upper)
    if table.kind == "public" or column.lower == column.upper or not all(ends):
        return ""
    name = sql_name(column.name)
    return (
        f"SELECT COUNT(*) AS rows_at_a_bound FROM {sql_name(table.name)} "
        f"WHERE {name} <= {ends[0]} OR {name} >= {ends[1]}"
    )


def _shown(column: Column, code: int) -> str:
    value = column.decode(code)
    return f"{value:,.15g}" if isinstance(value, int | float) else str(value)


def _literal(column: Column, code: int) -> str:
    """The value as SQL writes it, exactly; empty if no decimal is it."""
    if column.kind == "date":
        return f"DATE '{column.decode(code)}'"
    if column.kind == "datetime":
        return f"TIMESTAMP '{column.decode(code)}'"
    return decimal_text(code * column.step) or ""


def _key(plan: Plan, key: Key, domain: Domain) -> Iterator[Note]:
    if domain.private:
        yield Note(
            f"Rows whose {key.name} is missing or longer than 1,000 characters are not shown."
        )
        return
    columns = {column.name: column.accepted for column in plan.table.columns}
    known = replace(scope(plan.table, plan.dialect), columns=columns)
    value = bounded(key.expression, known)
    optional = any(columns[each].nullable for each in fields_of(key.expression))
    if value.missing == "never" or (value.kind == "boolean" and not optional):
        return
    field = key.expression.name if isinstance(key.expression, Field) else ""
    declared = value.kind == "category" and field != ""
    ask = ""
    if field and _plain(plan.query):
        ask = (
            f"SELECT COUNT(*) AS rows_in_no_group FROM {sql_name(plan.table.name)} "
            f"WHERE {sql_name(field)} IS NULL"
        )
    words = "missing or not declared" if declared else "missing or unreadable"
    yield Note(f"Rows whose {key.name} is {words} are in no group.", ask)


def _few(plan: Plan) -> Iterator[Note]:
    """Private keys of few people."""
    if not isinstance(plan.selection, Shown | Kept):
        return
    few = (
        plan.selection.threshold.threshold
        if isinstance(plan.selection, Shown)
        else int(plan.selection.rule.error(_LEVEL))
    )
    yield Note(f"Keys with clearly fewer than {few:,} people are not shown.")
    if isinstance(plan.selection, Shown):
        yield Note("Counts near that threshold are shown only if noise raised them.")


def _about_picks(plan: Plan) -> tuple[Note, ...]:
    """What the error of a quantile, an extreme or a mode is about."""
    said = []
    for way, pick, choice in zip(plan.ways, plan.picks, plan.choices, strict=True):
        if way is Way.SMOOTH:
            said.append(
                "How far off a quantile with smooth noise is depends on the gaps between the rows "
                "around it, which are secret: no interval but the bounds can be promised."
            )
        elif pick.width > 1:
            said.append(_about_bucket(pick, choice))
        elif pick.fractions:
            said.append(
                "The error of a quantile is the number of rows by which its rank may be off; "
                f"it is one of {pick.candidates:,} public values."
            )
        if {Fraction(0), Fraction(1)} & set(pick.fractions):
            said.append(
                "MIN and MAX are answered as quantiles a few rows inside the extremes, which "
                "themselves would show one person."
            )
        if not pick.fractions:
            said.append(
                "The error of a mode is the number of rows by which another value may be ahead."
            )
    return tuple(map(Note, dict.fromkeys(said)))


def _about_bucket(pick: Pick, choice: Choice) -> str:
    """What is promised of a quantile whose candidates are several values each."""
    ranks = math.ceil(choice.error(_LEVEL))
    wide = f" of {float(pick.step * pick.width):g}" if pick.kind == "number" else ""
    return (
        f"The quantile is the middle of one of {pick.candidates:,} public buckets{wide}, "
        f"{pick.width:,} values each. With 95% the rank of some value in the bucket is off by at "
        f"most {ranks:,} rows; for the middle itself no rank can be promised. A quantile of "
        "coarser values, such as FLOOR(x/100), has one."
    )
