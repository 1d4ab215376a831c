"""Outer queries: what is read from a text and written again means the same to DuckDB, and whatever
is not on the list is refused by name.
"""

import contextlib
import time

import duckdb
import pytest

from discreet.errors import UnsafeQuery
from discreet.upper.reading.expressions import KINDS
from discreet.upper.reading.functions import AGGREGATES, RANKED, SCALARS, WINDOWS
from discreet.upper.reading.read import read_query
from discreet.upper.reading.text import read_tree
from discreet.upper.write import write_query

ROWS = """WITH a AS (SELECT * FROM (VALUES ('north', 1, 2.5, DATE '2024-01-31'),
    ('south', 4, NULL, DATE '2024-03-05'), (NULL, 9, -3.5, DATE '2024-12-31'),
    ('east', 4, 0.25, NULL)) AS v(k, n, x, d)),
b(k, m) AS (SELECT * FROM (VALUES ('north', 10), ('west', 20), ('east', 4)) AS v(k, m)) """

TAKEN = {
    "star": "SELECT * FROM a",
    "star of one": "SELECT b.*, a.n FROM a JOIN b ON a.k = b.k",
    "star without": "SELECT * EXCLUDE (d) FROM a",
    "constants": "SELECT 'it''s', 1.5e2, TRUE, NULL, DATE '2024-02-29', INTERVAL 3 MONTH FROM a",
    "arithmetic": "SELECT -n + 2 * (x - 1) / 4, n % 3, n || 'x', n // 2 FROM a",
    "conditions": (
        "SELECT k FROM a WHERE n >= 1 AND n <> 9 AND (x IS NULL OR NOT x < 0) AND n BETWEEN 1 AND 9"
    ),
    "in": "SELECT k FROM a WHERE n IN (1, 4) AND k NOT IN ('south')",
    "patterns": "SELECT k FROM a WHERE k LIKE '%th' OR k ILIKE 'E%' OR k NOT LIKE 's%'",
    "distinct from": "SELECT k IS DISTINCT FROM 'north', x IS NOT DISTINCT FROM NULL FROM a",
    "truth": "SELECT (n > 1) IS TRUE, (x > 0) IS NOT TRUE FROM a",
    "case": "SELECT CASE k WHEN 'north' THEN 1 ELSE 2 END, CASE WHEN n > 3 THEN 'x' END FROM a",
    "casts": (
        "SELECT CAST(x AS INTEGER), n::DOUBLE, CAST(d AS TIMESTAMP), TRY_CAST(k AS INT) FROM a"
    ),
    "decimals": "SELECT CAST(n AS DECIMAL(10, 2)) FROM a",
    "functions": (
        "SELECT ROUND(x, 1), COALESCE(k, '?'), UPPER(k), IF(n > 1, 1, 0), IFNULL(x, 0) FROM a"
    ),
    "texts": (
        "SELECT SUBSTRING(k FROM 1 FOR 2), TRIM(k), POSITION('o' IN k), REPLACE(k, 'o', '') FROM a"
    ),
    "dates": "SELECT EXTRACT(YEAR FROM d), DATE_TRUNC('month', d), d + INTERVAL 1 MONTH FROM a",
    "date differences": "SELECT DATE_DIFF('day', DATE '2024-01-01', d), STRFTIME(d, '%b') FROM a",
    "aggregates": "SELECT COUNT(*), SUM(n), AVG(x), MIN(d), COUNT(DISTINCT n), MEDIAN(n) FROM a",
    "filtered": "SELECT SUM(n) FILTER (WHERE x > 0), COUNT_IF(n > 1) FROM a",
    "ranked": "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n DESC), MODE(n) FROM a",
    "in order": "SELECT STRING_AGG(k, ',' ORDER BY n DESC, k) FROM a",
    "groups": "SELECT n, COUNT(*) FROM a GROUP BY n HAVING COUNT(*) > 1",
    "groups by place": "SELECT n > 3 AS many, COUNT(*) FROM a GROUP BY 1 ORDER BY 1",
    "groups by all": "SELECT n, COUNT(*) FROM a GROUP BY ALL",
    "rollup": "SELECT n, k, COUNT(*), GROUPING(n) FROM a GROUP BY ROLLUP (n, k)",
    "cube": "SELECT n, k, COUNT(*) FROM a GROUP BY CUBE (n, k)",
    "sets": "SELECT n, k, COUNT(*) FROM a GROUP BY GROUPING SETS ((n, k), (n), ())",
    "windows": (
        "SELECT k, SUM(n) OVER (ORDER BY n, k), RANK() OVER (PARTITION BY n ORDER BY k) FROM a"
    ),
    "frames": "SELECT SUM(n) OVER (ORDER BY n, k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM a",
    "named windows": (
        "SELECT LAG(n) OVER w, LEAD(n, 2, 0) OVER w FROM a WINDOW w AS (ORDER BY n, k)"
    ),
    "nulls ignored": "SELECT LAST_VALUE(x IGNORE NULLS) OVER (ORDER BY n, k) FROM a",
    "qualify": "SELECT k, n FROM a QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC, k) <= 2",
    "distinct": "SELECT DISTINCT n FROM a",
    "distinct on": "SELECT DISTINCT ON (n) n, k FROM a ORDER BY n, k",
    "order": "SELECT k, n FROM a ORDER BY k NULLS FIRST, n DESC LIMIT 2 OFFSET 1",
    "order as usual": "SELECT k FROM a ORDER BY k",
    "order down": "SELECT k FROM a ORDER BY k DESC",
    "fetch": "SELECT n FROM a ORDER BY n DESC FETCH FIRST 2 ROWS ONLY",
    "limit 0": "SELECT * FROM a LIMIT 0",
    "joins": "SELECT a.k, m FROM a LEFT JOIN b USING (k)",
    "full join": "SELECT COALESCE(a.k, b.k), n, m FROM a FULL OUTER JOIN b ON a.k = b.k",
    "right join": "SELECT b.k, n FROM a RIGHT JOIN b ON a.k = b.k AND n > 2",
    "cross join": "SELECT n, m FROM a CROSS JOIN b",
    "comma": "SELECT n, m FROM a, b WHERE a.k = b.k",
    "semi and anti": (
        "SELECT k FROM a SEMI JOIN b USING (k) UNION ALL SELECT k FROM a ANTI JOIN b USING (k)"
    ),
    "union": "SELECT k FROM a UNION SELECT k FROM b ORDER BY k LIMIT 3",
    "except": "SELECT k FROM a EXCEPT SELECT k FROM b",
    "intersect": "SELECT k FROM a INTERSECT SELECT k FROM b",
    "scalar": "SELECT n * 1.0 / (SELECT SUM(n) FROM a) FROM a",
    "exists": "SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "in a query": "SELECT k FROM a WHERE k NOT IN (SELECT k FROM b)",
    "nested": "SELECT q.s FROM (SELECT n AS s FROM (SELECT * FROM a) AS p) AS q WHERE q.s > 1",
    "columns named": "SELECT z FROM (SELECT n, k FROM a) AS q(z, y)",
    "inner with": "SELECT * FROM (WITH c AS (SELECT n FROM a) SELECT SUM(n) FROM c) AS q",
    "values": "SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS v(i, t)",
}


