"""When an outcome can be seen: enough time for what the text of a statement and the rows of one
person can add, from public facts, so that nobody writes a statement that one person makes late.
"""

from fractions import Fraction

import pytest

from discreet.loss import Pure
from discreet.plan.parts.patience import ENGINE_SECONDS
from discreet.plan.pipeline import Draft, plan
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support import work

ONE = ENGINE_SECONDS["prepared"]
# What DuckDB was measured to take at most for a character, and for one on a row.
PLANNING, EVALUATING = Fraction(3, 10**6), Fraction(1, 2 * 10**9)
COLUMNS = tuple(Column(name, "integer", lower=0, upper=10**6) for name in "xy")
LONG = {
    "or": lambda k: "COUNT(*) AS n FROM t WHERE x = 777 AND (" + " OR ".join(
        f"FLOOR(y * y * x / {i + 2}) = {i + 7}" for i in range(k)) + ")",
    "and": lambda k: "COUNT(*) AS n FROM t WHERE " + " AND ".join(
        f"x + y <> {i}" for i in range(k)),
    "in": lambda k: f"COUNT(*) AS n FROM t WHERE x IN ({', '.join(map(str, range(k)))})",
    "case": lambda k: "SUM(CASE " + " ".join(
        f"WHEN x = {i} THEN {i}" for i in range(k)) + " ELSE 0 END) AS n FROM t",
    "columns": lambda k: ", ".join(f"SUM(x + {i}) AS s{i}" for i in range(1 + k // 4)) + " FROM t",
}  # fmt: skip


def planned(text, rows_per_unit=1):
    table = Table("t", unit="who", rows_per_unit=rows_per_unit, columns=COLUMNS)
    query = parse(f"SELECT {text}", {"t": table})
    return plan(Draft(query=query, table=table, price=Pure(epsilon=1)))


@pytest.mark.parametrize(
    "text",
    [
        "COUNT(*) AS n FROM t",
        "SUM(x) AS s, COUNT(DISTINCT who) AS n FROM t WHERE y BETWEEN 5 AND 9 AND x IN (1, 2, 3)",
        "AVG(x) AS a FROM t WHERE CASE WHEN y < 3 THEN x ELSE y END > 7",
    ],
)
@pytest.mark.parametrize("rows_per_unit", [1, 1000])
def test_a_short_question_takes_one_reading(text, rows_per_unit):
    assert planned(text, rows_per_unit).working_seconds == ONE


@pytest.mark.parametrize("rows_per_unit", [1, 1000, 100_000])
@pytest.mark.parametrize("length", [3, 30, 100, 180])
@pytest.mark.parametrize("form", LONG)
def test_a_long_statement_has_several_times_what_it_takes(form, length, rows_per_unit):
    """A person's rows, and the statement's own length, stay far from what decides."""
    made = planned(LONG[form](length), rows_per_unit)
    taken = len(made.sql) * (PLANNING + EVALUATING * made.work)
    assert made.working_seconds >= min(Fraction(10), 3 * taken)


def test_rows_that_joins_make_have_their_time():
    sql = "SELECT COUNT(*) FROM visits a JOIN stays b ON a.who = b.who"
    once, made = work.planned("SELECT COUNT(*) FROM visits", "duckdb"), work.planned(sql, "duckdb")
    rows = work.ROWS
    assert made.work == 2 * rows + rows**2
    assert made.working_seconds == once.answer_seconds * Fraction(made.work, 2 * rows)


def test_what_is_refused_for_its_joins_is_accepted_with_what_the_message_says():
    """Where the message names a limit of contributions, that limit is enough."""
    tried = 0
    for sql in work.statements():
        refusal = work.refusal_of(sql)
        if refusal is None or "max_rows_contributed=" not in refusal:
            continue
        most = refusal.partition("max_rows_contributed=")[2].partition(")")[0]
        _, _, rest = sql.rpartition("OPTIONS(")
        rest = rest.partition(") ")[2] if "OPTIONS(" in sql else sql.removeprefix("SELECT ")
        offered = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed={most}) {rest}"
        again = work.refusal_of(offered)
        assert again is None or "max_rows_contributed=" not in again, (offered, again)
        tried += 1
    assert tried > 20
