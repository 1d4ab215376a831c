"""Joins and subqueries that once failed, or could: questions nobody can write as text, names that
meet, texts for units, and rows that could make an engine fail.
"""

from dataclasses import replace
from fractions import Fraction

import duckdb
import pytest

from discreet.errors import SchemaError, UnsafeQuery
from discreet.loss import Pure
from discreet.plan.pipeline import Draft, plan
from discreet.plan.rules.sources import MOST_ROWS, Rowset, limit_rows, rowset
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.query.algebra import (
    Aggregate,
    Field,
    Join,
    Output,
    PerUnit,
    Query,
    Rows,
    Scan,
    Statistic,
    Window,
    Windowed,
)
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.join_bench import Bench, draft, planned

BIG = 2**53
N = Column("n", "integer", upper=9)
VISITS = Table("visits", unit="who", rows_per_unit=2, population="p", columns=(N,))
STAYS = Table(
    "stays", unit="payer", rows_per_unit=3, population="p", columns=(Column("m", "integer"),)
)
TRIPS = Table("trips", unit="who", population="q", columns=(Column("k", "integer"),))
PEOPLE = Table("people", columns=(Column("a", "integer", upper=9),))
ONCE = Table("once", unit="who", columns=(Column("o", "integer", upper=9),))
CODES = Table(
    "codes",
    kind="public",
    key=("code",),
    columns=(Column("code", "integer", upper=9), Column("who", "integer", upper=9)),
)
TABLES = {each.name: each for each in (VISITS, STAYS, TRIPS, PEOPLE, ONCE, CODES)}
ROW_NUMBER = Window("row_number", None, (), ())
COUNT = (Output("n", Aggregate(Statistic.ROWS, None)),)


def counted(source):
    """COUNT(*) of a source that need not come from a text."""
    return Query(source, None, (), COUNT, ("n",))


FORGED = {
    "two populations": Join("inner", Scan("visits"), Scan("trips"), ()),
    "no unit on the left": Join("inner", Scan("people"), Scan("once"), (("a", "o"),)),
    "no unit on the right": Join("inner", Scan("once"), Scan("people"), (("o", "a"),)),
    "no unit at all": Join("inner", Scan("people"), Scan("people", (("a", "b"),)), (("a", "b"),)),
    "rows of nobody": Join("left", Scan("codes"), Scan("visits"), (("code", "n"),)),
    "who has no row elsewhere": Join("left", Scan("visits"), Scan("trips"), ()),
    "windows of nobody": Windowed(Scan("codes"), None, (("n", ROW_NUMBER),)),
    "windows of rows": Windowed(Scan("people"), None, (("n", ROW_NUMBER),)),
    "another kind of join": Join("full", Scan("visits"), Scan("codes"), (("n", "code"),)),
    "a cross join": Join("inner", Scan("visits"), Scan("codes"), ()),
    "public rows only": Rows(Scan("codes"), None, (("code", Field("code")),)),
    "groups of nobody": PerUnit(Scan("codes"), None, (), (("n", COUNT[0].expression),)),
    "groups of rows": PerUnit(Scan("people"), None, (), (("n", COUNT[0].expression),)),
}


@pytest.mark.parametrize("what", FORGED)
def test_sources_that_no_text_can_say_are_refused_as_well(what):
    """A plan can be changed before it is run, so the planner trusts no parser."""
    with pytest.raises(UnsafeQuery, match="Nothing was charged"):
        planned(counted(FORGED[what]), TABLES)


def test_rows_multiply_and_are_refused_before_they_overflow():
    many = replace(VISITS, rows_per_unit=10**5)
    tables = {**TABLES, "visits": many}
    twice = "SELECT COUNT(*) FROM visits a JOIN visits b ON a.who = b.who"
    with pytest.raises(UnsafeQuery, match="max_rows_contributed"):
        planned(parse(twice, tables), tables)
    limited = twice.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS("
                            "max_rows_contributed=7)")  # fmt: skip
    assert planned(parse(limited, tables), tables).table.rows_per_unit == 7
    assert MOST_ROWS < 10**10


def test_the_rows_that_a_refused_join_offers_are_admitted():
    """A public key with 100 rows leaves ten of one person's fifty below the limit of 1,000."""
    tables = {
        "visits": replace(VISITS, rows_per_unit=50),
        "codes": replace(CODES, rows_per_key=100),
    }
    text = "SELECT COUNT(*) FROM visits JOIN codes ON n = code"
    with pytest.raises(UnsafeQuery, match=r"max_rows_contributed=10\)"):
        planned(parse(text, tables), tables)
    most = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=10)"
    limited = text.replace("SELECT", most)
    assert planned(parse(limited, tables), tables).table.rows_per_unit <= 1000