def rows_of(sql):
    connection = duckdb.connect(":memory:")
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def read(text):
    return read_query(read_tree(text)[1], {})


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_written_means_what_was_read(name):
    text = ROWS + TAKEN[name]
    ordered = "ORDER BY" in TAKEN[name].rpartition(")")[2] or name.startswith("order")
    got, wanted = rows_of(write_query(read(text), str)), rows_of(text)
    if not ordered:
        got, wanted = sorted(got, key=repr), sorted(wanted, key=repr)
    assert got == wanted


def test_every_kind_of_node_that_is_read_is_tried():
    seen = set()
    for text in TAKEN.values():
        seen |= {type(node).__name__ for node in read_tree(ROWS + text)[1].walk()}
    assert set(KINDS) - seen == set()


def test_names_stand_in_quotes_and_operations_in_parentheses():
    written = write_query(
        read('SELECT "a ""b" + 1 AS "x;y" FROM (SELECT 1 AS "a ""b") AS "t--"'), str
    )
    assert written == ('SELECT ("a ""b" + 1) AS "x;y" FROM (SELECT 1 AS "a ""b") AS "t--"')


@pytest.mark.parametrize(
    "text",
    [
        "SELECT RANDOM()",
        "SELECT NOW()",
        "SELECT CURRENT_TIMESTAMP",
        "SELECT UUID()",
        "SELECT NEXTVAL('s')",
        "SELECT SLEEP_MS(1000)",
        "SELECT GETENV('HOME')",
        "SELECT CURRENT_SETTING('threads')",
        "SELECT QUERY('SELECT 1')",
        "SELECT READ_TEXT('x')",
        "SELECT JSON_EXECUTE_SERIALIZED_SQL('x')",
        "SELECT AGE(DATE '2024-01-01')",
        "SELECT RANGE(1000)",
        "SELECT REPEAT('x', 1000000000)",
        "SELECT * FROM read_csv('x')",
        "SELECT * FROM 'x.csv'",
        "SELECT * FROM \"x.csv\"",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM RANGE(10)",
        "SELECT * FROM a TABLESAMPLE 10%",
        "SELECT * FROM a, LATERAL (SELECT 1)",
        "SELECT * FROM a NATURAL JOIN b",
        "SELECT * FROM a POSITIONAL JOIN b",
        "SELECT * FROM a LEFT JOIN b",
        "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT * FROM r",
        "SELECT n INTO c FROM a",
        "SELECT * FROM a FOR UPDATE",
        "SELECT COLUMNS('n') FROM a",
        "SELECT [n, 1] FROM a",
        "SELECT {'n': n} FROM a",
        "SELECT n[1] FROM a",
        "SELECT x -> x + 1 FROM a",
        "SELECT * REPLACE (n + 1 AS n) FROM a",
        "SELECT n::BLOB FROM a",
        "SELECT n::JSON FROM a",
        "SELECT CAST(n AS STRUCT(a INT)) FROM a",
        "SELECT INTERVAL (n) DAY FROM a",
        'SELECT "$b0" FROM a',
        'SELECT * FROM "$b0"',
        "SELECT ?",
        "SELECT n FROM a LIMIT n",
        "SELECT n FROM a LIMIT 10 PERCENT",
        "SELECT n FROM a LIMIT -1",
        "SELECT SUM(n) OVER nowhere FROM a",
        "SELECT ROW_NUMBER() FROM a",
        "SELECT UPPER(n) OVER () FROM a",
        "SELECT UPPER(n) FILTER (WHERE n > 1) FROM a",
        "SELECT SUM(n) OVER (ORDER BY n RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT "
        "ROW) FROM a",
        "SELECT n FROM a ORDER BY n COLLATE nocase",
        "SELECT n FROM a AT (VERSION => 1)",
        "PRAGMA version",
        "SELECT 1; SELECT 2",
        "SELECT 1e999",
        "SELECT DATE('2024-01-01')",
    ],
)  # fmt: skip
def test_what_is_not_on_the_list_is_refused(text):
    with pytest.raises(UnsafeQuery):
        read((ROWS if text.startswith("SELECT") else "") + text)


