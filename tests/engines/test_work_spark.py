"""One person's rows cannot be made expensive on Spark either: the rows of every operator with and
without that person, from Spark's own metrics. See tests/attack/test_work.py.
"""

from dataclasses import replace

import pytest

from discreet.plan.rules.sources import MOST_ROWS
from discreet.plan.sql import dialects
from discreet.plan.sql.dialects import SPARK, join_relations
from support import work
from support.fit import rejects

pytestmark = pytest.mark.slow("Spark")


def metric(node):
    """The rows that an operator made, scans too, and all below it, with the number of operators."""
    named = node.metrics().get("numOutputRows")
    rows = 0 if named.isEmpty() else named.get().value()
    below = [node.children().apply(place) for place in range(node.children().size())]
    if node.nodeName() == "ReusedExchange":
        below = [node.child()]  # made once, but Spark decides alone when it is
    count = 1
    for child in below:
        more, others = metric(child)
        rows, count = rows + more, count + others
    return rows, count


@pytest.fixture(scope="module")
def world_of(interpreted_spark, tmp_path_factory):
    """Files of every world, by how many others have the secret, and of so many public rows."""
    session, made = interpreted_spark.session, {}

    def of(alike, public):
        for secret in work.WORLDS:
            for name, table in work.TABLES.items():
                if (alike, public, secret, name) not in made:
                    names = [text.split('"')[1] for text in work.columns(table)]
                    path = str(tmp_path_factory.mktemp("work") / name)
                    rows = work.rows(name, secret, alike)
                    if name == "codes" and public:
                        rows = [(number % 10, number) for number in range(public)]
                    session.createDataFrame(rows, names).coalesce(1).write.parquet(path)
                    made[alike, public, secret, name] = session.read.parquet(path)
        return made

    yield of
    for name in work.TABLES:
        session.catalog.dropTempView(name)


@pytest.fixture
def measure_of(interpreted_spark, world_of):
    session = interpreted_spark.session

    def of(alike, public=0):
        made = world_of(alike, public)

        def measured(secret, sql):
            for name in work.TABLES:
                made[alike, public, secret, name].createOrReplaceTempView(name)
            frame = session.sql(sql)
            frame.collect()
            return metric(frame._jdf.queryExecution().executedPlan())

        return measured

    return of


@pytest.mark.parametrize("alike", [0, 1])
def test_spark_handles_hardly_more_rows_for_one_person(measure_of, alike):
    accepted = [(sql, made) for sql in work.statements() if (made := work.planned(sql, "spark"))]
    work.check_work(measure_of(alike), accepted[alike::60])
    made = work.planned(work.EXPENSIVE, "spark", joined_rows=MOST_ROWS)
    assert rejects(work.check_work, measure_of(alike), [(work.EXPENSIVE, made)])


SECRETLY = "(SELECT who, region FROM visits WHERE secret)"


def test_both_sides_are_read_where_one_of_them_is_empty(measure_of, monkeypatch):
    """A plain join reads nothing of one side, should nobody be in the other."""
    measure = measure_of(0, public=60_000)  # so that Spark would rather hash the private side
    public = f"SELECT COUNT(*) FROM {SECRETLY} a JOIN codes c ON a.region = c.region"
    private = f"SELECT COUNT(*) FROM visits a JOIN {SECRETLY} s ON a.who = s.who"
    work.check_work(measure, [(sql, work.planned(sql, "spark")) for sql in (public, private)])
    lazy = replace(SPARK, paired=join_relations)
    monkeypatch.setattr(dialects, "DIALECTS", (lazy,))
    assert rejects(work.check_work, measure, [(private, work.planned(private, "spark"))])
