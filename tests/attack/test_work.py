"""One person's rows cannot be made expensive: statements that try, and the rows that engines
handle with and without that person, from the engines' own profiles. The person's secret decides
what a subquery keeps, so a difference in work would be a difference in time.
"""

from dataclasses import replace

import duckdb
import psycopg
import pytest

from discreet.engines.postgresql.engine import _SETTINGS
from discreet.errors import UnsafeQuery
from discreet.loss import Pure
from discreet.plan.pipeline import Draft, plan
from discreet.plan.rules.sources import MOST_ROWS
from discreet.plan.sql import dialects
from discreet.plan.sql.dialects import DUCKDB, join_relations
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import JOINED_ROWS, Table
from support import work
from support.fit import rejects


def test_joins_that_multiply_a_person_are_refused_and_the_rest_is_bounded():
    found = [(sql, work.planned(sql, "duckdb")) for sql in work.statements()]
    accepted = [made for _, made in found if made is not None]
    assert len(accepted) > 100
    assert len(found) - len(accepted) > 100
    for made in accepted:
        joins = made.sql.count("JOIN")
        assert made.table.rows_per_unit <= JOINED_ROWS
        assert made.work <= (2 * joins + 2) * JOINED_ROWS
    assert all("plain" not in str(made.query) for made in accepted)  # a public table without a key


@pytest.fixture(scope="module")
def duckdb_worlds():
    made = {secret: work.duckdb_world(secret) for secret in work.WORLDS}
    yield made
    for connection in made.values():
        connection.close()


@pytest.mark.slow("large oracles")
def test_duckdb_handles_hardly_more_rows_for_one_person(duckdb_worlds):
    accepted = [(sql, made) for sql in work.statements() if (made := work.planned(sql, "duckdb"))]
    work.check_work(lambda secret, sql: work.duckdb_work(duckdb_worlds[secret], sql), accepted)


def test_the_check_sees_joins_without_a_limit(duckdb_worlds):
    assert work.planned(work.EXPENSIVE, "duckdb") is None
    made = work.planned(work.EXPENSIVE, "duckdb", joined_rows=MOST_ROWS)
    assert rejects(
        work.check_work,
        lambda secret, text: work.duckdb_work(duckdb_worlds[secret], text),
        [(work.EXPENSIVE, made)],
    )


def test_the_check_sees_a_side_that_is_not_read(duckdb_worlds, monkeypatch):
    """One person decides whether anything but one chunk of the other side is read."""
    lazy = replace(DUCKDB, paired=join_relations)
    sql = (
        "SELECT COUNT(*) FROM visits a JOIN codes c ON a.region = c.region "
        "JOIN (SELECT who FROM visits WHERE secret) s ON a.who = s.who"
    )

    def measure(secret, text):
        return work.duckdb_work(duckdb_worlds[secret], text)

    work.check_work(measure, [(sql, work.planned(sql, "duckdb"))])
    monkeypatch.setattr(dialects, "DIALECTS", (lazy,))
    assert rejects(work.check_work, measure, [(sql, work.planned(sql, "duckdb"))])


SECRETLY = "(SELECT who FROM visits WHERE secret)"
KEPT = (
    f"SELECT COUNT(*) FROM visits WHERE who IN {SECRETLY}",
    f"SELECT COUNT(*) FROM stays WHERE who NOT IN {SECRETLY}",
    f"SELECT COUNT(*) FROM {SECRETLY} s WHERE who NOT IN (SELECT who FROM stays)",
    f"SELECT COUNT(*), COUNT(s.who) FROM visits v LEFT JOIN {SECRETLY} s USING (who)",
    f"SELECT COUNT(*) FROM {SECRETLY} s LEFT JOIN stays USING (who)",
    f"SELECT SUM(x) FROM {SECRETLY} s LEFT JOIN stays t USING (who) WHERE t.who IS NOT NULL",
    f"SELECT COUNT(*) FROM {SECRETLY} s LEFT JOIN stays t USING (who) WHERE t.who IS NULL",
    f"SELECT COUNT(*) FROM visits LEFT JOIN {SECRETLY} s USING (who) WHERE s.who IS NOT NULL",
    f"SELECT COUNT(*) FROM visits a LEFT JOIN {SECRETLY} s USING (who) JOIN codes c "
    "ON a.region = c.region WHERE s.who IS NOT NULL",
    "SELECT COUNT(*) FROM (SELECT who FROM visits GROUP BY who HAVING MAX(CASE WHEN secret THEN 1 "
    "ELSE 0 END) = 1) p JOIN stays USING (who)",
)
"""Whether one person has rows in a second table."""
WINDOWS = (
    "SELECT SUM(r) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY who ORDER BY x) AS r FROM visits "
    "WHERE secret)",
    "SELECT COUNT(*) FROM (SELECT x FROM visits QUALIFY LAG(x) OVER (PARTITION BY who ORDER BY "
    "region) = x)",
)