def test_no_function_hangs_on_chance_on_the_clock_or_on_settings():
    listed = ", ".join(f"'{name.lower()}'" for name in AGGREGATES | RANKED | SCALARS | WINDOWS)
    found = rows_of(
        "SELECT DISTINCT function_name, stability FROM duckdb_functions() "
        f"WHERE function_name IN ({listed}) AND stability IS NOT NULL "
        "AND stability <> 'CONSISTENT'"
    )
    # AGE of one date asks the clock; of two, which alone is taken, it does not.
    assert {name for name, _ in found} <= {"age"}


@pytest.mark.parametrize(
    "inner",
    ["UPPER({})", "({})", "CASE WHEN {} THEN 1 END", "CAST({} AS INTEGER)", "- {}", "NOT {}",
     "SUM({}) OVER ()", "{} IN (1)", "EXTRACT(YEAR FROM {})", "(SELECT {})", "{} + 1",
     "COALESCE({}, 1)", "TRIM({})", "INTERVAL 1 DAY + {}", "{}::INT", "UNION({})", "DATE({})",
     "IF({}, 1, 2)", "LEFT({}, 1)", "STRUCT({})", "DECIMAL({})", "{} BETWEEN 1 AND 2"],
)  # fmt: skip
def test_deep_nesting_is_read_or_refused_in_time_that_grows_with_it(inner):
    text = "n"
    for _ in range(30):
        text = inner.format(text)
    began = time.process_time()
    with contextlib.suppress(UnsafeQuery):
        read(f"{ROWS} SELECT {text} FROM a")
    assert time.process_time() - began < 5  # doubling with every level would take hours
