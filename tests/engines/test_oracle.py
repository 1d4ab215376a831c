"""The oracle: every accepted construct on every type of column, on three engines, prepared and in
place. The exact integers that the noise would be given, the groups they belong to and the names of
these groups are those of plain SQL on the bounded rows, written without a look at emitted SQL.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
import sqlglot

from discreet.errors import UnsafeQuery
from discreet.plan.pipeline import Plan
from discreet.plan.rules.rollups import kept_tables
from discreet.plan.sql import calendar
from discreet.plan.sql.dialects import dialect_of
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.query.algebra import Statistic
from discreet.query.parse import parse
from discreet.query.readers import casts, dates
from discreet.query.readers.aggregates import AGGREGATES
from discreet.query.statement import options, text
from discreet.query.statement.scopes import ON_RESULTS, ON_ROWS
from discreet.schema.column import KINDS
from discreet.schema.table import Table
from support import oracle_cases
from support.loaded_engines import LoadedEngine, LoadedSpark
from support.oracle import differences, expected, planned
from support.oracle_cases import COLUMNS, Case, Template, cases, covering
from support.oracle_tables import SOURCES, TABLES, VISITS, Plain, names_of, raw_rows

EVERY = cases()
SOME = covering(EVERY)
TWICE = covering(EVERY, each=2)
SMALL = (*oracle_cases.TRUTHS, *oracle_cases.CATEGORIES)
SPARK_BATCH = 8
PARTS = 12
MOST_SHOWN = 20

Rows = list[tuple[Any, ...]]


def in_order(rows: Rows) -> Rows:
    return sorted(map(tuple, rows), key=repr)


@pytest.fixture(scope="module")
def plain() -> Iterator[Plain]:
    """The bounded rows in a plain DuckDB."""
    made = Plain(raw_rows())
    yield made
    made.close()


@dataclass(frozen=True, eq=False)
class Stage:
    """An engine with all tables: what stands for each, prepared and in place."""

    loaded: LoadedEngine
    prepared: dict[str, str]
    in_place: dict[str, str]

    @classmethod
    def of(cls, loaded: LoadedEngine) -> "Stage":
        """Load the raw rows, and prepare them."""
        prepared, in_place = {}, {}
        for name, table in TABLES.items():
            loaded.load({each: SOURCES[each] for each in names_of(table)}, raw_rows()[name])
            loaded.prepare(table)
            for made, role in (("source", "raw"), ("prepared", "prepared")):
                _keep(loaded, made, f"oracle_{role}_{name}")
            dialect = dialect_of(loaded.dialect)
            rows = lattice_rows(table, f"oracle_raw_{name}", loaded._types, loaded.dialect)
            prepared[name] = f'"oracle_prepared_{name}"'
            in_place[name] = dialect.derived(rows, "prepared")
        return cls(loaded, prepared, in_place)

    @cache  # noqa: B019 (there are three stages, for a whole run)
    def planned(self, case: Case) -> Plan:
        """The plan over prepared rows."""
        return planned(case, self.loaded.dialect, self.prepared)

    def placed(self, sql: str) -> str:
        """A statement over prepared rows as the same over raw ones."""
        for name, relation in self.prepared.items():
            sql = sql.replace(relation, self.in_place[name])
        return sql

    def answers(self, plans: list[Plan], statements: list[str]) -> Iterator[Rows]:
        """The rows of the plans, of each by its statement."""
        if not isinstance(self.loaded, LoadedSpark):
            yield from (self.loaded.rows(sql) for sql in statements)
            return
        for first in range(0, len(statements), SPARK_BATCH):
            last = first + SPARK_BATCH
            yield from _together(self.loaded, plans[first:last], statements[first:last])


def _keep(loaded: LoadedEngine, made: str, name: str) -> None:
    """The same rows under a name of their own."""
    if isinstance(loaded, LoadedSpark):
        frame = loaded.session.table(made)
        rows = loaded.session.createDataFrame(frame.collect(), frame.schema)
        rows.createOrReplaceTempView(name)
        return
    loaded.run(f"DROP TABLE IF EXISTS {name}")
    loaded.run(f"CREATE TABLE {name} AS SELECT * FROM {made}")


def _columns(made: Plan) -> dict[str, bool]:
    """The columns of a plan's statement, and whether each is a text."""
    keys = {f"$k{place}": domain.private for place, domain in enumerate(made.domains)}
    sums = {f"$s{place}": False for place in range(len(made.engine_columns))}
    if not made.picks:
        return {**keys, **sums}
    return {"$b": False, **keys, "$c": False, "$n": False, **sums}


