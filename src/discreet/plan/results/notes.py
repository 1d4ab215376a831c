"""What an answer leaves out, bounds and promises, in plain sentences that go with it everywhere.
Functions of schema and statement alone: the same whatever the data holds. How much was really cut
depends on data, so it is a question of its own, which a note offers to ask.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.errors import UnsafeQuery
from discreet.plan.model import Plan
from discreet.plan.parts.candidates import CandidateQuery, Choice, QuantileMethod
from discreet.plan.parts.remarks import Note
from discreet.plan.parts.selection import OptimalKeys, ThresholdKeys
from discreet.plan.parts.uses import columns_read
from discreet.plan.results.evaluate import find_picked
from discreet.plan.sql.expressions import bounded, scope
from discreet.query.algebra import (
    Case,
    Expression,
    Field,
    IntervalEnd,
    IsNull,
    Join,
    Key,
    Literal,
    PerUnit,
    Query,
    Rows,
    Scan,
    Source,
    Statistic,
    Windowed,
)
from discreet.query.expression import aggregates_of, fields_of
from discreet.query.readers.naming import free_name
from discreet.query.statement.text import tokens
from discreet.query.written import conjunction, written
from discreet.rationals import decimal_text
from discreet.schema.column import AS_NULL, Column
from discreet.schema.names import sql_name
from discreet.schema.table import Table

__all__ = ["cuts_of", "notes_of", "table_notes"]

_LEVEL = Fraction(95, 100)
_TOGETHER = 8  # columns in one note
_BOUNDED = ("integer", "number", "date", "datetime")


def notes_of(plan: Plan) -> tuple[Note, ...]:
    """All that an analyst should know with an answer: what is cut, and what its intervals mean."""
    cuts = cuts_of(plan)
    shown = [output.expression for output in plan.query.outputs]
    measured = [expression for expression in shown if find_picked(plan, expression) is None]
    about = []
    if cuts and any(not isinstance(expression, IntervalEnd) for expression in measured):
        about.append(
            Note(
                "Intervals are about the noise alone: they hold for what the rows and values that "
                "are used would give."
            )
        )
    return (*cuts, *about, *_about_picks(plan))


def cuts_of(plan: Plan) -> tuple[Note, ...]:
    """What is left out of an answer, or bounded: rows, groups, values, keys.

    What is the same of several columns or keys is one note.
    """
    notes = [*_rows(plan), *_groups(plan)]
    known = {table.name: table for table in plan.tables}
    read: dict[str, list[str]] = {}
    for table, name in columns_read(plan.query, known):
        read.setdefault(table, []).append(name)
    where = _condition(plan.query)
    placed = _find_placed(plan.query)
    for table, names in read.items():
        prefix = f"{table}." if len(known) > 1 else ""
        notes += _bounds(known[table], names, prefix, where, placed)
    return tuple(dict.fromkeys([*notes, *_keys(plan), *_note_few(plan)]))


def table_notes(table: Table, columns: tuple[str, ...]) -> tuple[Note, ...]:
    """The same for what is computed from these columns of a whole table, without SQL.

    >>> age = Column("age", "integer", upper=110)
    >>> table_notes(Table("people", columns=(age,)), ("age",))[0].ask
    'SELECT COUNT(*) AS rows_at_a_bound FROM people WHERE age <= 0 OR age >= 110'
    """
    notes = [] if table.unit is None else [_rows_of(table, table.rows_per_unit, "")]
    return (*notes, *_bounds(table, columns, "", "", frozenset()))


def _condition(query: Query) -> str | None:
    """The statement's condition, for questions about its table; None where that alone is not it."""
    if _plain(query):
        return "" if query.where is None else written(query.where)
    return None if query.where is not None or _is_narrowed(query.source) else ""


def _is_narrowed(source: Source) -> bool:
    """Whether a source has a condition of its own."""
    match source:
        case Scan():
            return False
        case Join(_, left, right):
            return _is_narrowed(left) or _is_narrowed(right)
        case Rows(inner, where) | PerUnit(inner, where) | Windowed(inner, where):
            return where is not None or _is_narrowed(inner)


def _ask(what: str, table: str, *conditions: str) -> str:
    """A question about the rows of a table; empty where it would be longer than one may be."""
    where = conjunction(*conditions)
    ask = f"SELECT {what} FROM {table}" + (f" WHERE {where}" if where else "")
    try:
        tokens(ask)
    except UnsafeQuery:
        return ""
    return ask


