"""Statements that try to make one person's rows expensive, two worlds that differ in that person,
and how many rows an engine handled, from the engine's own profile.
"""

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa

from discreet.engines.duckdb.engine import _settings
from discreet.errors import UnsafeQuery
from discreet.loss import Pure
from discreet.plan.pipeline import Draft, Plan, plan
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import JOINED_ROWS, Table

ROWS = 8  # of the one person, in each private table; everybody else has one
OTHERS = 12_000  # more than engines read at once
PER_KEY = 3
_VALUE = Column("x", "integer", lower=0, upper=99, null=0)
_SECRET = Column("secret", "boolean", null=0)
_REGION = Column("region", "integer", lower=0, upper=9, null=0)
TABLES = {
    "visits": Table(
        "visits",
        unit="who",
        rows_per_unit=ROWS,
        population="p",
        columns=(_VALUE, _SECRET, _REGION),
    ),
    "stays": Table(
        "stays", unit="who", rows_per_unit=ROWS, population="p", columns=(_VALUE, _REGION)
    ),
    "codes": Table(
        "codes",
        kind="public",
        key=("region",),
        rows_per_key=PER_KEY,
        columns=(_REGION, Column("y", "integer", lower=0, upper=9, null=0)),
    ),
    "plain": Table("plain", kind="public", columns=(_REGION, _VALUE)),
}
SIZES = {"visits": OTHERS + ROWS, "stays": OTHERS + ROWS, "codes": 3000, "plain": 3000}


WORLDS = ("true", "false", "absent")
EXPENSIVE = "SELECT COUNT(*) FROM (SELECT who FROM visits WHERE secret) a " + " ".join(
    f"JOIN stays s{n} ON a.who = s{n}.who" for n in range(5)
)
"""What was accepted once: one person's rows to the sixth power."""


def check_work(measure: Any, accepted: list[tuple[str, Plan]], spare: int = 0) -> None:
    """Every operator handles at most the plan's work more rows for the person than without."""
    for sql, made in accepted:
        found = [measure(secret, made.sql) for secret in WORLDS]
        counts = [count for count, _ in found]
        operators = max(count for _, count in found)
        limit = operators * min(made.work, 8 * JOINED_ROWS) + spare
        assert max(counts) - min(counts) <= limit, (sql, found)