def _together(loaded: LoadedSpark, plans: list[Plan], statements: list[str]) -> Iterator[Rows]:
    """Many statements as one: a job of Spark takes longer than all of them."""
    columns = [_columns(made) for made in plans]
    widest = max(map(len, columns))
    parts = []
    for place, (sql, names) in enumerate(zip(statements, columns, strict=True)):
        texts = [f'CAST("{name}" AS STRING)' for name in names]
        texts += ["CAST(NULL AS STRING)"] * (widest - len(texts))
        named = ", ".join(f'{each} AS "$k{n}"' for n, each in enumerate(texts))
        parts.append(f'SELECT {place} AS "$k", {named} FROM ({sql}) AS part{place}')
    found = loaded.rows(" UNION ALL ".join(parts))
    for place, names in enumerate(columns):
        yield [
            tuple(
                value if text or value is None else int(value)
                for value, text in zip(row[1:], names.values(), strict=False)
            )
            for row in found
            if row[0] == place
        ]


@cache
def staged(loaded: LoadedEngine) -> Stage:
    """Each loaded is filled once."""
    return Stage.of(loaded)


def wrong(loaded: LoadedEngine, asked: list[Case], plain: Plain) -> list[str]:
    """Every difference from plain SQL, over prepared rows."""
    stage = staged(loaded)
    plans = [stage.planned(case) for case in asked]
    answers = stage.answers(plans, [made.sql for made in plans])
    found = []
    for case, made, rows in zip(asked, plans, answers, strict=True):
        different = differences(case, made, rows, _expected(case, plain))
        found += [f"{case}: {each}" for each in different[:MOST_SHOWN]]
    return found


def wrong_in_place(loaded: LoadedEngine, asked: list[Case], plain: Plain) -> list[str]:
    """Every difference over raw rows: the tables as a whole, then questions about them."""
    stage = staged(loaded)
    found = []
    for name, table in TABLES.items():
        named = ", ".join(f'{each} AS "$k{place}"' for place, each in enumerate(_shown(table)))
        places = stage.prepared[name], stage.in_place[name]
        one, other = (in_order(loaded.rows(f"SELECT {named} FROM {place}")) for place in places)
        if one != other:
            found.append(f"the rows of {name} in place: {other}, not {one}")
    plans = [stage.planned(case) for case in asked]
    answers = stage.answers(plans, [stage.placed(made.sql) for made in plans])
    for case, made, rows in zip(asked, plans, answers, strict=True):
        different = differences(case, made, rows, _expected(case, plain))
        found += [f"in place, {case}: {each}" for each in different[:MOST_SHOWN]]
    return found


def _shown(table: Table) -> list[str]:
    unit = [] if table.unit is None else ['"$unit"']
    return [*unit, *(f'"{column.name}"' for column in table.columns)]


@cache
def _expected(case: Case, plain: Plain) -> Any:
    return expected(case, plain)


def check_none(found: list[str]) -> None:
    """All differences at once, not the first one only."""
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:MOST_SHOWN])


def test_duckdb_gives_the_integers_of_plain_sql(loaded_duckdb, plain):
    """Every construct, with every type of column at least once."""
    check_none(wrong(loaded_duckdb, SOME, plain))


@pytest.mark.slow("large oracles")
def test_duckdb_gives_the_integers_of_plain_sql_for_every_case(loaded_duckdb, plain):
    check_none(wrong(loaded_duckdb, EVERY, plain))


