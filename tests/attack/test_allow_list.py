"""The allow-list against everything the engines know: every function, operator and keyword of
DuckDB and PostgreSQL and every function of sqlglot is either listed or refused with UnsafeQuery;
and what is listed is total: no value in a row can make a statement fail.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.errors import DiscreetError, UnsafeQuery
from discreet.loss import Pure
from discreet.plan.pipeline import Draft, plan
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.query.statement import scopes
from discreet.query.statement import text as words
from support.questions import TABLES, ask
from support.twin_vaults import KINDS, PERSONS, ordinary

PLACES = [
    "SELECT {}(age) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE {}(age) = 1",
    "SELECT SUM({}(age, 2)) FROM visits",
    "SELECT COUNT(*) FROM visits GROUP BY {}(day)",
    "SELECT COUNT(*) FROM {}('x')",
    "SELECT {} FROM visits",
    "SELECT COUNT(*) FROM visits WHERE age {} 1",
]
LISTED = {"!=", "<", "<=", "=", ">", ">=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}
HARMLESS = {"+", "-", "NOT", "!!", "DISTINCT"}  # signs, negations, and GROUP BY DISTINCT (day)


def accepted(names: set[str]) -> set[str]:
    """The names that are read somewhere; whatever else is raised but UnsafeQuery comes through."""
    found = set()
    for name in sorted(names):
        for place in PLACES:
            try:
                ask(place.format(name))
            except UnsafeQuery:
                continue
            found.add(name.upper())
    return found


@cache
def duckdb_names() -> frozenset[str]:
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT function_name FROM duckdb_functions() "
            "UNION SELECT keyword_name FROM duckdb_keywords()"
        )
        return frozenset(row[0] for row in found.fetchall())


@cache
def sqlglot_names() -> frozenset[str]:
    return frozenset(name for kind in exp.ALL_FUNCTIONS for name in kind.sql_names())


@pytest.fixture(scope="module")
def postgresql_names(postgresql_folder: Path) -> frozenset[str]:
    """What a running server knows: functions, operators and keywords."""
    import psycopg

    with psycopg.connect(f"postgresql://postgres@/postgres?host={postgresql_folder}") as server:
        found = server.execute(
            "SELECT proname FROM pg_proc UNION SELECT oprname FROM pg_operator "
            "UNION SELECT word FROM pg_get_keywords()"
        )
        return frozenset(row[0] for row in found.fetchall())


def test_every_name_of_duckdb_is_listed_or_refused() -> None:
    names = set(duckdb_names())
    assert len(names) > 1500
    assert accepted(names) <= words._FUNCTIONS | LISTED | HARMLESS


def test_every_function_of_sqlglot_is_listed_or_refused() -> None:
    names = set(sqlglot_names())
    assert len(names) > 500
    assert accepted(names) <= words._FUNCTIONS


def test_every_name_of_postgresql_is_listed_or_refused(postgresql_names: frozenset[str]) -> None:
    assert {"pg_sleep", "pg_read_file", "lo_import", "count", "||"} <= postgresql_names
    assert len(postgresql_names) > 2500
    assert accepted(set(postgresql_names - duckdb_names())) <= words._FUNCTIONS | LISTED | HARMLESS


def test_the_walk_sees_a_function_that_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: SQRT on the list of words, and a parser that reads it as it reads FLOOR."""
    monkeypatch.setattr(words, "_FUNCTIONS", words._FUNCTIONS | {"SQRT"})
    assert accepted({"sqrt"}) == set()  # the second list holds on its own
    monkeypatch.setattr(scopes, "ON_ROWS", {**scopes.ON_ROWS, "Sqrt": scopes.ON_ROWS["Floor"]})
    assert accepted({"sqrt", "pg_sleep"}) == {"SQRT"}


