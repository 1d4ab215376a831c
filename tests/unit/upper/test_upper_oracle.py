"""The oracle of statements: with the exact numbers in the place of the noisy ones, a statement
gives what plain DuckDB gives on the same rows for the text that the analyst wrote.
"""

import duckdb
import pytest

from discreet.plan.results.released import Released
from discreet.upper.engine import UpperEngine
from discreet.upper.outcome import run_upper
from discreet.upper.plan import StatementPlan
from support.pace import thinned
from support.plan_cases import exact_of
from support.vaults import copied_curator, write_source

ROWS = [
    (n // 2, (7 * n) % 90, float((n * 37) % 500), ("north", "south", "east", "empty")[n % 4],
     f"2024-{1 + n % 12:02d}-15", n % 1000)
    for n in range(480)
]  # fmt: skip

BLOCK = "(SELECT region, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY region)"
MONTHS = "(SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY 1)"

STATEMENTS = {
    "wrapped": f"SELECT * FROM {BLOCK} AS q ORDER BY region LIMIT 3",
    "limit 0": f"SELECT * FROM {BLOCK} AS q LIMIT 0",
    "shares": (
        "SELECT region, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 2) FROM visits GROUP "
        "BY region"
    ),
    "ranks": (
        "SELECT region, RANK() OVER (ORDER BY SUM(age) DESC, region) FROM visits GROUP BY "
        "region"
    ),
    "running": (
        "SELECT DATE_TRUNC('month', day) AS m, SUM(COUNT(*)) OVER (ORDER BY "
        "DATE_TRUNC('month', day)) FROM visits GROUP BY 1"
    ),
    "lag": f"SELECT m, n, n - LAG(n) OVER (ORDER BY m) AS change FROM {MONTHS} AS q",
    "total below": (
        "SELECT 'all' AS r, COUNT(*) FROM visits UNION ALL SELECT region, COUNT(*) FROM "
        "visits GROUP BY region"
    ),
    "scalars": (
        "SELECT (SELECT COUNT(*) FROM visits WHERE age > 40) - (SELECT COUNT(*) FROM visits "
        "WHERE age <= 40) AS d"
    ),
    "constants": "SELECT 'x' AS label, 1 AS one, COUNT(*) FROM visits",
    "case": (
        "SELECT region, CASE WHEN COUNT(*) > 100 THEN 'many' ELSE 'few' END FROM visits GROUP"
        " BY region"
    ),
    "having": (
        "SELECT region, SUM(COUNT(*)) OVER () AS a, COUNT(*) * 2 AS t FROM visits GROUP BY "
        "region HAVING SUM(age) > 5000 AND t > 1"
    ),
    "order by what is not shown": (
        "SELECT UPPER(region) AS r FROM visits GROUP BY region ORDER BY SUM(age) DESC LIMIT 2"
    ),
    "texts": (
        "SELECT UPPER(region) || '!', SUBSTR(region, 1, 1), LENGTH(region), COUNT(*) FROM "
        "visits GROUP BY region"
    ),
    "dates": "SELECT STRFTIME(m, '%Y-%m'), EXTRACT(QUARTER FROM m), n FROM " + MONTHS + " AS q",
    "regrouped": (
        f"SELECT EXTRACT(QUARTER FROM m) AS q, SUM(n), COUNT(*), AVG(n) FROM {MONTHS} AS p "
        "GROUP BY 1"
    ),
    "joined": (
        f"SELECT a.region, a.n, b.n, a.n * 1.0 / b.n FROM {BLOCK} AS a JOIN (SELECT region, "
        "COUNT(*) AS n FROM visits WHERE age > 30 GROUP BY region) AS b USING (region)"
    ),
    "chain": (
        f"WITH a AS {BLOCK}, t AS (SELECT SUM(n) AS n FROM a) SELECT a.region, a.n / t.n FROM "
        "a CROSS JOIN t"
    ),
    "distinct": f"SELECT DISTINCT n > 100 FROM {BLOCK} AS q",
    "two levels": (
        f"SELECT MAX(n), MIN(n), MAX(n) - MIN(n) FROM (SELECT * FROM {BLOCK} AS p WHERE n > 0)"
        " AS q"
    ),
    "except": (
        f"SELECT region FROM {BLOCK} AS q EXCEPT SELECT region FROM (SELECT region, COUNT(*) "
        "AS n FROM visits WHERE age > 88 GROUP BY region) AS p WHERE n > 50"
    ),
    "qualify": (
        "SELECT region, COUNT(*) FROM visits GROUP BY region QUALIFY ROW_NUMBER() OVER (ORDER"
        " BY SUM(age), region) = 1"
    ),
    "keys computed": (
        "SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*), COUNT(*) * 1.0 / SUM(COUNT(*)) OVER"
        " () FROM visits GROUP BY FLOOR(age / 10) * 10"
    ),
    "of one person": (
        "WITH p AS (SELECT patient, COUNT(*) AS k FROM visits GROUP BY patient) SELECT k, "
        "COUNT(*), SUM(COUNT(*)) OVER () FROM p WHERE k = 2 GROUP BY k"
    ),
    "rollup": "SELECT region, age > 40 AS old, COUNT(*) FROM visits GROUP BY ROLLUP (region, old)",
    "cube": "SELECT region, smoker, COUNT(*) FROM (SELECT *, big > 3 AS smoker FROM visits) AS q "
    "GROUP BY CUBE (region, smoker) ORDER BY region, smoker",
    "grouping sets": "SELECT region, GROUPING(region) AS g, SUM(age) FROM visits "
    "GROUP BY GROUPING SETS ((region), ()) HAVING COUNT(*) > 1 ORDER BY 2, 1",
    "in parentheses": "(SELECT region, COUNT(*) FROM visits GROUP BY region) UNION ALL "
    "(SELECT 'all', COUNT(*) FROM visits)",
    "from first": "FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) AS q",
    "texts of dates": "SELECT STRFTIME(day, '%Y-%m') AS m, COUNT(*) FROM visits GROUP BY 1 "
    "ORDER BY m",
    "texts of dates, by month": "SELECT STRFTIME(day, '%b %Y') AS m, SUM(age) FROM visits "
    "GROUP BY STRFTIME(day, '%b %Y')",
    "keys alone": "SELECT DISTINCT region FROM visits",
    "keys alone, grouped": "SELECT region FROM visits GROUP BY region ORDER BY region",
    "keys beside numbers": "SELECT r.region, q.n FROM (SELECT DISTINCT region FROM visits) AS r "
    "LEFT JOIN (SELECT region, COUNT(*) AS n FROM visits WHERE age > 89 GROUP BY region) AS q "
    "ON r.region = q.region AND q.n > 0",
    "columns of two tables": "SELECT SUM(v.age) AS a, SUM(s.age) AS b, ROUND(COUNT(*)) AS c FROM "
    "visits AS v JOIN (SELECT patient, COUNT(*) AS age FROM visits GROUP BY patient) AS s "
    "ON v.patient = s.patient",
    "a later name is not an earlier one": "WITH a AS (SELECT patient, age FROM visits), "
    "visits AS (SELECT patient, age FROM visits WHERE age > 40) "
    "SELECT (SELECT COUNT(*) FROM a) AS x, (SELECT COUNT(*) FROM visits) AS y",
    "a scalar beside aggregates": "SELECT region, COUNT(*) AS n, (SELECT COUNT(*) FROM visits) "
    "AS total FROM visits GROUP BY region",
    "an aggregate of a column with its alias": "SELECT region, ROUND(SUM(age) * 1.0, 2) AS age "
    "FROM visits GROUP BY region HAVING SUM(age) > 5000",
    "order by an alias that is a column": "SELECT region AS a, -COUNT(*) AS region, ROUND(1.5) "
    "AS r FROM visits GROUP BY visits.region ORDER BY region, a LIMIT 3",
    "whole quotients": "SELECT age // 10 AS d, COUNT(*), ROUND(1.5) FROM visits GROUP BY 1",
    "filters": (
        "SELECT COUNT(*) / 2, ROUND(SUM(age) / 3.0, 1) FROM visits WHERE region = 'north' AND"
        " day >= '2024-06-01'"
    ),
    "group by all": (
        "SELECT region, ROUND(SUM(age) * 1.0, 1) AS s FROM visits GROUP BY ALL ORDER BY ALL"
    ),
    "named columns": (
        "SELECT z.b FROM (SELECT region, COUNT(*) FROM visits GROUP BY region) AS z(a, b) "
        "WHERE z.a = 'north'"
    ),
}  # fmt: skip
EMPTY = ("whole quotients", "keys computed", "of one person")
"""Statements whose public keys are more than the data has."""


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    with copied_curator(tmp_path_factory.mktemp("o") / "x", ROWS, budget="epsilon = 10") as made:
        made.grant("ana", epsilon=10)
        yield made


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("p")
    connection = duckdb.connect(":memory:")
    path = write_source(folder, ROWS)
    connection.execute(
        "CREATE TABLE visits AS SELECT * REPLACE (CAST(day AS DATE) AS day) "
        f"FROM read_parquet('{path}')"
    )
    yield connection
    connection.close()