def _rows(plan: Plan) -> Iterator[Note]:
    query, most = plan.query, plan.query.options.max_rows_contributed
    if _only_people(query):
        return
    where = _condition(query)
    for table in plan.tables:
        if table.unit is not None:
            limit = table.rows_per_unit
            yield _rows_of(table, min(limit, most or limit) if _plain(query) else limit, where)
        elif table.kind == "public" and table.key:
            rows = "row" if table.rows_per_key == 1 else "rows"
            yield Note(
                f"{table.name}: at most {table.rows_per_key:,} {rows} for one "
                f"{', '.join(table.key)} can be joined."
            )
    if any(_averages(query.source)):
        yield Note("An average of one unit's rows is rounded to a step of what is averaged.")
    if plan.table.unit is not None and _has_windows(query.source):
        yield Note(
            "First, last, previous and running values, ranks and row numbers are those among the "
            f"rows of one {plan.table.unit} that are used; missing values come last in their order."
        )
    if most is not None and plan.table.unit is not None and not _plain(query):
        rows = "1 row" if most == 1 else f"{most:,} rows"
        yield Note(f"After the joins, at most {rows} of one {plan.table.unit} count.")


def _averages(source: Source) -> Iterator[bool]:
    """Whether each grouped subquery rounds an average."""
    match source:
        case Join(_, left, right):
            yield from _averages(left)
            yield from _averages(right)
        case PerUnit(inner, columns=columns):
            found = aggregates_of(tuple(expression for _, expression in columns))
            yield any(each.statistic is Statistic.AVERAGE for each in found)
            yield from _averages(inner)
        case Rows(inner) | Windowed(inner):
            yield from _averages(inner)


def _has_windows(source: Source) -> bool:
    """Whether the rows of a unit are looked at in an order."""
    match source:
        case Scan():
            return False
        case Join(_, left, right):
            return _has_windows(left) or _has_windows(right)
        case Rows(inner) | PerUnit(inner):
            return _has_windows(inner)
        case Windowed():
            return True


def _only_people(query: Query) -> bool:
    """Whether people are counted, all of them: further rows of a person change nothing."""
    people = {wanted.statistic for wanted in aggregates_of(query.outputs)} <= {Statistic.UNITS}
    narrowed = query.where is not None or query.keys or query.having is not None
    return people and not narrowed and _plain(query)


def _plain(query: Query) -> bool:
    return isinstance(query.source, Scan) and not query.source.names


def _rows_of(table: Table, limit: int, where: str | None) -> Note:
    """Rows are cut before a condition is looked at: asked is who has reached the limit with any
    rows, and has some that the condition is about.
    """
    assert table.unit is not None
    rows = "1 row" if limit == 1 else f"{limit:,} rows"
    used, concerned = (_alias(table, word) for word in ("used", "concerned"))
    test = f"{used} > {limit}" if limit < table.rows_per_unit else f"{used} >= {limit}"
    unit, name = sql_name(table.unit), sql_name(table.name)
    shown, tests = f"{unit}, COUNT(*) AS {used}", [test]
    if where:
        shown += f", MAX(CASE WHEN {where} THEN 1 ELSE 0 END) AS {concerned}"
        tests.append(f"{concerned} = 1")
    each = f"(SELECT {shown} FROM {name} GROUP BY {unit}) AS each_unit"
    offered = table.rows_per_unit > 1 and where is not None
    return Note(
        f"{table.name}: at most {rows} of one {table.unit} {'is' if limit == 1 else 'are'} used, "
        "and none without one. Where there are more, counts and sums are too low.",
        _ask("COUNT(*) AS units_at_the_limit", each, " AND ".join(tests)) if offered else "",
    )


def _alias(table: Table, word: str) -> str:
    """A name that no column of a table has."""
    return free_name(word, [column.name for column in table.columns] + [table.unit or ""])


