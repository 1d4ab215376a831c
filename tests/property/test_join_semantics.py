"""What joins and subqueries read, against a plain evaluator of them, and against DuckDB itself
running an analyst's text on plain tables.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discreet.errors import UnsafeQuery
from discreet.plan.results.evaluate import estimates
from discreet.plan.results.released import Released
from discreet.plan.rules.read import read
from discreet.query.algebra import Options
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.join_bench import Bench, decoded, draft, planned
from support.join_cases import WINDOWS, Writer, lookups, people, placed, schemas
from support.join_reference import rows_of
from support.plan_reference import value_of

SLOW = list(HealthCheck)

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")  # only reported


def as_declared(table, rows):
    """The rows of a public table that keep what it says of its key."""
    places = [[each.name for each in table.columns].index(name) for name in table.key]
    kept, seen = [], Counter()
    for row in rows:
        key = tuple(row[place] for place in places)
        seen[key] += 1
        if not places or None in key or seen[key] <= table.rows_per_key:
            kept.append(row)
    return kept


@st.composite
def cases(draw):
    """Tables, a question without limits, and rows that keep what the schemas say."""
    tables = draw(schemas())
    query = Writer(draw, tables, windows=WINDOWS[:6]).query(draw(st.sampled_from([1, 2, 2, 3])))
    query = replace(query, options=Options(max_rows_contributed=10**8))
    try:
        read(draft(query, tables))
    except UnsafeQuery:
        assume(False)
    text = draw(st.sampled_from(["", "stays"]))
    public = {name: as_declared(tables[name], rows) for name, rows in draw(lookups(tables)).items()}
    return tables, query, {**placed(draw(people(tables)), tables, text), **public}, text


def check_case(case):
    tables, query, data, text = case
    made = read(draft(query, tables))
    columns = made.table.columns
    names = [f'"{each.name}"' for each in columns]
    if made.table.unit is not None:
        names.insert(0, 'CAST("$unit" AS VARCHAR)')
    bench = Bench(tables, {"stays": "VARCHAR"} if text else {})
    try:
        bench.load(data)
        rows = bench.rows(f"SELECT {', '.join(names)} FROM {made.relation}")
    finally:
        bench.close()
    first = 0 if made.table.unit is None else 1
    found = Counter((*row[:first], *map(value_of, columns, row[first:])) for row in rows)
    expected = Counter(
        (
            *([str(row["$unit"])] if first else []),
            *(row[each.name] for each in columns),
        )
        for row in rows_of(query.source, decoded(tables, data))
    )
    assert found == expected


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(cases())
def test_sources_have_the_rows_that_the_algebra_says(case):
    check_case(case)


@pytest.mark.slow("large oracles")
@settings(max_examples=250, deadline=None, suppress_health_check=SLOW)
@given(cases())
def test_more_sources_have_the_rows_that_the_algebra_says(case):
    check_case(case)


@pytest.mark.soak
@settings(max_examples=5000, deadline=None, suppress_health_check=SLOW)
@given(cases())
def test_many_more_sources_have_the_rows_that_the_algebra_says(case):
    check_case(case)


HALF = Fraction(1, 2)
TABLES = {
    "visits": Table(
        "visits",
        unit="who",
        rows_per_unit=3,
        population="p",
        columns=(
            Column("age", "integer", upper=9),
            Column("cost", "number", step=HALF, lower=-4, upper=40),
            Column("ward", "category", upper=2, keys=("a", "b", "c")),
            Column("sick", "boolean"),
        ),
    ),
    "bills": Table(
        "bills",
        unit="payer",
        rows_per_unit=2,
        population="p",
        columns=(
            Column("age", "number", step=HALF, upper=20),
            Column("ward", "category", upper=2, keys=("c", "a", "d")),
            Column("who", "integer", upper=9),
        ),
    ),
    "codes": Table(
        "codes",
        kind="public",
        key=("ward",),
        columns=(
            Column("ward", "category", upper=3, keys=("d", "c", "b", "a")),
            Column("age", "number", step=Fraction(1, 3), upper=30),
            Column("title", "category", upper=1, keys=("flu", "cold")),
        ),
    ),
    "levels": Table(
        "levels",
        kind="public",
        key=("age", "sick"),
        rows_per_key=2,
        columns=(
            Column("age", "integer", upper=9),
            Column("sick", "boolean"),
            Column("level", "integer", lower=-5, upper=5),
        ),
    ),
}
DATA = {
    "visits": [
        (1, 3, 7, 0, 1),
        (1, 9, None, 1, 0),
        (1, 0, -4, None, 1),
        (2, 3, 40, 2, None),
        (2, None, 2, 0, 0),
        (3, 5, 1, 1, 1),
        (12, 3, 7, 0, 1),
    ],
    "bills": [
        ("1", 6, 0, 3),
        ("1", 18, 1, None),
        ("2", None, 2, 5),
        ("3", 10, 1, 1),
        ("01", 6, 1, 2),
    ],
    "codes": [(3, 9, 0), (2, None, 1), (1, 2, None), (None, 1, 1)],
    "levels": [(3, 1, 2), (3, 1, -5), (5, 1, 5), (None, 0, 1), (0, 0, 3)],
}
QUESTIONS = [
    "SELECT COUNT(*) AS n, SUM(visits.age) AS s FROM visits JOIN bills ON visits.who = payer",
    "SELECT COUNT(*) AS n, SUM(b.age) AS s FROM visits AS v JOIN bills AS b ON v.who = b.payer "
    "AND v.ward = b.ward",
    "SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits JOIN bills ON payer = visits.who "
    "AND bills.age = visits.age",
    "SELECT SUM(a.age * b.cost) AS s FROM visits a JOIN visits b ON a.who = b.who",
    "SELECT COUNT(*) AS n, SUM(codes.age) AS s FROM visits JOIN codes USING (ward)",
    "SELECT COUNT(*) AS n, COUNT(title) AS t, SUM(codes.age) AS s FROM visits LEFT JOIN codes "
    "USING (ward)",
    "SELECT COUNT(*) AS n FROM visits LEFT JOIN codes USING (ward) WHERE title IS NULL",
    "SELECT title, COUNT(*) AS n FROM visits LEFT JOIN codes ON codes.ward = visits.ward "
    "GROUP BY title",
    "SELECT COUNT(*) AS n, SUM(level) AS s FROM levels JOIN visits ON levels.age = visits.age "
    "AND visits.sick = levels.sick",
    "SELECT SUM(level) AS s, COUNT(DISTINCT visits.who) AS u FROM visits JOIN bills ON "
    "visits.who = payer LEFT JOIN levels ON levels.age = bills.who AND levels.sick = visits.sick "
    "JOIN codes ON codes.ward = bills.ward",
    "WITH p AS (SELECT who, SUM(cost) AS s, COUNT(*) AS n FROM visits GROUP BY who) "
    "SELECT SUM(s) AS s, SUM(n) AS n, COUNT(s) AS k, COUNT(*) AS u FROM p",
    "WITH p AS (SELECT who, ward, MAX(age) AS m, MIN(cost) AS c FROM visits WHERE age > 0 "
    "GROUP BY who, ward) SELECT ward, SUM(m - c) AS s FROM p GROUP BY ward",
    "WITH p AS (SELECT who AS u, CASE WHEN COUNT(*) > 2 THEN 1 ELSE 0 END AS many, "
    "LEAST(SUM(age), 10) AS s FROM visits GROUP BY who) SELECT SUM(many) AS m, SUM(s * b.age) AS s "
    "FROM p JOIN bills AS b ON p.u = b.payer",
    "SELECT SUM(x) AS s FROM (SELECT age AS cost, cost * 2 AS x, cost AS age FROM visits "
    "WHERE cost > 0) WHERE age < cost + 5",
    "SELECT SUM(n) AS n FROM (SELECT v.who, COUNT(*) AS n FROM visits v JOIN bills b "
    "ON v.who = b.payer GROUP BY v.who) WHERE n > 1",
    "WITH p AS (SELECT who, SUM(age) AS s FROM visits GROUP BY who), q AS (SELECT payer, "
    "SUM(age) AS t FROM bills GROUP BY payer) SELECT SUM(s * t) AS s FROM p JOIN q ON who = payer",
    "SELECT COUNT(*) AS n FROM visits JOIN (SELECT ward AS w, title FROM codes WHERE age < 3) c "
    "ON visits.ward = c.w",
    "SELECT SUM(a.s) AS s FROM (SELECT who, ward, SUM(age) AS s FROM visits GROUP BY 1, 2) a "
    "JOIN visits ON a.who = visits.who AND a.ward = visits.ward",
    "SELECT COUNT(*) AS n FROM (SELECT who FROM visits GROUP BY who HAVING COUNT(*) >= 2)",
    "SELECT COUNT(*) AS n, SUM(age) AS s FROM visits v WHERE v.who IN (SELECT payer FROM bills)",
    "SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits v WHERE v.who NOT IN (SELECT payer FROM "
    "bills WHERE age > 4) AND age > 0",
    "SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM bills b WHERE b.payer = v.who"
    " AND b.ward = 'a') OR cost > 6",
    "SELECT ward, COUNT(*) AS n FROM visits v WHERE NOT EXISTS (SELECT * FROM bills b WHERE "
    "payer = v.who AND b.age IS NULL) GROUP BY ward",
    "SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits SEMI JOIN bills ON visits.who = payer",
    "SELECT COUNT(*) AS n, SUM(age) AS s FROM bills ANTI JOIN visits ON visits.who = payer",
    "SELECT COUNT(*) AS n, COUNT(payer) AS p, SUM(bills.age) AS s, SUM(cost) AS c FROM visits LEFT "
    "JOIN bills ON visits.who = payer",
    "SELECT COUNT(*) AS n, COUNT(payer) AS p, SUM(cost) AS c FROM visits LEFT JOIN bills ON "
    "visits.who = payer AND visits.ward = bills.ward WHERE payer IS NULL OR bills.age > 4",
    "SELECT COUNT(DISTINCT visits.who) AS u FROM visits LEFT JOIN bills ON visits.who = payer "
    "WHERE payer IS NULL",
    "SELECT b.ward, COUNT(*) AS n, SUM(s) AS s FROM visits v LEFT JOIN (SELECT payer, ward, "
    "SUM(age) AS s FROM bills GROUP BY 1, 2 HAVING MIN(age) > 0) b ON payer = v.who GROUP BY 1",
    "SELECT COUNT(*) AS n FROM visits v WHERE v.who IN (SELECT payer FROM bills) AND v.who NOT IN "
    "(SELECT payer FROM bills WHERE ward = 'd') AND "
    "v.who NOT IN (SELECT who FROM visits WHERE age = 9)",
    "SELECT ward, SUM(s) AS s FROM (SELECT who, ward, SUM(cost) AS s FROM visits GROUP BY 1, 2 "
    "HAVING s > 1 AND MIN(age) < 9 OR ward = 'c') GROUP BY ward",
    "SELECT COUNT(*) AS n FROM (SELECT DISTINCT who FROM visits WHERE cost > 0)",
    "SELECT ward, COUNT(*) AS n FROM (SELECT DISTINCT who, ward FROM visits) GROUP BY ward",
    "SELECT COUNT(*) AS n, SUM(b.age) AS s FROM bills b JOIN (SELECT who FROM visits GROUP BY who "
    "HAVING MAX(cost) > 5) p ON p.who = b.payer",
]  # fmt: skip


def plain_tables(bench):
    """The tables as an analyst thinks of them, beside the prepared ones."""
    kinds = {"category": "VARCHAR", "boolean": "BOOLEAN"}
    for name, table in TABLES.items():
        listed = [f"{each.name} {kinds.get(each.kind, 'DOUBLE')}" for each in table.columns]
        if table.unit is not None:
            listed.insert(0, f"{table.unit} VARCHAR")
        bench.rows(f"CREATE TABLE plain.{name} ({', '.join(listed)})")
        first = 0 if table.unit is None else 1
        for row in DATA[name]:
            values = [*map(str, row[:first])]
            values += [
                None if code is None else each.decode(code)
                for each, code in zip(table.columns, row[first:], strict=True)
            ]
            listed = ["NULL" if value is None else f"'{value}'" for value in values]
            bench.rows(f"INSERT INTO plain.{name} VALUES ({', '.join(listed)})")


@pytest.fixture(scope="module")
def bench():
    made = Bench(TABLES, {"bills": "VARCHAR"})
    made.load(DATA)
    made.rows("CREATE SCHEMA plain")
    plain_tables(made)
    yield made
    made.close()


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_without_noise_are_those_of_plain_sql(bench, question):
    made = planned(parse(question, TABLES), TABLES)
    exact = tuple(np.array(column, dtype=object) for column in bench.exact(made)[0])
    columns = estimates(Released(made, made.groups, exact))
    labels = [dict(zip(each.codes, each.labels, strict=True)) for each in made.domains]
    truth = {row[: len(labels)]: row[len(labels) :] for row in bench.rows_of("plain", question)}
    assert any(any(row) for row in truth.values())
    for place, group in enumerate(made.groups):
        key = tuple(label[code] for label, code in zip(labels, group, strict=True))
        values = truth.get(key, (0,) * len(made.query.outputs))
        for output, value in zip(made.query.outputs, values, strict=True):
            assert columns[output.name].value[place] == pytest.approx(float(value or 0)), output