ROWS_OF_ONE = [
    ("SELECT COUNT(*) FROM visits JOIN stays ON who = payer", 6),
    ("SELECT COUNT(*) FROM visits a JOIN visits b USING (who) JOIN stays ON a.who = payer", 12),
    ("SELECT COUNT(*) FROM visits JOIN codes ON n = code", 2),
    ("SELECT COUNT(*) FROM codes JOIN visits ON n = code", 2),
    ("SELECT COUNT(*) FROM visits JOIN (SELECT code AS c FROM codes WHERE who > 3) k ON n = c", 2),
    ("SELECT COUNT(*) FROM visits JOIN (SELECT code c FROM (SELECT * FROM codes)) k ON n = c", 2),
    ("SELECT COUNT(*) FROM visits JOIN (SELECT a.code FROM codes a JOIN codes b "
     "ON a.who = b.code) k ON n = code", 2),
    ("SELECT COUNT(*) FROM visits JOIN (SELECT b.code FROM codes a JOIN codes b "
     "ON a.code = b.who) k ON n = code", 2),
    ("SELECT COUNT(*) FROM (SELECT who, COUNT(*) AS k FROM visits GROUP BY who)", 1),
    ("SELECT COUNT(*) FROM (SELECT who, n, COUNT(*) AS k FROM visits GROUP BY who, n)", 2),
    ("SELECT COUNT(*) FROM (SELECT payer, m, COUNT(*) AS k FROM stays GROUP BY payer, m)", 3),
    ("SELECT COUNT(*) FROM (SELECT payer, m > 0, COUNT(*) AS k FROM stays WHERE m = 1 "
     "GROUP BY payer, m > 0) p JOIN visits ON p.payer = who", 6),
    ("SELECT COUNT(*) FROM people LEFT JOIN codes ON a = code", 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rows"), ROWS_OF_ONE)
def test_how_many_rows_one_person_has(text, rows):
    assert planned(parse(text, TABLES), TABLES).table.rows_per_unit == rows


UNBOUNDED = [
    "SELECT COUNT(*) FROM visits JOIN codes ON n = codes.who",
    "SELECT COUNT(*) FROM people JOIN codes ON a = who",
    "SELECT COUNT(*) FROM visits JOIN (SELECT code + 1 AS c FROM codes) k ON n = c",
    "SELECT COUNT(*) FROM visits JOIN (SELECT who AS code FROM codes) k ON n = code",
    "SELECT COUNT(*) FROM visits JOIN (SELECT a.code FROM codes a JOIN codes b "
    "ON a.code = b.who) k ON n = code",
    "SELECT AVG(k) FROM (SELECT visits.who, COUNT(*) AS k FROM visits JOIN codes ON n = codes.who "
    "GROUP BY visits.who)",
]  # fmt: skip


@pytest.mark.parametrize("text", UNBOUNDED)
def test_what_nothing_bounds_is_refused(text):
    with pytest.raises(UnsafeQuery, match=r"Nothing was (run or )?charged"):
        planned(parse(text, TABLES), TABLES)


def test_a_filtered_lookup_table_keeps_only_as_many_rows_as_its_key_allows():
    """The rows are filtered before they are limited: both tables are public."""
    text = (
        "SELECT COUNT(*) AS n FROM visits JOIN (SELECT code FROM codes WHERE who > 3) k ON n = code"
    )
    bench = Bench(TABLES)
    try:
        data = {name: [] for name in TABLES}
        bench.load({**data, "visits": [(1, 5)], "codes": [(5, 1), (5, 4), (5, 6), (5, 7)]})
        assert bench.exact(planned(parse(text, TABLES), TABLES))[0] == [[1]]
    finally:
        bench.close()


NAMES = [
    "SELECT COUNT(*) FROM codes JOIN visits ON n = code",
    "SELECT COUNT(*) FROM (SELECT who AS u, n AS who FROM visits)",
    "SELECT COUNT(*) FROM (SELECT n AS who FROM visits)",
    "SELECT COUNT(*) FROM (SELECT who AS u, SUM(n) AS who FROM visits GROUP BY 1)",
    "SELECT COUNT(*) FROM (SELECT who AS u, COUNT(*) AS k FROM visits GROUP BY who) p "
    "JOIN (SELECT payer, m AS WHO FROM stays) s ON p.u = s.payer",
]  # fmt: skip


@pytest.mark.parametrize("text", NAMES)
def test_a_column_may_have_the_name_of_the_unit(text):
    """It was refused as a schema that names its unit as a column."""
    made = planned(parse(text, TABLES), TABLES)
    assert made.table.unit not in {column.name.casefold() for column in made.table.columns}
    bench = Bench(TABLES)
    try:
        data = {name: [] for name in TABLES}
        data |= {"visits": [(1, 5), (2, 5)], "stays": [(1, 1), (3, 0)], "codes": [(5, 1)]}
        bench.load(data)
        assert bench.exact(made)[0][0][0] in (1, 2)
    finally:
        bench.close()


TYPES = ["BIGINT", "VARCHAR", "HUGEINT", "DOUBLE", "DATE", "INTEGER[]", "UUID", "BLOB", "BOOLEAN"]
VALUES = {
    "BIGINT": ["1", "-1", "9223372036854775807"],
    "VARCHAR": ["''", "'1'", "'01'", "'1.0'", "'-1'", "chr(0)", "'2024-01-01'", "'true'"],
    "HUGEINT": ["1", "170141183460469231731687303715884105727"],
    "DOUBLE": ["1", "'nan'", "'inf'", "'-0.0'", "1e308"],
    "DATE": ["'2024-01-01'", "'infinity'", "'5877642-06-25 (BC)'"],
    "INTEGER[]": ["[1]", "[NULL]", "[]"],
    "UUID": ["'00000000-0000-0000-0000-000000000001'"],
    "BLOB": ["'\\xFF'", "'1'", "''"],
    "BOOLEAN": ["true", "false"],
}


@pytest.mark.parametrize("left", TYPES)
@pytest.mark.parametrize("right", TYPES)
def test_no_unit_can_make_a_join_fail(left, right):
    query = parse("SELECT COUNT(*) AS n FROM visits JOIN stays ON who = payer", TABLES)
    made = planned(query, TABLES)
    with duckdb.connect() as connection:
        for name, column, kind in (("visits", "n", left), ("stays", "m", right)):
            connection.execute(f'CREATE TABLE {name} ("$unit" {kind}, {column} TINYINT)')
            for value in VALUES[kind]:
                connection.execute(f"INSERT INTO {name} VALUES (CAST({value} AS {kind}), 1)")
        ((count,),) = connection.execute(made.sql).fetchall()
        texts = [
            {
                row[0]
                for row in connection.execute(
                    f'SELECT CAST("$unit" AS VARCHAR) FROM {name}'
                ).fetchall()
            }
            for name in ("visits", "stays")
        ]
    assert count == len(texts[0] & texts[1])


def test_units_of_one_table_are_compared_as_they_are():
    """NaN meets NaN and -0.0 meets 0.0, as where rows are counted by unit."""
    query = parse("SELECT COUNT(*) AS n FROM visits a JOIN visits b USING (who)", TABLES)
    made = planned(query, TABLES)
    assert "CAST(" not in made.sql
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE visits ("$unit" DOUBLE, n TINYINT)')
        connection.execute(
            "INSERT INTO visits VALUES ('nan', 1), ('nan', 2), (0.0, 1), ('-0.0', 2)"
        )
        assert connection.execute(made.sql).fetchall() == [(8,)]


WIDE = Table(
    "wide",
    unit="who",
    rows_per_unit=2,
    columns=(
        Column("x", "integer", lower=-(BIG // 2), upper=BIG // 2),
        Column("y", "number", step=Fraction(1, 7), lower=-BIG, upper=BIG),
        Column("c", "category", upper=0, keys=("a",)),
        Column("f", "boolean"),
        Column("d", "date", lower=-719162, upper=2932896),
    ),
)
WIDE_PUBLIC = Table(
    "far",
    kind="public",
    key=("z",),
    columns=(Column("z", "number", step=Fraction(1, 10**6), lower=-BIG, upper=BIG),),
)
EXTREME = [
    "WITH p AS (SELECT who, SUM(x) AS s, MIN(y) AS a, MAX(d) AS d, COUNT(f) AS k FROM wide "
    "GROUP BY who) SELECT SUM(s) AS s, SUM(a) AS a, COUNT(d) AS d, SUM(k) AS k FROM p",
    "WITH p AS (SELECT who, GREATEST(-9, LEAST(SUM(x) * 1000, 5)) AS s, "
    "GREATEST(MIN(x), -3, MAX(x)) AS g "
    "FROM wide GROUP BY who) SELECT SUM(s) AS s, SUM(g) AS g FROM p WHERE s < g",
    "SELECT SUM(z) AS s, COUNT(*) AS n FROM wide LEFT JOIN far ON y = z",
    "SELECT SUM(LEAST(z, 0)) AS s, COUNT(*) AS n FROM wide LEFT JOIN far ON x = z",
    "SELECT SUM(a.x + b.x) AS s FROM wide a JOIN wide b ON a.who = b.who AND a.d = b.d "
    "AND a.c = b.c AND a.f = b.f",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=3) SUM(a.x) AS s FROM wide a "
    "JOIN wide b ON a.who = b.who",
    "SELECT COUNT(m) AS n FROM (SELECT who, DATE_TRUNC('month', d) AS m, x FROM wide) WHERE x < 0",
    "WITH p AS (SELECT who, c, f, SUM(CASE WHEN x > 0 THEN 1 ELSE -1 END) AS s FROM wide "
    "GROUP BY who, c, f) SELECT c, SUM(s) AS s FROM p GROUP BY c",
]  # fmt: skip


@pytest.mark.parametrize("text", EXTREME)
def test_no_row_can_make_the_statement_fail(text):
    tables = {"wide": WIDE, "far": WIDE_PUBLIC}
    made = planned(parse(text, tables), tables)
    rows = [
        (1, BIG // 2, BIG, 0, 1, 2932896),
        (1, BIG // 2, BIG, 0, 1, -719162),
        (2, -(BIG // 2), -BIG, None, 0, None),
        (2, None, None, 0, None, -719162),
        (3, None, None, None, None, None),
    ]
    bench = Bench(tables)
    try:
        for data in ([], rows[:1], rows[3:], rows):
            bench.load({"wide": data, "far": [(BIG,), (-BIG,), (None,), (0,)][: len(data)]})
            sums, _ = bench.exact(made)
            assert all(type(value) is int for column in sums for value in column)
    finally:
        bench.close()


def test_sums_of_a_unit_that_no_column_could_hold_are_refused():
    tables = {"wide": replace(WIDE, rows_per_unit=3)}
    text = "WITH p AS (SELECT who, SUM(x) AS s FROM wide GROUP BY who) SELECT SUM(s) FROM p"
    with pytest.raises(UnsafeQuery, match="LEAST and GREATEST"):
        planned(parse(text, tables), tables)


def test_limited_rows_are_those_of_the_person_alone():
    """Whoever else is there, and in whatever order rows lie."""
    query = parse(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=2) SUM(n * 10 + m) AS s "
        "FROM visits JOIN stays ON who = payer",
        TABLES,
    )
    made = planned(query, TABLES)
    mine = {"visits": [(1, 3), (1, 8)], "stays": [(1, 0), (1, 1), (1, 1)]}
    others = {"visits": [(0, 0), (2, 0)], "stays": [(0, 0), (2, 0)]}
    found = set()
    bench = Bench(TABLES)
    try:
        for turn in (1, -1):
            for more in (0, 1, 2):
                data = {name: [] for name in TABLES}
                data |= {name: [*others[name][:more], *mine[name]][::turn] for name in mine}
                bench.load(data)
                found.add(bench.exact(made)[0][0][0])
    finally:
        bench.close()
    assert len(found) == 1


def test_texts_with_private_keys_are_carried_through_joins():
    text = Column("city", "category", upper=0, private_keys=True)
    tables = {
        "visits": replace(VISITS, columns=(*VISITS.columns, text)),
        "stays": replace(STAYS, columns=(*STAYS.columns, text)),
    }
    source = Join("inner", Scan("visits"), Scan("stays", (("city", "town"),)), ())
    known = {name: (each, name) for name, each in tables.items()}
    made = rowset(source, known, "duckdb", joined_rows=1000)
    assert [column.private_keys for column in made.columns] == [False, True, False, True]
    limit = limit_rows(made, 2, "duckdb")
    with duckdb.connect() as connection:
        for name, column in (("visits", "n"), ("stays", "m")):
            kinds = f'"$unit" BIGINT, {column} TINYINT, city VARCHAR'
            connection.execute(f"CREATE TABLE {name} ({kinds})")
            values = "(1, 1, 'a|'), (1, 1, '|a'), (1, 1, NULL), (2, 1, '')"
            connection.execute(f"INSERT INTO {name} VALUES {values}")
        assert connection.execute(f"SELECT count(*) FROM ({made.select})").fetchall() == [(10,)]
        assert connection.execute(f"SELECT count(*) FROM ({limit.select})").fetchall() == [(3,)]


def test_the_same_question_in_every_dialect_compares_the_same():
    query = parse("SELECT COUNT(*) AS n FROM visits JOIN stays ON who = payer", TABLES)
    for dialect in ("duckdb", "postgresql", "spark"):
        made = plan(
            Draft(
                query=query,
                table=VISITS,
                price=Pure(epsilon=1),
                others=((STAYS, '"stays"'),),
                dialect=dialect,
            )
        )
        assert made.sql.count("coalesce(CAST(") == 2
        assert made.table.rows_per_unit == 6


def test_units_that_are_integers_in_both_tables_are_compared_as_integers():
    query = parse("SELECT COUNT(*) AS n FROM visits JOIN stays ON who = payer", TABLES)
    asked = draft(query, TABLES)
    assert "CAST(" not in plan(replace(asked, integer_units=("visits", "stays"))).sql
    for one in ((), ("visits",), ("stays",)):
        assert plan(replace(asked, integer_units=one)).sql.count("CAST(") == 2


def test_units_that_share_a_text_with_another_are_refused():
    """Else two people would meet where tables are joined; a member of a union has no mark."""
    kind = "UNION(a INTEGER, b VARCHAR)"
    with pytest.raises(SchemaError, match="a unit of the type union"):
        lattice_rows(VISITS, "source", {"who": kind, "n": "BIGINT"})


@pytest.mark.parametrize("kind", ["BIGINT", "UBIGINT", "HUGEINT", "TINYINT", "VARCHAR", "UUID"])
def test_the_usual_units_are_kept_as_they_are(kind):
    lattice = lattice_rows(VISITS, "source", {"who": kind, "n": "BIGINT"})
    assert 'SELECT "who" AS "$unit"' in lattice


def test_a_public_key_of_one_label_is_still_a_column():
    """A condition without one of its sides cannot be hashed, which PostgreSQL needs."""
    one = Column("reg", "category", upper=0, keys=("b",), null=0)
    tables = {
        "visits": replace(
            VISITS, columns=(Column("c", "category", upper=1, keys=("a", "b"), null=0),)
        ),
        "areas": Table("areas", kind="public", columns=(one,), key=("reg",)),
    }
    text = "SELECT COUNT(*) FROM visits LEFT JOIN areas ON c = reg"
    made = replace(draft(parse(text, tables), tables), dialect="postgresql")
    assert 'ON ("c" = CASE "reg" WHEN 0 THEN 1 END)' in plan(made).sql


def test_rows_of_nobody_and_rows_that_are_few_already_are_not_limited():
    nobody = Rowset("public", "SELECT a FROM t", (), None, None)
    assert limit_rows(nobody, 2, "duckdb") is nobody
    few = Rowset("private", 'SELECT "$unit" FROM t', (), "id", 2)
    assert limit_rows(few, 2, "duckdb") is few
    assert limit_rows(few, 1, "duckdb").rows_per_unit == 1


def test_every_label_that_a_subquery_makes_keeps_its_rows():
    labels = "CASE WHEN n > 6 THEN 'high' WHEN n > 3 THEN 'middle' ELSE 'low' END"
    text = f"SELECT c, COUNT(*) AS k FROM (SELECT {labels} AS c FROM visits) GROUP BY c"
    made = planned(parse(text, TABLES), TABLES)
    bench = Bench(TABLES)
    try:
        data = {name: [] for name in TABLES}
        bench.load({**data, "visits": [(1, 8), (1, 9), (2, 8), (3, 4), (3, 5), (4, 0)]})
        (counts,), _ = bench.exact(made)
    finally:
        bench.close()
    keys = made.domains[0].name_codes([group[0] for group in made.groups])
    assert dict(zip(keys, counts, strict=True)) == {"high": 3, "middle": 2, "low": 1}


def test_limited_rows_add_their_number_to_the_work_of_one_person():
    rows = Rowset("private", 'SELECT "$unit", "n" FROM t', (N,), "who", 20, work=30)
    assert limit_rows(rows, 9, "duckdb").work == 39
    assert limit_rows(rows, 20, "duckdb").work == 30


def test_public_tables_multiply_only_where_the_schema_limits_nothing():
    keyless = replace(CODES, key=())
    names = (("code", "c"), ("who", "w"))
    join = Join("inner", Scan("codes"), Scan("codes", names), (("who", "w"),))
    known = {"codes": (keyless, '"codes"')}
    assert rowset(join, known, "duckdb", joined_rows=MOST_ROWS).public
    with pytest.raises(UnsafeQuery, match="two public tables are joined"):
        rowset(join, known, "duckdb", joined_rows=MOST_ROWS - 1)