@pytest.mark.slow("large oracles")
def test_duckdb_in_place_gives_the_integers_of_plain_sql(loaded_duckdb, plain):
    check_none(wrong_in_place(loaded_duckdb, SOME, plain))


def test_kept_totals_give_the_integers_of_plain_sql(loaded_duckdb, plain):
    stage = staged(loaded_duckdb)
    for name, sql in kept_tables(VISITS, stage.prepared["visits"]).items():
        loaded_duckdb.run(f'CREATE OR REPLACE TABLE "{name}" AS {sql}')
    found, used = [], 0
    for case in EVERY:
        small = case.column in SMALL or case.construct in ("every aggregate", "mode")
        if not small or case.source != "visits" or case.before:
            continue
        made = planned(case, "duckdb", stage.prepared, kept="totals")
        if made.sql != stage.planned(case).sql:
            used += 1
            different = differences(
                case, made, loaded_duckdb.rows(made.sql), _expected(case, plain)
            )
            found += [f"{case}: {each}" for each in different]
    assert used > 50
    check_none(found)


@pytest.mark.parametrize("check", [wrong, wrong_in_place])
def test_postgresql_gives_the_integers_of_plain_sql(postgresql, plain, check):
    check_none(check(postgresql, TWICE, plain))


def test_spark_gives_the_integers_of_plain_sql(interpreted_spark, plain):
    check_none(wrong(interpreted_spark, SOME, plain))


def test_spark_in_place_gives_the_integers_of_plain_sql(interpreted_spark, plain):
    """Fewer: each statement computes the lattice of every column anew."""
    check_none(wrong_in_place(interpreted_spark, SOME[::8], plain))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("check", [wrong, wrong_in_place])
@pytest.mark.parametrize("engine", ["loaded_duckdb", "postgresql", "interpreted_spark"])
def test_every_engine_gives_the_integers_of_plain_sql(request, plain, engine, check, part):
    """The whole product, in parts that say how far it has come."""
    check_none(check(request.getfixturevalue(engine), EVERY[part::PARTS], plain))


def test_a_plan_over_raw_rows_is_the_one_over_prepared_rows(loaded_duckdb):
    """So that one plan can stand for both."""
    stage = staged(loaded_duckdb)
    for case in SOME:
        in_place = planned(case, "duckdb", stage.in_place)
        assert in_place.sql == stage.placed(stage.planned(case).sql)


MUTATIONS = [
    ("COUNT(*)", "COUNT(*) + 1"),
    (" < ", " <= "),
    (" >= ", " > "),
    (" // ", " / "),
    (" IS NULL", " IS NOT NULL"),
    (" AND (", " OR ("),
    ("'month'", "'quarter'"),
    ("date_part('week'", "date_part('month'"),
    ("SUM(", "MAX("),
    ("LEAST(", "GREATEST("),
    ("LEFT JOIN", "INNER JOIN"),
    ('"$place" <= 1', '"$place" <= 2'),
    (" % 24", " % 12"),
    ("COUNT(DISTINCT ", "COUNT("),
    (" THEN 1", " THEN 0"),
]


