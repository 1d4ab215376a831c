"""Statements taken apart: which questions are private blocks, and what stands above them."""

import pytest

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Query
from discreet.schema import Column, Table
from discreet.upper.reading.split import Statement, read_statement
from discreet.upper.write import write_query

VISITS = Table(
    "visits",
    unit="patient",
    rows_per_unit=3,
    columns=(
        Column("age", "integer", upper=110),
        Column("region", "category", keys=("north", "south")),
        Column("day", "date", lower=19_723, upper=20_088),
    ),
)
STAYS = Table(
    "stays", unit="patient", rows_per_unit=3, columns=(Column("nights", "integer", upper=9),)
)
CODES = Table("codes", kind="public", columns=(Column("age", "integer", upper=110),))
TABLES = {table.name: table for table in (VISITS, STAYS, CODES)}

SPLIT = {
    "wrapped": (
        "SELECT * FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) q LIMIT 10",
        ["SELECT region, COUNT(*) AS n FROM visits GROUP BY region"],
    ),
    "share of the total": (
        "SELECT region, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () FROM visits GROUP BY region",
        ["SELECT region AS region, COUNT(*) AS count FROM visits GROUP BY region"],
    ),
    "scalar": (
        "SELECT COUNT(*) - (SELECT COUNT(*) FROM stays) AS more FROM visits",
        ["SELECT COUNT(*) AS count FROM visits", "SELECT COUNT(*) FROM stays"],
    ),
    "equal blocks once": (
        "SELECT a.n - b.n AS d FROM (SELECT COUNT(*) AS n FROM visits) a, "
        "(SELECT COUNT(*) AS n FROM main.visits AS v) b",
        ["SELECT COUNT(*) AS n FROM visits"],
    ),
    "union": (
        "SELECT 'all', COUNT(*) FROM visits UNION ALL SELECT region, COUNT(*) FROM visits "
        "GROUP BY 1",
        [
            "SELECT COUNT(*) AS count FROM visits",
            "SELECT region, COUNT(*) FROM visits GROUP BY 1",
        ],
    ),
    "of one person first": (
        "WITH p AS (SELECT patient, COUNT(*) AS k FROM visits GROUP BY patient), "
        "d AS (SELECT k, COUNT(*) AS n FROM p GROUP BY k) "
        "SELECT k, SUM(n) OVER (ORDER BY k) FROM d",
        [
            'SELECT k, COUNT(*) AS n FROM (SELECT patient, COUNT(*) AS k FROM visits '
            'GROUP BY patient) AS "p" GROUP BY k'
        ],
    ),
    "text of a key": (
        "SELECT UPPER(region) AS r, COUNT(*) FROM visits GROUP BY region HAVING COUNT(*) > 3",
        ["SELECT region AS region, COUNT(*) AS count FROM visits GROUP BY region"],
    ),
    "key by its alias": (
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n, LAG(COUNT(*)) OVER (ORDER BY m) "
        "FROM visits GROUP BY m",
        [
            "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits "
            "GROUP BY DATE_TRUNC('month', day)"
        ],
    ),
    "names that are words": (
        "SELECT DATE_TRUNC('month', v.day) AS time, COUNT(*) AS \"count\" FROM public.visits v "
        "GROUP BY 1 ORDER BY 1",
        [
            "SELECT DATE_TRUNC('month', \"v\".\"day\") AS \"time\", COUNT(*) AS \"count\" FROM "
            '"visits" AS "v" GROUP BY 1 ORDER BY 1'
        ],
    ),
    "limits for every block": (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_rows_contributed=2) region, "
        "RANK() OVER (ORDER BY COUNT(*)) FROM visits GROUP BY region",
        [
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=2) region AS region, "
            "COUNT(*) AS count FROM visits GROUP BY region"
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPLIT)
def test_private_blocks_are_questions_of_their_own(name):
    text, blocks = SPLIT[name]
    statement = read_statement(text, TABLES)
    assert isinstance(statement, Statement)
    assert [block.text for block in statement.blocks] == blocks


def test_a_question_that_can_be_answered_by_itself_stays_one():
    text = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region HAVING n > 3 ORDER BY n"
    assert isinstance(read_statement(text, TABLES), Query)


def test_what_stands_above_names_released_columns_only():
    statement = read_statement(
        "SELECT region, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM visits) AS share FROM visits v "
        "GROUP BY region HAVING COUNT(*) > 5 ORDER BY share DESC LIMIT 3",
        TABLES,
    )
    above = write_query(statement.upper, lambda place: f"block {place}")
    assert above == (
        'SELECT "region", (("count" * 100.0) / (SELECT * FROM (block 1) AS "q")) AS '
        '"share" FROM (block 0) AS "q" WHERE ("count" > 5) '
        'ORDER BY "share" DESC NULLS LAST LIMIT 3'
    )
    assert "visits" not in above


def test_what_the_options_say_of_the_whole_is_kept():
    text, _ = SPLIT["limits for every block"]
    assert read_statement(text, TABLES).options.epsilon == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT * FROM visits LIMIT 10", "COUNT"),
        ("SELECT patient, age FROM visits", "unit"),
        ("SELECT age FROM visits UNION ALL SELECT nights FROM stays", "UNION"),
        ("SELECT SUM(age) OVER (PARTITION BY region) FROM visits", "OVER"),
        ("SELECT q.n, v.age FROM (SELECT COUNT(*) AS n FROM visits) q, visits v", "released"),
        ("SELECT COUNT(*) FROM (SELECT SUM(age) OVER (ORDER BY day) AS s FROM visits) q", "OVER"),
        ("SELECT * FROM (SELECT COUNT(*) AS n FROM visits) q, codes", "public"),
        ("SELECT UPPER(region), COUNT(*), age FROM visits GROUP BY region", "age"),
        ("SELECT READ_TEXT('x'), COUNT(*) FROM visits", "READ_TEXT"),
        ("SELECT COUNT(*), RANDOM() FROM visits", "RANDOM"),
        ("SELECT * FROM (SELECT COUNT(*) AS n FROM visits) q, \"$block0\"", "table"),
        ("SELECT UPPER('x'), COUNT(*) INTO t FROM visits", "INTO"),
        ("SELECT LAG(COUNT(*)) OVER () FROM visits TABLESAMPLE 10% GROUP BY age", "LAG|SAM"),
        ("SELECT RANK() OVER (ORDER BY COUNT(*)) FROM visits, stays GROUP BY region", "row"),
    ],
)  # fmt: skip
def test_what_would_show_or_mix_people_is_refused(text, words):
    with pytest.raises(UnsafeQuery, match=words):
        read_statement(text, TABLES)