def _groups(plan: Plan) -> Iterator[Note]:
    most, table = plan.query.options.max_groups_contributed, plan.table
    if most is None or table.unit is None or not plan.domains or most >= table.rows_per_unit:
        return
    ask = ""
    if _plain(plan.query):
        unit, name, where = sql_name(table.unit), sql_name(table.name), _condition(plan.query)
        keys = [written(key.expression) for key in plan.query.keys]
        each = ", ".join([unit, *keys])
        places = (_alias(table, f"key_{place}") for place in range(1, len(keys) + 1))
        parts = [f"{key} AS {place}" for key, place in zip(keys, places, strict=True)]
        named, touched = ", ".join([unit, *parts]), _alias(table, "touched")
        groups = f"SELECT {named} FROM {name}{f' WHERE {where}' if where else ''} GROUP BY {each}"
        units = (
            f"SELECT {unit}, COUNT(*) AS {touched} FROM ({groups}) AS each_group GROUP BY {unit}"
        )
        ask = _ask("COUNT(*) AS units_beyond", f"({units}) AS each_unit", f"{touched} > {most}")
    groups = "1 group" if most == 1 else f"{most:,} groups"
    verb = "is" if most == 1 else "are"
    yield Note(f"At most {groups} of one {table.unit} {verb} used, as was asked for.", ask)


def _bounds(
    table: Table, names: Iterable[str], prefix: str, where: str | None, placed: frozenset[str]
) -> Iterator[Note]:
    """Columns of which the same is said stand in one note, but no more than can be read at once.

    Of those that are `placed`, missing values have a group of their own: nothing is lost.
    """
    alike: dict[str, list[Column]] = {}
    for name in names:
        column = table.column(name)
        if column.kind in _BOUNDED:
            missing = "" if column.name in placed else _missing(column)
            alike.setdefault(missing, []).append(column)
    for missing, columns in alike.items():
        for start in range(0, len(columns), _TOGETHER):
            some = columns[start : start + _TOGETHER]
            ranges = [f"{prefix}{column.name} from {_range(column)}" for column in some]
            ranges[0] = ranges[0].replace(" from ", " counts from ", 1)
            yield Note(
                f"{', '.join(ranges)}: values beyond count as the nearest bound{missing}.",
                "" if where is None else _at_a_bound(table, some, where),
            )


def _missing(column: Column) -> str:
    if column.null == "drop":
        return ", missing or unreadable ones not at all"
    if isinstance(column.null, int):
        return f", missing or unreadable ones as {_shown(column, column.null)}"
    return ""


def _range(column: Column) -> str:
    low, high = _shown(column, column.lower), _shown(column, column.upper)
    stepped = column.kind == "number" or column.step != 1
    unit = " seconds" if column.kind == "datetime" else ""
    steps = f" in steps of {float(column.step):,.15g}{unit}" if stepped else ""
    return f"{low} to {high}{steps}"


def _at_a_bound(table: Table, columns: Sequence[Column], where: str) -> str:
    """One question for all the columns: how many rows of each are at a bound."""
    tests = {}
    for column in columns:
        low, high = _literal(column, column.lower), _literal(column, column.upper)
        if column.lower != column.upper and low and high:
            name = sql_name(column.name)
            tests[column.name] = f"{name} <= {low} OR {name} >= {high}"
    if table.kind == "public" or not tests:
        return ""
    if len(tests) == 1:
        (test,) = tests.values()
        return _ask("COUNT(*) AS rows_at_a_bound", sql_name(table.name), where, test)
    counts = ", ".join(
        f"SUM(CASE WHEN {test} THEN 1 ELSE 0 END) AS {sql_name(f'{name}_at_a_bound')}"
        for name, test in tests.items()
    )
    return _ask(counts, sql_name(table.name), where)


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


def _keys(plan: Plan) -> Iterator[Note]:
    """Rows that are in no group, a note for each reason."""
    private: list[str] = []
    alike: dict[str, list[Key]] = {}
    for key, domain in zip(plan.query.keys, plan.domains, strict=True):
        if domain.private:
            private.append(key.name)
            continue
        words = _missing_text(plan, key)
        if words:
            alike.setdefault(words, []).append(key)
    if private:
        yield Note(
            f"Rows whose {_either(private)} is missing or longer than 1,000 characters are not "
            "shown."
        )
    for words, keys in alike.items():
        ask = ""
        if _plain(plan.query):
            tests = " OR ".join(written(IsNull(key.expression)) for key in keys)
            name, where = sql_name(plan.table.name), _condition(plan.query) or ""
            ask = _ask("COUNT(*) AS rows_in_no_group", name, where, tests)
        names = _either([key.name for key in keys])
        yield Note(f"Rows whose {names} is {words} are in no group.", ask)


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _missing_text(plan: Plan, key: Key) -> str:
    """How a row can be without this key; empty if none can."""
    columns = {column.name: column.accepted for column in plan.table.columns}
    expression = key.expression
    for name in _find_guarded(expression):
        columns[name] = _assume_present(columns[name])
    value = bounded(expression, replace(scope(plan.table, plan.dialect), columns=columns))
    optional = any(columns[name].nullable for name in fields_of(expression))
    if value.missing == "never" or (value.kind == "boolean" and not optional):
        return ""
    declared = value.kind == "category" and isinstance(expression, Field)
    return "missing or not declared" if declared else "missing or unreadable"