def exact_blocks(session, plan):
    for block in plan.blocks:
        rows = session._warehouse.engine(("visits",)).rows(block.sql)
        yield Released(block, block.groups, tuple(exact_of(block, rows)))


def alike(cell):
    if isinstance(cell, float):
        return f"{cell:.9g}"
    # The first day of a month is a date here, and midnight of it in DuckDB.
    return str(cell).removesuffix(" 00:00:00")


def rows_of(rows):
    return [tuple(alike(float(c) if hasattr(c, "as_tuple") else c) for c in row) for row in rows]


def without_empty(rows):
    """Rows without groups that are public and empty: DuckDB does not know them."""
    return [row for row in rows if row[1] != "0"]


@pytest.mark.parametrize("name", thinned(STATEMENTS, 3, "statements"))
def test_a_statement_says_what_duckdb_says_of_exact_numbers(curator, plain, name):
    text = STATEMENTS[name]
    session = curator.session("ana")
    plan = session.explain(text, epsilon=1)
    assert isinstance(plan, StatementPlan)
    with UpperEngine() as engine:
        outcome = run_upper(engine, plan, tuple(exact_blocks(session, plan)))
    got = rows_of(zip(*outcome.values(), strict=True))
    wanted = rows_of(plain.execute(text).fetchall())
    if "ORDER BY" not in text.rpartition(")")[2]:
        got, wanted = sorted(got, key=repr), sorted(wanted, key=repr)
    if name in EMPTY:
        got = without_empty(got)
    assert got == wanted