def rows(table: str, secret: str, alike: int = 0) -> list[tuple[int, ...]]:
    """The rows of a world: the person's secret is "true" or "false", or they are "absent".

    So many others have the secret too.
    """
    if table in ("codes", "plain"):
        return [(number % 10, number // 300) for number in range(3000)]
    person = [] if secret == "absent" else [(0, 50, int(secret == "true"), 3)] * ROWS
    others = [
        (number, number % 100, int(number <= alike), number % 10) for number in range(1, OTHERS + 1)
    ]
    found = [*person, *others]
    return found if table == "visits" else [(who, x, region) for who, x, _, region in found]


_FIRST = {
    "the table": "visits AS a",
    "a filtered subquery": "(SELECT who, x, region FROM visits WHERE secret) AS a",
    "one row a person": (
        "(SELECT who, MAX(x) AS x, MAX(region) AS region FROM visits WHERE secret "
        "GROUP BY who) AS a"
    ),
    "a joined subquery": (
        "(SELECT i.who AS who, i.x AS x, i.region AS region FROM visits i JOIN stays j "
        "ON i.who = j.who WHERE i.secret) AS a"
    ),
}
_JOINS = {
    "own": "JOIN stays s{n} ON a.who = s{n}.who",
    "self": "JOIN visits s{n} ON a.who = s{n}.who AND a.x = s{n}.x",
    "filtered": "JOIN (SELECT who FROM visits WHERE secret) s{n} ON a.who = s{n}.who",
    "summed": ("JOIN (SELECT who, COUNT(*) AS c FROM stays GROUP BY who) s{n} ON a.who = s{n}.who"),
    "public": "JOIN codes s{n} ON a.region = s{n}.region",
    "outer": "LEFT JOIN codes s{n} ON a.region = s{n}.region",
    "unkeyed": "JOIN plain s{n} ON a.region = s{n}.region",
    "public twice": (
        "JOIN (SELECT p.region AS region, q.y AS y FROM codes p JOIN codes q "
        "ON p.region = q.region) s{n} ON a.region = s{n}.region"
    ),
    "public crossed": (
        "JOIN (SELECT p.region AS region, q.region AS other FROM codes p JOIN codes q "
        "ON p.y = q.y) s{n} ON a.region = s{n}.region AND a.x = s{n}.other"
    ),
    "public, then filtered": (
        "JOIN codes c{n} ON a.region = c{n}.region "
        "JOIN (SELECT who FROM visits WHERE secret) s{n} ON a.who = s{n}.who"
    ),
    "key and more": "JOIN codes s{n} ON a.region = s{n}.region AND a.x = s{n}.y",
}
_OPTIONS = ("", "max_rows_contributed=5", "max_groups_contributed=1")
_ASKED = ("COUNT(*)", "SUM(a.x)", "MEDIAN(a.x)", "COUNT(DISTINCT a.who)")


def statements() -> Iterator[str]:
    """Every chain of up to two joins, and the same join up to five times, in every place."""
    chains = [
        *itertools.chain.from_iterable(itertools.product(_JOINS, repeat=n) for n in range(3)),
        *((name,) * n for name in _JOINS for n in (3, 4, 5)),
    ]
    asked = itertools.cycle(_ASKED)
    options = itertools.cycle(_OPTIONS)
    groups = itertools.cycle(("", " GROUP BY a.region"))
    for first, chain in itertools.product(_FIRST.values(), chains):
        for clause in dict.fromkeys([next(options), ""]):
            words = f" WITH DIFFERENTIAL_PRIVACY OPTIONS({clause})" if clause else ""
            joins = " ".join(_JOINS[name].format(n=n) for n, name in enumerate(chain))
            where = "" if "secret" in first else " WHERE a.secret"
            yield f"SELECT{words} {next(asked)} FROM {first} {joins}{where}{next(groups)}"


def planned(sql: str, dialect: str, joined_rows: int | None = None) -> Plan | None:
    """The plan of a statement over prepared rows; None where it is refused for its joins."""
    try:
        return _planned(sql, dialect, joined_rows)
    except UnsafeQuery as refusal:
        known = ("a join could give", "not its declared key", "two public tables are joined")
        if not any(word in str(refusal) for word in known):
            raise
        return None


def refusal_of(sql: str) -> str | None:
    """Why a statement is refused; None if it is not."""
    try:
        _planned(sql, "duckdb", None)
    except UnsafeQuery as refusal:
        return str(refusal)
    return None


def _planned(sql: str, dialect: str, joined_rows: int | None) -> Plan:
    query = parse(sql, TABLES)
    first, *rest = (TABLES[name] for name in query.tables)
    draft = Draft(
        query=query,
        table=first,
        price=Pure(epsilon=1),
        relation=f'"{first.name}"',
        others=tuple((each, f'"{each.name}"') for each in rest),
        integer_units=("visits", "stays"),
        dialect=dialect,
    )
    return plan(replace(draft, joined_rows=joined_rows))


def columns(table: Table) -> list[str]:
    """The columns of a prepared table, with their types."""
    unit = [] if table.unit is None else ['"$unit" INTEGER']
    return [*unit, *(f'"{column.name}" INTEGER' for column in table.columns)]


def fill(run: Any, secret: str, alike: int = 0) -> None:
    """Make the tables of a world, by a function that runs one statement."""
    for name in TABLES:
        _create(run, name)
        run(f'INSERT INTO "{name}" VALUES {", ".join(map(str, rows(name, secret, alike)))}')


def _create(run: Any, name: str) -> None:
    run(f'DROP TABLE IF EXISTS "{name}"')
    run(f'CREATE TABLE "{name}" ({", ".join(columns(TABLES[name]))})')


def duckdb_world(secret: str) -> duckdb.DuckDBPyConnection:
    """A DuckDB with the settings of the engine, and the tables of a world."""
    connection = duckdb.connect(config={**_settings(None, 1), "temp_directory": "/nowhere"})
    for name in TABLES:
        _create(connection.execute, name)
        values = zip(*rows(name, secret), strict=True)
        given = pa.table({f"c{n}": pa.array(each, pa.int32()) for n, each in enumerate(values)})
        connection.register("given", given)
        connection.execute(f'INSERT INTO "{name}" SELECT * FROM given')
        connection.unregister("given")
    return connection


def duckdb_work(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[int, int]:
    """How many rows all operators made, scans too, and how many operators there are."""
    said = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}").fetchall()[0][1]
    return _summed(json.loads(said)["operator"][0], "type", "children", _duckdb_rows)


def _duckdb_rows(node: dict[str, Any]) -> int:
    return int(node["intermediate_rows"])


def postgresql_work(connection: Any, sql: str) -> tuple[int, int]:
    """How many rows all operators but scans made or dropped, and how many operators there are."""
    [[said]] = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}").fetchall()
    return _summed(said[0]["Plan"], "Node Type", "Plans", _postgresql_rows)


def _postgresql_rows(node: dict[str, Any]) -> int:
    loops = node["Actual Loops"]
    if node["Node Type"] == "Hash":
        return 0  # its rows are those of what it hashes
    if node["Node Type"] == "Seq Scan":
        return int(node["Actual Rows"] * max(loops - 1, 0))  # once is what every question reads
    dropped = node.get("Rows Removed by Join Filter", 0) + node.get("Rows Removed by Filter", 0)
    return round((node["Actual Rows"] + dropped) * loops)


def _summed(node: dict[str, Any], kind: str, parts: str, rows_of: Any) -> tuple[int, int]:
    made, count = rows_of(node), 1
    assert kind in node
    for part in node.get(parts, []):
        more, others = _summed(part, kind, parts, rows_of)
        made, count = made + more, count + others
    return made, count