def _find_guarded(expression: Expression) -> Iterator[str]:
    """The columns that the first arms of a CASE test for missing: in the others they are not."""
    for test, value in expression.branches if isinstance(expression, Case) else ():
        if not isinstance(test, IsNull) or not isinstance(test.operand, Field):
            return
        if not isinstance(value, Literal) or value.value is None:
            return
        yield test.operand.name


def _find_placed(query: Query) -> frozenset[str]:
    """The columns that stand only in keys with a place for missing values."""
    guarded = {name for key in query.keys for name in _find_guarded(key.expression)}
    others = (*(output.expression for output in query.outputs), query.where, query.having)
    used = {name for expression in others for name in fields_of(expression)}
    for key in query.keys:
        used |= {*fields_of(key.expression)} - {*_find_guarded(key.expression)}
    return frozenset(guarded - used) if _plain(query) else frozenset()


def _assume_present(column: Column) -> Column:
    """The same column where it is not missing."""
    return replace(column, null=column.lower, nan=AS_NULL, infinity="clamp")


def _note_few(plan: Plan) -> Iterator[Note]:
    """Private keys of few privacy units."""
    if isinstance(plan.selection, ThresholdKeys):
        few = plan.selection.threshold.threshold
        yield Note(
            f"Keys with clearly fewer than {few:,} privacy units are not shown, and counts near "
            "that threshold only if noise raised them."
        )
    elif isinstance(plan.selection, OptimalKeys):
        few = int(plan.selection.rule.error(_LEVEL))
        yield Note(f"Keys with clearly fewer than {few:,} privacy units are not shown.")


def _about_picks(plan: Plan) -> tuple[Note, ...]:
    """What the error of a quantile, an extreme or a mode is about; each fact is said once."""
    said = []
    picked_ways = list(zip(plan.ways, plan.picks, plan.choices, strict=True))
    if any(way is QuantileMethod.SMOOTH for way, _, _ in picked_ways):
        said.append(
            "How far off a quantile with smooth noise is depends on the gaps between the rows "
            "around it, which are secret: no interval but the bounds can be promised."
        )
    listed = [
        (pick, choice) for way, pick, choice in picked_ways if way is not QuantileMethod.SMOOTH
    ]
    buckets = [_bucket(pick, choice) for pick, choice in listed if pick.width > 1]
    if buckets:
        said.append(
            f"A quantile here is the middle of {'; or of '.join(dict.fromkeys(buckets))}. For the "
            "middle itself no rank can be promised; a quantile of coarser values, such as "
            "FLOOR(x/100), has one."
        )
    single = [pick.candidates for pick, _ in listed if pick.width == 1 and pick.fractions]
    if single:
        values = _either([f"{count:,}" for count in sorted(set(single))])
        said.append(
            "The error of a quantile is the number of rows by which its rank may be off; "
            f"it is one of {values} public values."
        )
    if any({Fraction(0), Fraction(1)} & set(pick.fractions) for pick in plan.picks):
        said.append(
            "MIN and MAX are answered as quantiles a few rows inside the extremes, which "
            "themselves would show one person."
        )
    if any(not pick.fractions for pick in plan.picks):
        said.append(
            "The error of a mode is the number of rows by which another value may be ahead."
        )
    return tuple(map(Note, said))


def _bucket(pick: CandidateQuery, choice: Choice) -> str:
    """What is promised of a quantile whose candidates are several values each."""
    ranks = math.ceil(choice.error(_LEVEL))
    wide = f" of {float(pick.step * pick.width):g}" if pick.kind == "number" else ""
    return (
        f"one of {pick.candidates:,} public buckets{wide}, {pick.width:,} values each, of which "
        f"with 95% some value's rank is off by at most {ranks:,} rows"
    )