@pytest.mark.parametrize(("right", "mistaken"), MUTATIONS)
def test_a_mistake_in_a_statement_is_noticed(loaded_duckdb, plain, right, mistaken):
    """The oracle can fail: of the questions whose statement is spoilt, some are told apart."""
    stage = staged(loaded_duckdb)
    spoilt = [case for case in TWICE if right in stage.planned(case).sql]
    spoilt = spoilt[:: max(1, len(spoilt) // 12)]
    noticed = 0
    for case in spoilt:
        made = stage.planned(case)
        rows = loaded_duckdb.rows(made.sql.replace(right, mistaken))
        try:
            noticed += bool(differences(case, made, rows, _expected(case, plain)))
        except (AssertionError, LookupError, ValueError, TypeError):
            noticed += 1
    assert noticed > 0, len(spoilt)


def test_steps_taken_for_days_are_noticed(loaded_duckdb, plain):
    """The mistake that this oracle was made for."""
    stage = staged(loaded_duckdb)
    case = next(
        each for each in EVERY if each.column == "t3600" and "DATE_TRUNC('month'" in each.question
        and each.keys and each.source == "visits"
    )  # fmt: skip
    made = stage.planned(case)
    rows = loaded_duckdb.rows(made.sql)
    assert not differences(case, made, rows, _expected(case, plain))
    column = next(each for each in VISITS.columns if each.name == "t3600")
    codes = tuple(calendar.starts("month", column.lower, column.upper))
    days = replace(made.domains[0], codes=codes, labels=tuple(map(calendar.day_of, codes)))
    assert differences(case, replace(made, domains=(days,)), rows, _expected(case, plain))


def templates() -> Iterator[tuple[str, Template]]:
    """Every template, and a question with a hole for it."""
    for each in oracle_cases.CONDITIONS:
        yield "SELECT COUNT(*) FROM visits WHERE {}", each
    for each in (*oracle_cases.VALUES, *oracle_cases.PARTS):
        yield "SELECT SUM({} + 0) FROM visits", each
    for each in oracle_cases.MOMENTS:
        yield "SELECT COUNT(*) FROM visits GROUP BY DATE_TRUNC('year', {})", each
    for each in oracle_cases.LABELS:
        yield "SELECT COUNT(*) FROM visits GROUP BY {}", each
    for each in oracle_cases.STATISTICS:
        yield "SELECT {} FROM visits", Template(each.asked, each.columns)


def _accepted(question: str) -> bool:
    try:
        parse(question, TABLES)
    except UnsafeQuery:
        return False
    return True


def test_a_construct_is_asked_of_every_type_that_it_takes():
    """And of no other: what it refuses has nothing to compare."""
    wrong = [
        (template.asked, column)
        for hole, template in templates()
        for column in COLUMNS
        if _accepted(hole.format(template.of(column)[0])) != (column in template.columns)
    ]
    assert wrong == []


def test_every_accepted_construct_has_a_question():
    """From the lists of what is accepted: a construct added there needs a template here."""
    asked = [case.question for case in EVERY]
    alike = {re.sub(rf"\b{case.column}\b", "column", case.question): case for case in EVERY}
    once = [case.question for case in alike.values() if "OPTIONS" not in case.question]
    trees = [sqlglot.parse_one(each) for each in once]
    classes = {type(node).__name__ for tree in trees for node in tree.walk()}
    assert classes >= {"Column", *ON_ROWS, *ON_RESULTS, *AGGREGATES}
    words = " ".join(asked).upper()
    assert [name for name in text._FUNCTIONS if f"{name}(" not in words] == []
    assert [name for name in dates._PARTS if f"EXTRACT({name} FROM" not in words] == []
    assert [unit for unit in dates._UNITS if f"DATE_TRUNC('{unit.upper()}'" not in words] == []
    assert [name for name in options._NAMES if f"{name.upper()}=" not in words] == []
    tables = (casts._UNCHANGED, casts._CHANGED)
    listed = {kind for table in tables for kinds in table.values() for kind in kinds}
    kinds = listed & text._ALLOWED
    unasked = {kind for kind in kinds if f" AS {kind})" not in words and f"::{kind}" not in words}
    assert unasked == set()


def test_every_token_that_is_allowed_is_in_some_question():
    kinds = {token.token_type.name for case in EVERY for token in sqlglot.tokenize(case.question)}
    assert text._ALLOWED - kinds == set()


def test_every_statistic_and_every_type_of_column_is_asked(loaded_duckdb):
    stage = staged(loaded_duckdb)
    plans = [stage.planned(case) for case in EVERY if case.construct in ("every aggregate", "mode")]
    found = {aggregate.statistic for made in plans for aggregate, _ in made.estimators}
    assert found | {Statistic.ROWS, Statistic.UNITS} == set(Statistic)
    assert {column.kind for column in VISITS.columns} == set(KINDS)
    assert {column.name for column in VISITS.columns} == set(COLUMNS)
    steps = {int(each.step) for each in VISITS.columns if each.kind == "datetime"}
    assert steps == {1, 60, 900, 3600}