NUMBERS = [
    "age", "income", "format", "YEAR(day)", "WEEK(day)", "EXTRACT(DAYOFYEAR FROM day)",
    "CAST(age AS INT)", "FLOOR(income / 1000)", "WIDTH_BUCKET(income, 0, 100000, 7)",
    "CASE WHEN smoker THEN age END", "LEAST(age, income)", "GREATEST(age, 3, income)",
    "0", "-1", "0.5", "400000", "1e-9", "LENGTH(region)", "DATE_DIFF('day', day, '2024-02-29')",
    "COALESCE(age, income)", "NULLIF(age, 3)", "ISODOW(day)", "smoker::INT", "age // -7",
]  # fmt: skip
ROUNDED = [
    "FLOOR({})", "CEIL({})", "ROUND({})", "ROUND({}, 2)", "ROUND({}, -3)", "TRUNC({}, 1)",
    "ABS({})", "SIGN({})", "({} % -3.5)", "CAST({} AS INT)",
]  # fmt: skip
CONSTANTS = ["1", "-3", "0.5", "7", "1e9", "400000"]
CONDITIONS = [
    "smoker", "region = 'north'", "region IN ('south', 'East')", "region LIKE '%th_'",
    "home ILIKE 'w%'", "day > '0001-01-01'", "day <= DATE '9999-12-31'", "day IS NULL",
    "DATE_TRUNC('quarter', day) < '2024-07-01'", "region = home", "format NOT IN (1, 2)",
    "UPPER(region) = 'NORTH'", "LEFT(home, 1) <> RIGHT(region, 1)", "region || '!' = 'north!'",
    "age IS DISTINCT FROM income", "COALESCE(smoker, FALSE)", "CONTAINS(home, 'o')",
    "day < DATE '2024-01-31' + INTERVAL 1 MONTH", "CONCAT(region, 'x') = 'x'",
]  # fmt: skip
numbers = st.recursive(
    st.sampled_from(NUMBERS),
    lambda part: (
        st.tuples(part, st.sampled_from("+-*"), part).map(lambda each: f"({' '.join(each)})")
        | st.tuples(part, st.sampled_from(CONSTANTS)).map(lambda each: f"({each[0]} / {each[1]})")
        | st.tuples(st.sampled_from(ROUNDED), part).map(lambda each: each[0].format(each[1]))
    ),
    max_leaves=4,
)
conditions = st.recursive(
    st.sampled_from(CONDITIONS)
    | st.tuples(numbers, st.sampled_from(["<", "=", ">=", "<>"]), numbers).map(" ".join)
    | st.tuples(numbers, numbers).map(lambda each: f"{each[0]} BETWEEN -1e30 AND {each[1]}"),
    lambda part: (
        st.tuples(part, st.sampled_from(["AND", "OR"]), part).map(lambda c: f"({' '.join(c)})")
        | part.map(lambda each: f"NOT ({each})")
    ),
    max_leaves=3,
)
aggregates = numbers.map("SUM({})".format) | numbers.map("AVG({})".format)
aggregates |= conditions.map("COUNT(CASE WHEN {} THEN 1 END)".format)
aggregates |= st.sampled_from(["MEDIAN(age)", "VAR_POP(income)", "CORR(age, income)", "MAX(day)"])
questions = st.tuples(aggregates, conditions).map(
    lambda each: f"SELECT {each[0]} AS x FROM visits WHERE {each[1]}"
)


@pytest.fixture(scope="module")
def hostile() -> Iterator[list[Any]]:
    """Everybody that twins may differ in, in one table that is read in place."""
    rows = ordinary()["visits"] + [row for make in PERSONS.values() for row in make()["visits"]]
    kinds = KINDS["visits"]
    columns = zip(kinds.items(), zip(*rows, strict=True), strict=True)
    raw = pa.table({name: pa.array(list(values), kind) for (name, kind), values in columns})
    with duckdb.connect() as connection:
        connection.register("given", raw)
        connection.execute("CREATE TABLE source AS FROM given")
        described = connection.execute("DESCRIBE source").fetchall()
        types = {row[0]: row[1] for row in described}
        relation = f"({lattice_rows(TABLES['visits'], 'source', types)}) AS prepared"
        made = [connection, relation]
        yield made
        made.clear()  # hypothesis keeps the list, which must not keep the connection


def _answered(hostile: list[Any], text: str) -> str:
    connection, relation = hostile
    try:
        query = ask(text)
        sql = plan(
            Draft(query=query, table=TABLES["visits"], price=Pure(epsilon=1), relation=relation)
        ).sql
    except DiscreetError as refusal:
        return type(refusal).__name__
    connection.execute(sql).fetchall()  # an engine error fails the test
    return "answered"


seen: list[str] = []


@settings(max_examples=300, deadline=None)
@given(text=questions)
def test_no_value_makes_an_accepted_statement_fail(hostile, text: str) -> None:
    result = _answered(hostile, text)
    assert result in ("answered", "UnsafeQuery", "UnprovableRequest"), text
    seen.append(result)


def test_the_hostile_questions_were_mostly_answered() -> None:
    assert not seen or seen.count("answered") > len(seen) / 2


@pytest.mark.parametrize(
    "expression",
    ["age / 0", "1 / age", "SQRT(age)", "LN(age)", "POWER(age, 99)", "age % 0",
     "CAST(region AS INT)", "CAST(day AS SMALLINT)", "SUBSTRING(region, -1, 2)", "age % income",
     "age // age", "MOD(3, age)", "ROUND(age, age)", "age // 0", "SUBSTRING(city, 1, 2)",
     "day + INTERVAL '9999999' YEAR", "MAKE_DATE(age, 1, 1)", "CHR(age)", "age << 99",
     "DATE '2024-02-30'", "CAST('x' AS DATE)", "age::decimal(3,2)"],
)  # fmt: skip
def test_what_can_fail_on_a_row_is_refused(hostile, expression: str) -> None:
    assert _answered(hostile, f"SELECT SUM({expression}) AS x FROM visits") == "UnsafeQuery"


@pytest.mark.parametrize(
    "sql",
    ["CAST(region AS INT)", "1 // (age - age) + ln(0)", "chr(CAST(1e9 + 0 * abs(income) AS INT))"],
)
def test_the_same_in_the_engine_does_fail(hostile, sql: str) -> None:
    """Planted: an emitter that passed such an expression on would be caught by the tests above."""
    connection, _ = hostile
    with pytest.raises(duckdb.Error):
        connection.execute(f"SELECT {sql} FROM source").fetchall()
