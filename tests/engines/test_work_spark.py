"""One person's rows cannot be made expensive on Spark either: the rows of every operator with and
without that person, from Spark's own metrics. See tests/attack/test_work.py.
"""

import pytest

from discreet.plan.sources import MOST_ROWS
from support import work
from support.fit import rejects


def metric(node):
    """The rows that an operator made, and all below it, with the number of operators."""
    named = node.metrics().get("numOutputRows")
    scan = "Scan" in node.nodeName()
    rows = 0 if scan or named.isEmpty() else named.get().value()
    count, children = 1, node.children()
    for place in range(children.size()):
        more, others = metric(children.apply(place))
        rows, count = rows + more, count + others
    return rows, count


@pytest.fixture
def measure(interpreted_spark):
    session = interpreted_spark.session
    made = {}
    for secret in work.WORLDS:
        for name, table in work.TABLES.items():
            names = [text.split('"')[1] for text in work.columns(table)]
            frame = session.createDataFrame(work.rows(name, secret, alike=1), names)
            made[secret, name] = frame

    def measured(secret, sql):
        for name in work.TABLES:
            made[secret, name].createOrReplaceTempView(name)
        frame = session.sql(sql)
        frame.collect()
        return metric(frame._jdf.queryExecution().executedPlan())

    yield measured
    for name in work.TABLES:
        session.catalog.dropTempView(name)


def test_spark_handles_hardly_more_rows_for_one_person(measure):
    accepted = [(sql, made) for sql in work.statements() if (made := work.planned(sql, "spark"))]
    work.check_work(measure, accepted[::40])
    made = work.planned(work.EXPENSIVE, "spark", joined_rows=MOST_ROWS)
    assert rejects(work.check_work, measure, [(work.EXPENSIVE, made)])