@pytest.mark.parametrize("sql", [*KEPT, *WINDOWS])
def test_both_sides_are_read_whoever_is_in_one_of_them(duckdb_worlds, sql):
    work.check_work(
        lambda secret, text: work.duckdb_work(duckdb_worlds[secret], text),
        [(sql, work.planned(sql, "duckdb"))],
    )


def test_the_check_sees_a_left_join_that_reads_nothing(duckdb_worlds, monkeypatch):
    def measure(secret, text):
        return work.duckdb_work(duckdb_worlds[secret], text)

    monkeypatch.setattr(dialects, "DIALECTS", (replace(DUCKDB, paired=join_relations),))
    assert any(
        rejects(work.check_work, measure, [(sql, work.planned(sql, "duckdb"))]) for sql in KEPT[3:]
    )


@pytest.mark.parametrize("alike", [0, 1])
def test_postgresql_handles_hardly_more_rows_for_one_person(postgresql_folder, alike):
    chosen = list(work.statements())[alike::5]
    accepted = [(sql, made) for sql in chosen if (made := work.planned(sql, "postgresql"))]
    server = f"postgresql://postgres@/postgres?host={postgresql_folder}"
    options = _SETTINGS.replace("default_transaction_read_only=on", "jit=off")
    with psycopg.connect(server, autocommit=True, options=options) as connection:
        try:
            for secret in work.WORLDS:
                connection.execute(f"CREATE SCHEMA work_{secret}")
                connection.execute(f"SET search_path = work_{secret}")
                work.fill(connection.execute, secret, alike=alike)
                connection.execute("ANALYZE")

            def measure(secret, sql):
                connection.execute(f"SET search_path = work_{secret}")
                return work.postgresql_work(connection, sql)

            # Its planner looks at statistics of the rows, so which side it hashes may differ.
            spare = sum(work.SIZES.values())
            work.check_work(measure, accepted, spare)
            sql = work.EXPENSIVE
            made = work.planned(sql, "postgresql", joined_rows=MOST_ROWS)
            assert rejects(work.check_work, measure, [(sql, made)], spare)
        finally:
            for secret in work.WORLDS:
                connection.execute(f"DROP SCHEMA IF EXISTS work_{secret} CASCADE")


def test_long_texts_of_one_person_are_missing():
    """A private key or a unit of megabytes made every question to its table late."""
    table = Table(
        "t",
        unit="who",
        rows_per_unit=2,
        columns=(Column("city", "category", upper=0, private_keys=True),),
    )
    rows = lattice_rows(table, "source", {"who": "VARCHAR", "city": "VARCHAR"})
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE source (who VARCHAR, city VARCHAR)")
        for who, city in [("a", 1000), ("b", 1001), ("c", 10**6), ("d" * 1001, 1)]:
            connection.execute("INSERT INTO source VALUES (?, ?)", [who, "x" * city])
        found = connection.execute(f'SELECT "$unit", length("city") FROM ({rows})').fetchall()
    assert sorted(found, key=str) == [("a", 1000), ("b", None), ("c", None)]
    blobs = lattice_rows(table, "source", {"who": "BLOB", "city": "VARCHAR"})
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE source (who BLOB, city VARCHAR)")
        connection.execute("INSERT INTO source VALUES (?, 'x'), (?, 'x')", [b"a", b"a" * 1001])
        assert connection.execute(f'SELECT "$unit" FROM ({blobs})').fetchall() == [("a",)]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "SELECT COUNT(*) FROM visits a JOIN visits b ON a.who = b.who JOIN visits c "
            "ON a.who = c.who JOIN visits d ON a.who = d.who",
            "could give one person 4,096 rows; the limit is 1,000",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=10) COUNT(*) "
            "FROM visits JOIN plain ON visits.region = plain.region",
            "not its declared key",
        ),
        (
            "SELECT COUNT(*) FROM visits a JOIN codes b ON a.region = b.region JOIN codes c "
            "ON a.region = c.region JOIN codes d ON a.region = d.region JOIN codes e "
            "ON a.region = e.region JOIN codes f ON a.region = f.region",
            "could give one person 1,944 rows; the limit is 1,000",
        ),
    ],
)
def test_what_was_shown_to_tell_a_secret_is_refused(sql, said):
    query = parse(sql, work.TABLES)
    first, *rest = (work.TABLES[name] for name in query.tables)
    draft = Draft(
        query=query,
        table=first,
        price=Pure(epsilon=1),
        others=tuple((each, f'"{each.name}"') for each in rest),
    )
    with pytest.raises(UnsafeQuery, match=said):
        plan(draft)
    # What such a statement released before there was a limit is still given again.
    assert plan(replace(draft, joined_rows=MOST_ROWS)).table.rows_per_unit
